"""One SQS batch: every delivery brought to its end, logged, counted, or returned to the queue."""

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

from actonce_core.backoff import START_BACKOFF_GROWTH, seconds_until_back
from actonce_core.delivery import Delivery
from actonce_core.message import Refusal
from actonce_core.records import delivery_record, error_name, log_line
from actonce_core.start import End

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LARGEST_BATCH = 10
"""Records handled side by side; template.yaml allows no larger batch."""

logger = Logger(json_serializer=log_line)
metrics = Metrics()


class HeldBack(Exception):
    """Not tried, because a delivery before it in its message group failed."""


class Batch:
    """Handles the records of a batch side by side, and counts how they ended.

    Invariants: what `handle_delivery` raises becomes a batch item failure, and SQS brings the
    delivery back. The deliveries of one message group (FIFO) are handled one after another in their
    order; after the first failure the rest of the group is returned untried, and no other group
    waits for it. A batch without a failure, and of which nobody wants to hear, makes no call of its
    own. What is told of it is told last, and changes nothing.

    Every record waits for AWS most of its time, so a batch takes about as long as its slowest
    record.
    Source: "Implementing partial batch responses", AWS Lambda Developer Guide.

    Args:
        handle_delivery: brings a delivery to its end.
        sqs: a client.
        requests_queue_url: the queue that deliveries come from; None: what failed comes back when
            its visibility timeout is over.
        growth: of the waits of what fails again, see `seconds_until_back`.
        chance: a number from 0 to 1.
        tell: told the ends of a batch but its failures; what it raises is logged.
    """

    def __init__(  # noqa: PLR0913 - all but the first three have names
        self,
        handle_delivery: Callable[[Delivery], End],
        sqs: "SQSClient | None" = None,
        requests_queue_url: str | None = None,
        growth: float = START_BACKOFF_GROWTH,
        chance: Callable[[], float] = random.random,
        tell: Callable[[Sequence[tuple[Delivery, End]]], None] = lambda _: None,
    ) -> None:
        self._handle_delivery = handle_delivery
        self._tell = tell
        self._sqs = sqs
        self._requests_queue_url = requests_queue_url
        self._growth = growth
        self._chance = chance
        self._threads = ThreadPoolExecutor(LARGEST_BATCH, thread_name_prefix="delivery")

    def handle(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an SQS event with Lambda's partial batch response."""
        deliveries = [Delivery.from_record(record) for record in event["Records"]]
        groups: dict[str, list[Delivery]] = {}
        for delivery in deliveries:
            own = delivery.message_group_id or f"of its own: {delivery.sqs_message_id}"
            groups.setdefault(own, []).append(delivery)
        ends = [
            end for ended in self._threads.map(self._in_order, groups.values()) for end in ended
        ]
        failed = [delivery for delivery, end in ends if isinstance(end, Exception)]
        if failed:
            self._bring_back_soon(failed)
        _count(ends, datetime.now(UTC))
        try:
            self._tell([(one, end) for one, end in ends if not isinstance(end, Exception)])
        except Exception as error:  # noqa: BLE001 - whatever it was, the batch is as it was
            logger.error("events not put", extra={"error": error_name(error)})
        return {
            "batchItemFailures": [{"itemIdentifier": failure.sqs_message_id} for failure in failed]
        }

    def _in_order(self, group: Sequence[Delivery]) -> list[tuple[Delivery, End | Exception]]:
        ends: list[tuple[Delivery, End | Exception]] = []
        for delivery in group:
            end = self._end_of(delivery, held_back=bool(ends) and _is_failure(ends[-1][1]))
            write = logger.error if _is_failure(end) else logger.info
            write("delivery", extra=delivery_record(delivery, end, datetime.now(UTC)))
            ends.append((delivery, end))
        return ends

    def _end_of(self, delivery: Delivery, *, held_back: bool) -> End | Exception:
        if held_back:
            return HeldBack()
        try:
            return self._handle_delivery(delivery)
        except Exception as error:  # noqa: BLE001 - whatever it was, the delivery is not deleted
            return error

    def _bring_back_soon(self, failed: Sequence[Delivery]) -> None:
        """If that fails, they come back when their visibility timeout is over."""
        if self._sqs is None or self._requests_queue_url is None:
            return
        with contextlib.suppress(ClientError, BotoCoreError):
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._requests_queue_url,
                Entries=[
                    {
                        "Id": str(number),
                        "ReceiptHandle": one.receipt_handle,
                        "VisibilityTimeout": math.ceil(
                            seconds_until_back(one.receive_count, self._chance(), self._growth)
                        ),
                    }
                    for number, one in enumerate(failed)
                ],
            )


def _is_failure(end: End | Exception) -> bool:
    return isinstance(end, Exception)


def _count(ends: Sequence[tuple[Delivery, End | Exception]], now: datetime) -> None:
    """Started, Suppressed, Refused and Failed per stack; Refused also by reason.

    Where something failed, OldestFailedAge (seconds since it was sent): SQS's own metric of ages
    leaves out what a standard queue has handed out three times.
    """
    totals: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for _, end in ends:
        if isinstance(end, Exception):
            totals["Failed"] += 1
        elif isinstance(end.outcome, Refusal):
            totals["Refused"] += 1
            reasons[str(end.outcome.reason)] += 1
        else:
            totals[end.outcome.capitalize()] += 1
    for name, number in totals.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=number)
    for reason, number in reasons.items():
        with single_metric(name="Refused", unit=MetricUnit.Count, value=number) as metric:
            metric.add_dimension(name="reason", value=reason)
    ages = [delivery.age_seconds(now) for delivery, end in ends if isinstance(end, Exception)]
    if ages:
        metrics.add_metric(name="OldestFailedAge", unit=MetricUnit.Seconds, value=max(ages))
