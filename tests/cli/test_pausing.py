"""Pausing and resuming, on moto: who says it, who is interrupted, and who comes between."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce.operate.pausing import feeds, pause, resume
from actonce.operate.status import Status, status
from actonce.queues.standing import PAUSED_SINCE, Pause, find_pause
from actonce.stack.clients import Stack
from tests.cli.conftest import Actonce
from tests.support.stacks import NOW, fed

BY = "arn:aws:iam::123456789012:user/somebody"
PAUSED = Pause("2026-01-31T09:30:00.000Z", BY, "")


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    return fed(moto_stack)


def seen(stack: Stack) -> tuple[Pause | None, str]:
    """Its pause, and the state of the mapping."""
    (feed,) = feeds(stack)
    return find_pause(stack.sqs, stack.requests_queue), feed.state


def enable(stack: Stack, *, enabled: bool) -> None:
    """As somebody does by hand, or a deployment."""
    (feed,) = feeds(stack)
    stack.lambda_.update_event_source_mapping(UUID=feed.uuid, Enabled=enabled)


def test_paused_it_says_since_when_by_whom_and_why_until_it_is_resumed(stack: Stack) -> None:
    paused = pause(stack, by=BY, note="down, ticket #4711 (é)", now=NOW)
    assert paused == Pause(PAUSED.since, BY, "down- ticket -4711 ---")
    assert seen(stack) == (paused, "Disabled")
    assert pause(stack, by="another", note="other", now=NOW + timedelta(hours=1)) == paused
    assert resume(stack) == paused
    assert seen(stack) == (None, "Enabled")
    assert resume(stack) is None


def test_a_note_that_is_not_kept_is_told_of(stack: Stack, actonce: Actonce) -> None:
    first = actonce("pause", "--yes", "--note", "the first", stack=stack)
    assert (first.status, "the first" in first.out, "not kept" in first.err) == (0, True, False)
    assert "not kept" not in actonce("pause", "--yes", stack=stack).err
    again = actonce("pause", "--yes", "--note", "the second", stack=stack)
    assert (again.out, "this note was not kept" in again.err) == (first.out, True)
    resumed = actonce("resume", "--yes", stack=stack)
    assert (resumed.status, "the first" in resumed.out) == (0, True)


@pytest.mark.parametrize("change", [lambda stack: pause(stack, by=BY, note="", now=NOW), resume])
def test_interrupted_it_says_that_it_is_paused_and_the_next_time_mends_it(
    stack: Stack, change: Callable[[Stack], Any]
) -> None:
    if change is resume:
        pause(stack, by=BY, note="", now=NOW)
    with Stubber(stack.lambda_) as answers:
        answers.add_client_error("list_event_source_mappings", "ServiceException")
        with pytest.raises(ClientError):
            change(stack)
    assert seen(stack)[0] == PAUSED
    change(stack)
    assert seen(stack) == ((None, "Enabled") if change is resume else (PAUSED, "Disabled"))


def test_what_is_said_and_what_is_taken_may_differ_and_status_tells(stack: Stack) -> None:
    def told() -> tuple[bool, bool]:
        found: Status = status(stack, NOW)
        return found.is_stopped_without_pause, found.is_fed_all_the_same

    assert told() == (False, False)
    enable(stack, enabled=False)
    assert told() == (True, False)
    resume(stack)
    assert told() == (False, False)
    pause(stack, by=BY, note="", now=NOW)
    assert told() == (False, False)
    enable(stack, enabled=True)
    assert told() == (False, True)
    pause(stack, by=BY, note="", now=NOW)
    assert told() == (False, False)
    assert seen(stack)[1] == "Disabled"


def tags_gone(stack: Stack) -> None:
    stack.sqs.untag_queue(QueueUrl=stack.requests_queue, TagKeys=[PAUSED_SINCE])


@pytest.mark.parametrize("resumes", [tags_gone, resume], ids=["which ends", "whole"])
def test_who_pauses_while_another_resumes_is_told_no_pause_that_is_not_there(
    stack: Stack, resumes: Callable[[Stack], Any]
) -> None:
    done: list[str] = []

    def meanwhile(**_: Any) -> None:
        """Between the disabling and the second look at the tags."""
        if not done:
            done.append("now")
            resumes(stack)

    pause(stack, by=BY, note="", now=NOW)
    enable(stack, enabled=True)
    stack.lambda_.meta.events.register("after-call.*.UpdateEventSourceMapping", meanwhile)
    paused = pause(stack, by="another", note="mine", now=NOW + timedelta(hours=1))
    assert paused == Pause("2026-01-31T10:30:00.000Z", "another", "mine")
    assert done
    assert seen(stack) == (paused, "Disabled")
