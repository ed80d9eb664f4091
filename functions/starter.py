"""StarterFunction: one SQS batch in, one execution per message out.

Thin on purpose: each record goes to `Starter.start_message`, its end becomes one log line and one
count, and what raised becomes a batch item failure.
"""

import asyncio
import functools
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import (
    AsyncBatchProcessor,
    EventType,
    async_process_partial_response,
)
from botocore.config import Config

from deduplication.delivery import Delivery
from deduplication.delivery_record import delivery_record
from deduplication.executions import Executions
from deduplication.fingerprints import FingerprintTable
from deduplication.message import MessageReader
from deduplication.refusal import Refusal
from deduplication.start import Starter
from deduplication.unstarted import UnstartedQueue

LARGEST_BATCH = 10
"""Records handled side by side; template.yaml allows no larger batch."""

logger = Logger()
metrics = Metrics()


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
    return Starter(
        reader=MessageReader(
            os.environ.get("MESSAGE_ID_FROM", "body:message_id"), os.environ.get("CONTENT_FROM", "")
        ),
        fingerprints=FingerprintTable(
            boto3.client("dynamodb", config=config), os.environ["FINGERPRINTS_TABLE"]
        ),
        executions=Executions(
            boto3.client("stepfunctions", config=config), os.environ["STATE_MACHINE_ARN"]
        ),
        unstarted=UnstartedQueue(
            boto3.client("sqs", config=config), os.environ["UNSTARTED_QUEUE_URL"]
        ),
    )


class BatchStarter:
    """Handles the records of a batch side by side, and counts how they ended.

    Every record waits for AWS most of its time, so a batch takes about as long as its slowest
    record (`bench/starter.py`).
    """

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self._threads = ThreadPoolExecutor(LARGEST_BATCH, thread_name_prefix="delivery")
        # A batch of which every record failed is answered like any other: SQS brings each back.
        self._processor = AsyncBatchProcessor(
            event_type=EventType.SQS, raise_on_entire_batch_failure=False
        )

    def handle(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an SQS event with Lambda's partial batch response."""
        if event.get("Records") == []:  # Powertools takes an empty batch for a foreign event
            return {"batchItemFailures": []}
        ends: Counter[tuple[str, str]] = Counter()

        async def handle_record(record: Any) -> None:
            # Counted here, in the one thread of the event loop: `+= 1` is not atomic.
            loop = asyncio.get_running_loop()
            try:
                end = await loop.run_in_executor(self._threads, self._handle_one, record.raw_event)
            except Exception:
                ends["failed", ""] += 1
                raise
            ends[end] += 1

        response = async_process_partial_response(
            event=event, record_handler=handle_record, processor=self._processor, context=context
        )
        _count(ends)
        return dict(response)

    def _handle_one(self, record: dict[str, Any]) -> tuple[str, str]:
        """Bring one record to its end, write its log line, and name the end and its reason."""
        delivery = Delivery.from_record(record)
        try:
            end = self._starter.start_message(delivery)
        except Exception as error:
            logger.error("delivery", extra=delivery_record(delivery, error, datetime.now(UTC)))
            raise
        logger.info("delivery", extra=delivery_record(delivery, end, datetime.now(UTC)))
        if isinstance(end.outcome, Refusal):
            return "refused", str(end.outcome.reason)
        return str(end.outcome), ""


def _count(ends: Counter[tuple[str, str]]) -> None:
    """Started, Suppressed, Refused and Failed per stack; Refused also by reason."""
    totals: Counter[str] = Counter()
    for (end, reason), number in ends.items():
        totals[end] += number
        if reason:
            with single_metric(name="Refused", unit=MetricUnit.Count, value=number) as metric:
                metric.add_dimension(name="reason", value=reason)
    for end, number in totals.items():
        metrics.add_metric(name=end.capitalize(), unit=MetricUnit.Count, value=number)


@functools.cache
def _batch_starter() -> BatchStarter:
    """One per process: its clients and threads serve every invocation."""
    return BatchStarter(starter_from_environment())


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return _batch_starter().handle(event, context)
