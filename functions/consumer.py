"""ConsumerFunction: one SQS batch in, the effect of each message performed in this invocation.

Instead of Step Functions a lease guards the effect. `Consumer.consume` handles each record; `Batch`
does the rest.
"""

import functools
import os
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from actonce_core import events
from actonce_core.backoff import EFFECT_BACKOFF_GROWTH
from actonce_core.batch import LARGEST_BATCH, Batch, metrics
from actonce_core.invoked_effect import InvokedEffect, client_config
from actonce_core.locking.consumer import MAX_RETRIES, Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.locks import Lease, seconds_for_a_takeover
from actonce_core.message import MessageReader
from actonce_core.unstarted import UnstartedQueue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from actonce_core.effect import Effect


def consumer_from_environment() -> Consumer:
    """Build the consumer from the variables that locks.yaml sets.

    Only the embedded AWS sets MAX_RETRIES: a person waits there, so it retries less often.

    Raises:
        ValueError: the function's time is too short to take a message over.
    """
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        max_pool_connections=2 * LARGEST_BATCH,
        retries={"mode": "standard", "total_max_attempts": 2},
    )
    lease_seconds = float(os.environ["LEASE_SECONDS"])
    sqs = boto3.client("sqs", config=config)
    return Consumer(
        reader=MessageReader(os.environ["MESSAGE_ID_FROM"], os.environ["CONTENT_FROM"]),
        lease=_lease(boto3.client("dynamodb", config=config), lease_seconds),
        effect=_effect(),
        unstarted=UnstartedQueue(sqs, os.environ["UNSTARTED_QUEUE_URL"]),
        dead_letters=DeadLetterQueue(sqs, os.environ["DEAD_LETTER_QUEUE_URL"]),
        lock_timeout=lease_seconds,
        max_rounds=int(os.environ["MAX_ROUNDS"]),
        max_retries=int(os.environ.get("MAX_RETRIES", MAX_RETRIES)),
    )


def _effect() -> "Effect":
    """The team's own function, or the example."""
    function = os.environ.get("EFFECT_FUNCTION_ARN", "")
    if not function:
        from appointments import book_from_environment  # noqa: PLC0415 - the example's alone

        return book_from_environment()
    timeout = float(os.environ["EFFECT_TIMEOUT_SECONDS"])
    return InvokedEffect(
        boto3.client("lambda", config=Config(**client_config(timeout))),
        function,
        os.environ.get("FIND_FUNCTION_ARN", ""),
    )


def _lease(dynamodb: "DynamoDBClient", seconds: float) -> Lease:
    timeout = float(os.environ["FUNCTION_TIMEOUT_SECONDS"])
    # Lambda ends the invocation at its time-out; after the margin no straggler can act. A function
    # that the invocation called may run for its own time-out besides.
    straggler = float(os.environ["STRAGGLER_MARGIN_SECONDS"])
    if os.environ.get("EFFECT_FUNCTION_ARN"):
        straggler += float(os.environ["EFFECT_TIMEOUT_SECONDS"])
    needed = seconds_for_a_takeover(seconds, straggler)
    if needed > timeout:
        raise ValueError(
            f"A takeover needs {needed:g} s (one and a half leases, StragglerMarginSeconds, "
            "and with EffectFunctionArn EffectTimeoutSeconds), and the consumer has "
            f"{timeout:g} s: lower one of them, or raise StarterTimeoutSeconds."
        )
    return Lease(dynamodb, os.environ["LEDGER_TABLE"], straggler_seconds=straggler)


@functools.cache
def _batch() -> Batch:
    """One per process: its clients and threads serve every invocation."""
    consumer = consumer_from_environment()
    sqs, url = consumer.unstarted.sqs, os.environ["REQUESTS_QUEUE_URL"]
    bus = events.EventBus(
        lambda: boto3.client("events", config=events.CLIENT_CONFIG), os.environ["STACK_NAME"]
    )
    return Batch(consumer.consume, sqs, url, growth=EFFECT_BACKOFF_GROWTH, put_events=bus.put)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001 - Lambda's form
    """Lambda's entry point."""
    return _batch().handle(event)
