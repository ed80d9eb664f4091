"""The calls that the console makes of AWS: how many, and none that changes something if need be."""

import threading
import time
from collections import Counter, deque
from typing import Any, Final

from actonce.stack.clients import Aws
from actonce.terminal.errors import Failed

SERVICES: Final = (
    "cloudformation",
    "cloudwatch",
    "dynamodb",
    "lambda",
    "logs",
    "s3",
    "sqs",
    "stepfunctions",
    "sts",
)
"""Whatever the views ask. Clients are made before threads share them: making them is not safe."""

READS: Final = frozenset(
    {
        # Only hidden and given back again, by the one reader.
        "ReceiveMessage",
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "BatchGetItem",
        "DescribeAlarms",
        "DescribeExecution",
        "DescribeStackResource",
        "DescribeStackResources",
        "DescribeStacks",
        "DescribeStateMachine",
        "DescribeStateMachineForExecution",
        "DescribeTable",
        "FilterLogEvents",
        "GetCallerIdentity",
        "GetExecutionHistory",
        "GetItem",
        "GetMetricData",
        "GetMetricStatistics",
        "GetObject",
        "GetQueueAttributes",
        "HeadObject",
        "ListEventSourceMappings",
        "ListExecutions",
        "ListObjectsV2",
        "ListQueueTags",
        "ListStackResources",
        "Query",
        "Scan",
    }
)
"""What a console that may only read may call. A list of what is allowed: what is new is not."""

_HOUR: Final = 3600.0


class Forbidden(Failed):
    """The console was started to read only."""


class Calls:
    """Counts the calls that go through an `Aws`, and refuses changes where only reading is allowed.

    Args:
        aws: whose clients are made here, all of them.
        read_only: whether what is not in `READS` is refused, before anything is sent.
    """

    def __init__(self, aws: Aws, *, read_only: bool) -> None:
        self._read_only = read_only
        self._lock = threading.Lock()
        self._made: deque[tuple[float, str]] = deque()
        for service in SERVICES:
            events = aws.client(service).meta.events
            events.register_first("before-call", self._before)

    # Any: botocore's event, with whatever it hands on.
    def _before(self, model: Any, **_: Any) -> None:
        if self._read_only and model.name not in READS:
            raise Forbidden(
                f"This console was started with --read-only, so {model.name} is not called."
            )
        with self._lock:
            self._made.append((time.monotonic(), model.name))
            self._forget()

    def of_last_hour(self) -> Counter[str]:
        """How many calls of which operation there were in the last hour."""
        with self._lock:
            self._forget()
            return Counter(name for _, name in self._made)

    def _forget(self) -> None:
        since = time.monotonic() - _HOUR
        while self._made and self._made[0][0] < since:
            self._made.popleft()
