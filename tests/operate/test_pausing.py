"""Pausing and resuming: whatever fails or comes between, the stack says truly that it is paused."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce.operate.pausing import event_source_mappings, pause, resume
from actonce.operate.status import status
from actonce.queues.depth import Pause, find_pause
from actonce.stack.clients import Stack
from tests.support.stacks import NOW, fed, forbid

SINCE = "2026-01-31T09:30:00.000Z"
EXPIRED = ClientError({"Error": {"Code": "ExpiredTokenException", "Message": "no"}}, "It")


@pytest.fixture
def stack(moto_stack: Stack) -> Stack:
    return fed(moto_stack)


def paused(stack: Stack, note: str = "", hours: int = 0) -> Pause:
    return pause(stack, by="ann", note=note, now=NOW + timedelta(hours=hours))


def mapping_state(stack: Stack) -> str:
    (mapping,) = event_source_mappings(stack)
    return mapping.state


def enable(stack: Stack, *, enabled: bool) -> None:
    """As somebody does by hand, or a deployment."""
    (mapping,) = event_source_mappings(stack)
    stack.lambda_.update_event_source_mapping(UUID=mapping.uuid, Enabled=enabled)


def found(stack: Stack) -> Pause | None:
    return find_pause(stack.sqs, stack.requests_queue)


def seen(stack: Stack) -> tuple[str, str | None, bool, bool]:
    """The mapping's state, since when the queue says it is paused, and where the two differ."""
    now, pause_found = status(stack, NOW), found(stack)
    since = pause_found.since if pause_found else None
    differ = now.is_disabled_without_pause, now.is_enabled_while_paused
    return (mapping_state(stack), since, *differ)


RUNS = ("Enabled", None, False, False)
PAUSED = ("Disabled", SINCE, False, False)


def meanwhile(stack: Stack, service: str, operation: str, act: Callable[[], Any]) -> None:
    """Somebody does that while the next such call is under way."""
    events = stack.aws.client(service).meta.events
    name = f"before-call.*.{operation}"

    def once(**_: Any) -> None:
        events.unregister(name, once)
        act()

    events.register(name, once)


def test_a_paused_stack_says_since_when_by_whom_and_why_until_it_is_resumed(stack: Stack) -> None:
    first = Pause(SINCE, "ann", "down- ticket -4711 ---")
    assert paused(stack, "down, ticket #4711 (é)") == first
    assert paused(stack, "other", hours=1) == first
    assert seen(stack) == PAUSED
    assert resume(stack) == first
    assert seen(stack) == RUNS
    assert resume(stack) is None


@pytest.mark.parametrize(
    ("is_paused", "change"), [(False, paused), (True, resume)], ids=["pause", "resume"]
)
def test_a_change_that_is_not_completed_leaves_a_pause_and_the_next_one_completes_it(
    stack: Stack, is_paused: bool, change: Callable[[Stack], object]
) -> None:
    if is_paused:
        paused(stack)
    forbid(stack, "lambda", "UpdateEventSourceMapping")
    with pytest.raises(ClientError):
        change(stack)
    del stack.aws._clients["lambda"]
    assert seen(stack) == (("Disabled" if is_paused else "Enabled"), SINCE, False, not is_paused)
    change(stack)
    assert seen(stack) == (RUNS if is_paused else PAUSED)


def test_who_pauses_while_another_resumes_gets_a_pause_of_his_own(stack: Stack) -> None:
    paused(stack)
    enable(stack, enabled=True)

    def at_second_look() -> None:
        meanwhile(stack, "sqs", "ListQueueTags", lambda: resume(stack))

    meanwhile(stack, "sqs", "ListQueueTags", at_second_look)
    own = Pause("2026-01-31T10:30:00.000Z", "ann", "mine")
    assert paused(stack, "mine", hours=1) == own
    assert (mapping_state(stack), found(stack)) == ("Disabled", own)


def test_where_mapping_and_pause_differ_status_says_so_and_the_next_change_mends_it(
    stack: Stack,
) -> None:
    enable(stack, enabled=False)
    assert seen(stack) == ("Disabled", None, True, False)
    resume(stack)
    assert seen(stack) == RUNS
    paused(stack)
    enable(stack, enabled=True)
    assert seen(stack) == ("Enabled", SINCE, False, True)
    paused(stack)
    assert seen(stack) == PAUSED
