"""Waiting for what the embedded AWS does in its own time."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from actonce.stack.clients import Stack

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.type_defs import DescribeExecutionOutputTypeDef

T = TypeVar("T")

POLL_SECONDS = 0.05
DEADLINE = 90.0
"""Seconds: far more than anything waited for takes where the machine does nothing else."""


def wait_until(predicate: Callable[[], T], seconds: float = DEADLINE) -> T:
    """Ask again and again until the answer is true, and return that answer.

    Raises:
        AssertionError: it was not true within `seconds`; the last answer is in the text.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s; the last answer was {answer!r}")
        time.sleep(POLL_SECONDS)


def wait_for_execution(
    stack: Stack, execution_arn: str, seconds: float = DEADLINE
) -> "DescribeExecutionOutputTypeDef":
    """Wait until an execution exists and has ended, and return what DescribeExecution says.

    Raises:
        AssertionError: it does not exist, or still runs, after `seconds`.
    """

    def ended() -> "DescribeExecutionOutputTypeDef | None":
        try:
            answer = stack.stepfunctions.describe_execution(executionArn=execution_arn)
        except stack.stepfunctions.exceptions.ExecutionDoesNotExist:
            return None
        return None if answer["status"] == "RUNNING" else answer

    answer = wait_until(ended, seconds)
    assert answer is not None
    return answer
