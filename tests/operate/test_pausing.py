"""Pausing and resuming, where one of the two calls fails: the stack says that it is paused."""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from actonce.operate.pausing import event_source_mappings, pause, resume
from actonce.queues.depth import Pause, find_pause
from actonce.stack.clients import Stack
from tests.support.stacks import NOW, fed, forbid


def paused(stack: Stack) -> Pause:
    return pause(stack, by="ann", note="the provider is down", now=NOW)


@pytest.mark.parametrize(
    ("is_paused", "change"), [(False, paused), (True, resume)], ids=["pause", "resume"]
)
def test_a_stack_that_takes_nothing_always_says_that_somebody_paused_it(
    moto_stack: Stack, is_paused: bool, change: Callable[[Stack], object]
) -> None:
    stack = fed(moto_stack)
    if is_paused:
        paused(stack)
        assert [one.is_disabled for one in event_source_mappings(stack)] == [True]
    forbid(stack, "lambda", "UpdateEventSourceMapping")
    with pytest.raises(ClientError):
        change(stack)
    found = find_pause(stack.sqs, stack.requests_queue)
    assert found is not None
    assert found.by == "ann"
