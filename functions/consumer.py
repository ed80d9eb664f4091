"""ConsumerFunction: one SQS batch in, each message acted on in this very invocation.

The way without Step Functions: a ledger or a lease (`STRATEGY`) stands in front of the effect.
Thin on purpose: each record goes to `Consumer.consume`; `Batch` does the rest.
"""

import functools
import os
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from appointments import book_from_environment
from deduplication.batch import LARGEST_BATCH, Batch, metrics
from deduplication.from_environment import batch_from_environment
from deduplication.message import MessageReader
from deduplication.unstarted import UnstartedQueue
from locking.consumer import Consumer
from locking.dead_letters import DeadLetterQueue
from locking.lease import Lease, seconds_for_a_takeover
from locking.ledger import Ledger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from locking.attempt import ProcessingLocks


def consumer_from_environment() -> Consumer:
    """Build the consumer from the variables that template.yaml sets.

    Raises:
        ValueError: STRATEGY is neither `ledger` nor `lease`, or a lease has not the time to take a
            message over.
    """
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        max_pool_connections=2 * LARGEST_BATCH,
        retries={"mode": "standard", "total_max_attempts": 2},
    )
    locks, lock_timeout = _locks(boto3.client("dynamodb", config=config))
    sqs = boto3.client("sqs", config=config)
    return Consumer(
        reader=MessageReader(
            os.environ.get("MESSAGE_ID_FROM", "body:message_id"), os.environ.get("CONTENT_FROM", "")
        ),
        locks=locks,
        effect=book_from_environment(),
        unstarted=UnstartedQueue(sqs, os.environ["UNSTARTED_QUEUE_URL"]),
        dead_letters=DeadLetterQueue(sqs, os.environ["DEAD_LETTER_QUEUE_URL"]),
        lock_timeout=lock_timeout,
        max_rounds=int(os.environ["MAX_ROUNDS"]),
    )


def _locks(dynamodb: "DynamoDBClient") -> tuple["ProcessingLocks", float]:
    """The way that STRATEGY names, and its lock time-out in seconds."""
    strategy, table = os.environ["STRATEGY"], os.environ["LEDGER_TABLE"]
    timeout = float(os.environ["FUNCTION_TIMEOUT_SECONDS"])
    # Lambda ends the invocation at its time-out; after the margin no straggler can act.
    straggler = float(os.environ["STRAGGLER_MARGIN_SECONDS"])
    if strategy == "ledger":
        ledger = Ledger(
            dynamodb,
            table,
            straggler_seconds=straggler,
            clock_skew_seconds=float(os.environ["CLOCK_SKEW_SECONDS"]),
        )
        return ledger, timeout + straggler
    if strategy == "lease":
        seconds = float(os.environ["LEASE_SECONDS"])
        needed = seconds_for_a_takeover(seconds, straggler)
        if needed > timeout:
            raise ValueError(
                f"A takeover needs {needed:g} s (LeaseSeconds one and a half times, and "
                f"StragglerMarginSeconds), and the consumer has {timeout:g} s: lower one of the "
                "two, or raise StarterTimeoutSeconds."
            )
        return Lease(dynamodb, table, straggler_seconds=straggler), seconds
    raise ValueError(f"STRATEGY is {strategy!r}, expected 'ledger' or 'lease'")


@functools.cache
def _batch() -> Batch:
    """One per process: its clients and threads serve every invocation."""
    consumer = consumer_from_environment()
    return batch_from_environment(
        consumer.consume,
        consumer.unstarted,
        "consumer:consumer_from_environment:consume",
        may_have_acted=True,
    )


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return _batch().handle(event, context)
