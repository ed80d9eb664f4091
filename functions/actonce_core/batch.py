"""One SQS batch: every delivery brought to its end, logged, counted, or returned to the queue."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from aws_lambda_powertools import Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import (
    AsyncBatchProcessor,
    EventType,
    async_process_partial_response,
)

from actonce_core import log_lines
from actonce_core.coming_back import RequestsQueue, seconds_until_back
from actonce_core.delivery import Delivery
from actonce_core.delivery_record import delivery_record
from actonce_core.pace import Pace
from actonce_core.patience import CALL_SECONDS, THIS_INVOCATION, Invocation
from actonce_core.refusal import Refusal
from actonce_core.start import End

LARGEST_BATCH = 10
"""Records handled side by side; template.yaml allows no larger batch."""

logger = log_lines.logger()
metrics = Metrics()


class HeldBack(Exception):
    """Not tried, because a delivery before it in its message group failed; it comes back with it.

    Not before it: SQS hands nothing of a group out while an earlier message of it is invisible.
    """

    def __init__(self, comes_back_after: float) -> None:
        super().__init__("a delivery before it in its message group failed")
        self.comes_back_after = comes_back_after


class Batch:
    """Handles the records of a batch side by side, and counts how they ended.

    Invariants: what `handle_delivery` raises becomes a batch item failure, and SQS brings the
    delivery back, soon (`coming_back`). The deliveries of one message group (FIFO) are handled one
    after another in their order; after the first failure the rest of the group is returned untried,
    and no other group waits for it. A batch without a failure makes no call of its own.

    Every record waits for AWS most of its time, so a batch takes about as long as its slowest
    record (`bench/starter.py`).
    Source: "Implementing partial batch responses", AWS Lambda Developer Guide.

    Args:
        handle_delivery: brings a delivery to its end.
        requests: the queue that deliveries come from; None: what failed comes back when its
            visibility timeout is over.
        pace: is told of each invocation.
        invocation: is told of each invocation, too.
        chance: a number from 0 to 1.
    """

    def __init__(
        self,
        handle_delivery: Callable[[Delivery], End],
        *,
        requests: RequestsQueue | None = None,
        pace: Pace | None = None,
        invocation: Invocation = THIS_INVOCATION,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._handle_delivery = handle_delivery
        self._requests = requests
        self._pace = pace
        self._invocation = invocation
        self._chance = chance
        self._threads = ThreadPoolExecutor(LARGEST_BATCH, thread_name_prefix="delivery")
        # A batch of which every record failed is answered like any other: SQS brings each back.
        self._processor = AsyncBatchProcessor(
            event_type=EventType.SQS, raise_on_entire_batch_failure=False
        )

    def handle(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """Answer an SQS event with Lambda's partial batch response."""
        if event.get("Records") == []:  # Powertools takes an empty batch for a foreign event
            return {"batchItemFailures": []}
        self._invocation.begin(context)
        if self._pace is not None:
            self._pace.begin(len(event["Records"]))
        ends: Counter[tuple[str, str]] = Counter()
        turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        failed_groups: dict[str, float] = {}
        back: dict[str, float] = {}

        async def handle_record(record: Any) -> None:
            try:
                delivery = Delivery.from_record(record.raw_event)
            except Exception:
                ends["failed", ""] += 1
                raise
            group = delivery.message_group_id
            if group is None:
                await bring_to_end(delivery)
                return
            # Tasks begin in the order of the batch, and a lock is given in the order of asking.
            async with turns[group]:
                if group in failed_groups:
                    ends["failed", ""] += 1
                    error = HeldBack(failed_groups[group])
                    back[delivery.receipt_handle] = error.comes_back_after
                    _log(delivery, error)
                    raise error
                try:
                    await bring_to_end(delivery)
                except Exception:
                    failed_groups[group] = back[delivery.receipt_handle]
                    raise

        async def bring_to_end(delivery: Delivery) -> None:
            # Counted here, in the one thread of the event loop: `+= 1` is not atomic.
            loop = asyncio.get_running_loop()
            try:
                end = await loop.run_in_executor(self._threads, self._handle_one, delivery)
            except Exception as error:
                ends["failed", ""] += 1
                back[delivery.receipt_handle] = seconds_until_back(
                    error, delivery.receive_count, self._chance()
                )
                raise
            ends[end] += 1

        response = async_process_partial_response(
            event=event, record_handler=handle_record, processor=self._processor, context=context
        )
        self._return(back)
        _count(ends)
        return dict(response)

    def _return(self, back: dict[str, float]) -> None:
        left = self._invocation.seconds_left()
        if back and self._requests is not None and (left is None or left > CALL_SECONDS):
            self._requests.show_again(back)

    def _handle_one(self, delivery: Delivery) -> tuple[str, str]:
        """Bring one record to its end, write its log line, and name the end and its reason."""
        try:
            end = self._handle_delivery(delivery)
        except Exception as error:
            _log(delivery, error)
            raise
        _log(delivery, end)
        if isinstance(end.outcome, Refusal):
            return "refused", str(end.outcome.reason)
        return str(end.outcome), ""


def _log(delivery: Delivery, end: End | Exception) -> None:
    write = logger.error if isinstance(end, Exception) else logger.info
    write("delivery", extra=delivery_record(delivery, end, datetime.now(UTC)))


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
