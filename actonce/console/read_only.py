"""The calls of AWS that a read-only console may make."""

from typing import Any, Final

from actonce.stack.clients import Aws
from actonce.terminal.errors import Failed

SERVICES: Final = (
    *("cloudformation", "cloudwatch", "dynamodb", "lambda", "logs"),
    *("s3", "sqs", "stepfunctions", "sts"),
)
"""Of all views. Clients are made before threads share them: making one is not thread-safe."""

READS: Final = frozenset(
    {
        *("DescribeStacks", "ListStackResources"),
        *("DescribeAlarms", "GetMetricStatistics"),
        *("DescribeTable", "GetItem", "Query", "Scan"),
        "ListEventSourceMappings",
        "FilterLogEvents",
        "GetObject",
        *("GetQueueAttributes", "ListQueueTags"),
        *("DescribeExecution", "GetExecutionHistory", "ListExecutions"),
        "GetCallerIdentity",
    }
)
"""What the views call, by name: AWS has calls that begin with Get and take something away."""

GIVEN_BACK: Final = frozenset({"ReceiveMessage", "ChangeMessageVisibilityBatch"})
"""What reading a queue needs: it hides a message, and gives it back."""


class Forbidden(Failed):
    """The console was started to read only."""


def make_clients(aws: Aws, *, read_only: bool) -> None:
    """Make all clients that the views use, now.

    Args:
        aws: whose.
        read_only: whether they refuse, before anything is sent, whatever may change something.
    """
    for service in SERVICES:
        client = aws.client(service)
        if read_only:
            client.meta.events.register_first("before-call", _refuse_changes)


# Any: botocore's event, with whatever it hands on.
def _refuse_changes(model: Any, **_: Any) -> None:
    if model.name not in READS | GIVEN_BACK:
        raise Forbidden(
            f"This console was started with --read-only, so {model.name} is not called."
        )
