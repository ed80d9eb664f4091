"""Pausing and resuming, on moto: who says it, who is interrupted, and who comes between."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from actonce.operate.pausing import feeds, pause, resume
from actonce.queues.standing import PAUSED_SINCE, Pause, find_pause
from actonce.stack.clients import Stack
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
