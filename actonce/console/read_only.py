"""The calls of AWS that a console may make that was started to read only."""

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
        "DescribeTable",
        "FilterLogEvents",
        "GetCallerIdentity",
        "GetExecutionHistory",
        "GetItem",
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


class Forbidden(Failed):
    """The console was started to read only."""


def make_clients(aws: Aws, *, read_only: bool) -> None:
    """Make all clients that the views use, here and now.

    Args:
        aws: whose.
        read_only: whether they refuse what is not in `READS`, before anything is sent.
    """
    for service in SERVICES:
        client = aws.client(service)
        if read_only:
            client.meta.events.register_first("before-call", _refuse_changes)


# Any: botocore's event, with whatever it hands on.
def _refuse_changes(model: Any, **_: Any) -> None:
    if model.name not in READS:
        raise Forbidden(
            f"This console was started with --read-only, so {model.name} is not called."
        )
