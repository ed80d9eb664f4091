"""StarterFunction: one SQS batch in, one execution per message out.

Thin on purpose: each record goes to `Starter.start_message`; `Batch` does the rest.
"""

import functools
import os
from datetime import timedelta
from typing import Any

import boto3
from botocore.config import Config

from deduplication.batch import LARGEST_BATCH, Batch, metrics
from deduplication.executions import Executions
from deduplication.fingerprints import FingerprintTable
from deduplication.memory import Memories, Names
from deduplication.message import MessageReader
from deduplication.start import Starter
from deduplication.unstarted import UnstartedQueue


def starter_from_environment() -> Starter:
    """Build the starter from the variables that template.yaml sets."""
    # A delivery makes two calls. Two attempts each, of 1 s to connect and 3 s to read, stay inside
    # the function's shortest time-out, so that one slow answer does not fail the whole batch.
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        max_pool_connections=LARGEST_BATCH,
        retries={"mode": "standard", "total_max_attempts": 2},
    )
    own = Names(os.environ["STATE_MACHINE_ARN"], os.environ.get("STACK_ID", ""))
    former = os.environ.get("FORMER_STATE_MACHINES", "").split(",")
    return Starter(
        reader=MessageReader(
            os.environ.get("MESSAGE_ID_FROM", "body:message_id"), os.environ.get("CONTENT_FROM", "")
        ),
        fingerprints=FingerprintTable(
            boto3.client("dynamodb", config=config), os.environ["FINGERPRINTS_TABLE"], own
        ),
        executions=Executions(boto3.client("stepfunctions", config=config), own.state_machine),
        unstarted=UnstartedQueue(
            boto3.client("sqs", config=config), os.environ["UNSTARTED_QUEUE_URL"]
        ),
        memories=Memories(
            own,
            former=tuple(arn.strip() for arn in former if arn.strip()),
            names_remembered=timedelta(days=int(os.environ.get("NAMES_REMEMBERED_DAYS", "25"))),
        ),
    )


@functools.cache
def _batch() -> Batch:
    """One per process: its clients and threads serve every invocation."""
    return Batch(starter_from_environment().start_message)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return _batch().handle(event, context)
