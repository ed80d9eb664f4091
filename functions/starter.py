"""StarterFunction: one SQS batch in, one execution per message out.

Thin on purpose: each record goes to `Starter.start_message`; `Batch` does the rest.
"""

import functools
import os
from datetime import timedelta
from typing import Any

import boto3
from botocore.config import Config

from actonce_core.batch import LARGEST_BATCH, Batch, metrics
from actonce_core.executions import Executions
from actonce_core.fingerprints import FingerprintTable
from actonce_core.from_environment import batch_from_environment
from actonce_core.memory import Memories, Names
from actonce_core.message import MessageReader
from actonce_core.pace import Pace
from actonce_core.patience import CONNECT_SECONDS, READ_SECONDS, THIS_INVOCATION, Patience
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue


def starter_from_environment() -> Starter:
    """Build the starter from the variables that template.yaml sets."""
    # One attempt a call: `patience` makes the others, as long as there is time.
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=LARGEST_BATCH,
        retries={"mode": "standard", "total_max_attempts": 1},
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
        patience=Patience(THIS_INVOCATION.seconds_left),
        pace=pace_from_environment(),
    )


def pace_from_environment() -> Pace | None:
    """This starter's share of StartsPerSecond; None: there is no such bound."""
    per_second = float(os.environ.get("STARTS_PER_SECOND", "0"))
    if not per_second:
        return None
    starters = int(os.environ["MAXIMUM_CONCURRENCY"])
    return Pace(per_second / starters, THIS_INVOCATION.seconds_left)


@functools.cache
def _batch() -> Batch:
    """One per process: its clients and threads serve every invocation."""
    starter = starter_from_environment()
    return batch_from_environment(starter.start_message, starter.unstarted, starter.pace)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return _batch().handle(event, context)
