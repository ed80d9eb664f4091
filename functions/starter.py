"""StarterFunction: one SQS batch in, one execution per message out.

With `START_EXECUTIONS=on-trouble` it performs the effect of each message itself, and starts an
execution only for those with which something goes wrong.

`Starter.start_message` handles each record; `Batch` does the rest.
"""

import functools
import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from actonce_core import events
from actonce_core.backoff import EFFECT_BACKOFF_GROWTH, START_BACKOFF_GROWTH
from actonce_core.batch import LARGEST_BATCH, Batch, logger, metrics
from actonce_core.first_attempt import MOST_ATTEMPTS, FirstAttempt
from actonce_core.invoked_effect import InvokedEffect, client_config
from actonce_core.message import Message, MessageReader
from actonce_core.records import error_name
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

CLIENT_CONFIG = Config(
    connect_timeout=1,
    read_timeout=3,
    max_pool_connections=LARGEST_BATCH,
    # Every call of the starter may be repeated: the row is written once, the execution's name taken
    # once. Four attempts take at most 23 s, so a delivery fails before Lambda ends the whole batch.
    retries={"mode": "standard", "total_max_attempts": 4},
)

LONGEST_REST = 5.0
"""Seconds between two batches after which first attempts use new connections. A frozen sandbox does
not see that a connection ends, and a call on a dead one is not repeated: its outcome is unknown."""

_invocation: list[Any] = [None]
"""Lambda's context of the invocation that runs."""
_ended_at = [0.0]
"""When the last one ended, by the monotonic clock."""


@functools.cache
def _lambda() -> "LambdaClient":
    timeout = int(os.environ["EFFECT_TIMEOUT_SECONDS"])
    return boto3.client("lambda", config=Config(**client_config(timeout)))


def _first_attempt() -> FirstAttempt | None:
    """None if every message gets an execution.

    Only the embedded AWS sets MAX_RETRIES: a person waits there, so less often is enough.
    """
    if os.environ.get("START_EXECUTIONS", "always") == "always":
        return None
    perform, find = os.environ["EFFECT_FUNCTION_ARN"], os.environ["FIND_FUNCTION_ARN"]
    starter, margin = os.environ["STARTER_TIMEOUT_SECONDS"], os.environ["STRAGGLER_MARGIN_SECONDS"]
    return FirstAttempt(
        effect=InvokedEffect(_lambda(), perform, find),
        version={
            "perform": perform,
            "find": find,
            "timeout": int(os.environ["EFFECT_TIMEOUT_SECONDS"]),
            "margin": int(starter) + int(margin),
        },
        seconds_left=lambda: _invocation[0].get_remaining_time_in_millis() / 1000,
        on_trouble=_log_trouble,
        most_attempts=int(os.environ.get("MAX_RETRIES", MOST_ATTEMPTS)),
    )


def _log_trouble(message: Message, error: Exception) -> None:
    name = error_name(error.__cause__ or error)  # an unknown outcome's own name says nothing
    logger.warning("first attempt", extra={"message_id": message.message_id, "error": name})


@functools.cache
def _batch() -> Batch:
    """Built once per process from the variables that template.yaml sets."""
    first_attempt = _first_attempt()
    starter = Starter(
        reader=MessageReader(os.environ["MESSAGE_ID_FROM"], os.environ["CONTENT_FROM"]),
        dynamodb=boto3.client("dynamodb", config=CLIENT_CONFIG),
        table=os.environ["FINGERPRINTS_TABLE"],
        stepfunctions=boto3.client("stepfunctions", config=CLIENT_CONFIG),
        state_machine=os.environ["STATE_MACHINE_ARN"],
        unstarted=UnstartedQueue(
            boto3.client("sqs", config=CLIENT_CONFIG), os.environ["UNSTARTED_QUEUE_URL"]
        ),
        names_remembered=timedelta(days=int(os.environ["NAMES_REMEMBERED_DAYS"])),
        first_attempt=first_attempt,
    )

    bus = events.EventBus(
        lambda: boto3.client("events", config=events.CLIENT_CONFIG), os.environ["STACK_NAME"]
    )
    url = os.environ["REQUESTS_QUEUE_URL"]
    growth = START_BACKOFF_GROWTH if first_attempt is None else EFFECT_BACKOFF_GROWTH
    sqs = starter.unstarted.sqs
    return Batch(
        starter.start_message,
        sqs,
        url,
        growth=growth,
        put_events=bus.put,
        read_id=lambda delivery: starter.reader.read(delivery).message_id,
    )


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    batch = _batch()
    _invocation[0] = context
    if _lambda.cache_info().currsize and time.monotonic() - _ended_at[0] > LONGEST_REST:
        _lambda().close()
    try:
        return batch.handle(event)
    finally:
        _ended_at[0] = time.monotonic()


if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
    # Lambda initializes a function with more CPU than 256 MB have afterwards, so the first batch
    # does not wait for the clients: they take half of its CPU time.
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    _batch()
