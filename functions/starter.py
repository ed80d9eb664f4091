"""StarterFunction: one SQS batch in, one execution per message out.

`Starter.start_message` handles each record; `Batch` does the rest.
"""

import functools
import os
from datetime import timedelta
from typing import Any

import boto3
from botocore.config import Config

from actonce_core import events
from actonce_core.batch import LARGEST_BATCH, Batch, metrics
from actonce_core.message import MessageReader
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue

CLIENT_CONFIG = Config(
    connect_timeout=1,
    read_timeout=3,
    max_pool_connections=LARGEST_BATCH,
    # Every call of the starter may be repeated: the row is written once, the execution's name taken
    # once. Four attempts take at most 23 s, so a delivery fails before Lambda ends the whole batch.
    retries={"mode": "standard", "total_max_attempts": 4},
)


@functools.cache
def _batch() -> Batch:
    """Built once per process from the variables that template.yaml sets."""
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
    )

    bus = events.EventBus(
        lambda: boto3.client("events", config=events.CLIENT_CONFIG), os.environ["STACK_NAME"]
    )
    url = os.environ["REQUESTS_QUEUE_URL"]
    return Batch(starter.start_message, starter.unstarted.sqs, url, put_events=bus.put)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001 - Lambda's form
    """Lambda's entry point."""
    return _batch().handle(event)


if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
    # Lambda initializes a function with more CPU than 256 MB have afterwards, so the first batch
    # does not wait for the clients: they take half of its CPU time.
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    _batch()
