"""One SQS batch: every delivery handled, logged and counted, or returned to the queue."""

import contextlib
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.backoff import START_BACKOFF_GROWTH, redelivery_delay
from actonce_core.delivery import Delivery
from actonce_core.first_attempt import TooLittleTime
from actonce_core.message import Refusal
from actonce_core.records import delivery_record, error_name, log_line
from actonce_core.result import DeliveryResult

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LARGEST_BATCH = 10
"""Records handled side by side; template.yaml allows no larger batch."""

logger = Logger(json_serializer=log_line, use_rfc3339=True)
metrics = Metrics()


class HeldBack(Exception):
    """Not tried, because an earlier delivery of its message group failed."""


HandledOrFailed = tuple[Delivery, DeliveryResult | Exception]


class Batch:
    """Handles the records of a batch side by side, and counts the results.

    Invariants: a delivery for which `handle_delivery` raises becomes a batch item failure, and SQS
    brings it back. The deliveries of a message group (FIFO) are handled one after another in order;
    after the first failure the rest of the group is returned untried, and no other group waits for
    it. `put_events` is called last and cannot change the answer. A batch without failures or events
    makes no call of its own. Nothing is at work any more when `handle` returns or raises: Lambda
    would freeze it, and thaw it beside the next batch.

    Source: "Implementing partial batch responses", AWS Lambda Developer Guide.

    Args:
        handle_delivery: handles one delivery.
        sqs: a client.
        requests_queue_url: the queue that the deliveries come from.
        growth: see `redelivery_delay`; of what had too little time `START_BACKOFF_GROWTH`.
        chance: a number from 0 to 1.
        put_events: receives all results but the failures; what it raises is logged.
        read_id: reads the message id of a delivery that failed, for its line in the log.
    """

    def __init__(  # noqa: PLR0913 - all but the first three have names
        self,
        handle_delivery: Callable[[Delivery], DeliveryResult],
        sqs: "SQSClient",
        requests_queue_url: str,
        *,
        growth: float = START_BACKOFF_GROWTH,
        chance: Callable[[], float] = random.random,
        put_events: Callable[[Sequence[tuple[Delivery, DeliveryResult]]], None] = lambda _: None,
        read_id: Callable[[Delivery], str | None] = lambda _: None,
    ) -> None:
        self._handle_delivery = handle_delivery
        self._sqs = sqs
        self._requests_queue_url = requests_queue_url
        self._growth = growth
        self._chance = chance
        self._put_events = put_events
        self._read_id = read_id
        self._threads = _threads()

    def handle(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an SQS event with Lambda's partial batch response."""
        groups: dict[str, list[Delivery]] = {}
        for record in event["Records"]:
            delivery = Delivery.from_record(record)
            group = delivery.message_group_id or f"of its own: {delivery.sqs_message_id}"
            groups.setdefault(group, []).append(delivery)
        try:
            by_group = list(self._threads.map(self._handle_in_order, groups.values()))
        except BaseException:
            self._threads.shutdown(cancel_futures=True)  # and wait for whatever has begun
            self._threads = _threads()
            raise
        results = [result for group_results in by_group for result in group_results]
        failed = [(one, error) for one, error in results if isinstance(error, Exception)]
        if failed:
            self._bring_back_soon(failed)
        _count(results, datetime.now(UTC))
        try:
            self._put_events([(one, end) for one, end in results if not isinstance(end, Exception)])
        except Exception as error:  # noqa: BLE001 - whatever it is, the batch is done
            logger.error("events not put", extra={"error": error_name(error)})
        return {"batchItemFailures": [{"itemIdentifier": one.sqs_message_id} for one, _ in failed]}

    def _handle_in_order(self, group: Sequence[Delivery]) -> list[HandledOrFailed]:
        results: list[HandledOrFailed] = []
        untried: Exception | None = None  # why, from here on
        for delivery in group:
            result = untried or self._handle(delivery)
            if isinstance(result, Exception):
                untried = result if isinstance(result, TooLittleTime) else HeldBack()
            write, message_id = logger.info, None
            if untried is not None:
                write = logger.error
                with contextlib.suppress(Exception):  # reading it may be what failed
                    message_id = self._read_id(delivery)
            record = delivery_record(delivery, result, datetime.now(UTC), message_id)
            write("delivery", extra=record)
            results.append((delivery, result))
        return results

    def _handle(self, delivery: Delivery) -> DeliveryResult | Exception:
        try:
            return self._handle_delivery(delivery)
        except Exception as error:  # noqa: BLE001 - whatever it is, the delivery is not deleted
            return error

    def _bring_back_soon(self, failed: Sequence[tuple[Delivery, Exception]]) -> None:
        """If this call fails, they come back when their visibility timeout is over."""
        entries: list[Any] = []
        for number, (one, error) in enumerate(failed):
            # Whoever only had too little time would wait for minutes with each batch.
            is_late = isinstance(error, TooLittleTime)
            growth = START_BACKOFF_GROWTH if is_late else self._growth
            delay = math.ceil(redelivery_delay(one.receive_count, self._chance(), growth))
            entries.append(
                {
                    "Id": str(number),
                    "ReceiptHandle": one.receipt_handle,
                    "VisibilityTimeout": delay,
                }
            )
        with contextlib.suppress(ClientError, BotoCoreError):
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._requests_queue_url, Entries=entries
            )


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(LARGEST_BATCH, thread_name_prefix="delivery")


def _count(results: Sequence[HandledOrFailed], now: datetime) -> None:
    """Started, Performed, Suppressed, Refused and Failed per stack; Refused also by reason.

    Where something failed, also OldestFailedAge, in seconds since it was sent: SQS's own age metric
    ignores a message that a standard queue has delivered three times.
    """
    totals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for _, result in results:
        if isinstance(result, Exception):
            totals["Failed"] += 1
        elif isinstance(result.outcome, Refusal):
            totals["Refused"] += 1
            reasons[str(result.outcome.reason)] += 1
        else:
            totals[result.outcome.capitalize()] += 1
    for name, number in totals.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=number)
    for reason, number in reasons.items():
        with single_metric(name="Refused", unit=MetricUnit.Count, value=number) as metric:
            metric.add_dimension(name="reason", value=reason)
    ages = [delivery.age_seconds(now) for delivery, end in results if isinstance(end, Exception)]
    if ages:
        metrics.add_metric(name="OldestFailedAge", unit=MetricUnit.Seconds, value=max(ages))
