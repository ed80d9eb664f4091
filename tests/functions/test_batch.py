"""A batch of deliveries: what is handled side by side, what in turn, and what comes back when."""

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from actonce_core import batch
from actonce_core.backoff import (
    EFFECT_BACKOFF_GROWTH,
    LONGEST_BACKOFF_SECONDS,
    START_BACKOFF_GROWTH,
    redelivery_delay,
)
from actonce_core.batch import Batch
from actonce_core.delivery import Delivery
from actonce_core.first_attempt import TooLittleTime
from actonce_core.result import DeliveryResult, Start
from tests.support.deliveries import sqs_record

DONE = DeliveryResult(Start.STARTED, None)


class Sqs:
    """SQS's edge; keeps what is to be visible again, and when."""

    def __init__(self, *, is_down: bool = False) -> None:
        self.is_down = is_down
        self.calls: list[dict[str, int]] = []

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Any) -> None:  # noqa: N803
        assert QueueUrl == "url"
        assert len({one["Id"] for one in Entries}) == len(Entries)
        self.calls.append({one["ReceiptHandle"]: one["VisibilityTimeout"] for one in Entries})
        if self.is_down:
            raise EndpointConnectionError(endpoint_url="https://sqs")


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch.logger, "error", lambda *_, **__: None)
    monkeypatch.setattr(batch.logger, "info", lambda *_, **__: None)
    monkeypatch.setattr(batch, "_count", lambda *_: None)


def record(number: int, **attributes: str) -> dict[str, Any]:
    made = sqs_record({}, sqs_message_id=str(number), attributes=attributes)
    return made | {"receiptHandle": f"handle-{number}"}


def fifo(number: int, group: str) -> dict[str, Any]:
    return record(number, MessageGroupId=group, SequenceNumber=str(number))


def failing(
    *numbers: int, seen: Callable[[int], object] = id
) -> Callable[[Delivery], DeliveryResult]:
    """What handles deliveries, but for these."""

    def handle(delivery: Delivery) -> DeliveryResult:
        number = int(delivery.sqs_message_id)
        seen(number)
        if number in numbers:
            raise RuntimeError("injected")
        return DONE

    return handle


def failed_of(
    records: list[dict[str, Any]], handle: Callable[[Delivery], DeliveryResult], sqs: Any
) -> Any:
    """The numbers of the deliveries that go back to the queue."""
    answer = Batch(handle, sqs, "url", chance=lambda: 1.0).handle({"Records": records})
    return [int(one["itemIdentifier"]) for one in answer["batchItemFailures"]]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=10), st.sets(st.integers(0, 9)))
def test_a_group_keeps_its_order_and_stops_at_its_first_failure(
    groups: list[str], failures: set[int]
) -> None:
    handled: list[int] = []
    records = [fifo(number, group) for number, group in enumerate(groups)]

    failed = failed_of(records, failing(*failures, seen=handled.append), Sqs())

    for group in set(groups):
        members = [number for number, of in enumerate(groups) if of == group]
        first = next((number for number in members if number in failures), 10)
        tried = [number for number in handled if number in members]
        assert tried == [number for number in members if number <= first]
        assert set(failed) & set(members) == {number for number in members if number >= first}


@pytest.mark.parametrize(
    "records",
    [
        [fifo(0, "a"), fifo(1, "b")],
        # On a standard queue a group id orders nothing: it says between whom to be fair.
        [record(0, MessageGroupId="a"), record(1, MessageGroupId="a")],
    ],
    ids=["two groups", "a standard queue"],
)
def test_deliveries_without_order_are_handled_side_by_side(
    records: list[dict[str, Any]],
) -> None:
    both = threading.Barrier(2, timeout=60)
    sqs = Sqs()
    assert failed_of(records, failing(seen=lambda _: both.wait()), sqs) == []
    assert sqs.calls == []


@pytest.mark.parametrize("is_down", [False, True])
def test_failed_deliveries_come_back_soon_by_one_call(is_down: bool) -> None:
    # Or by its visibility timeout, where that call fails too.
    sqs = Sqs(is_down=is_down)
    records = [record(0), record(1), record(2, ApproximateReceiveCount="4")]
    assert failed_of(records, failing(0, 2), sqs) == [0, 2]
    assert sqs.calls == [{"handle-0": 4, "handle-2": 6}]


def test_nothing_is_at_work_when_a_batch_is_left_by_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, fails, is_left = threading.Event(), threading.Event(), threading.Event()
    at_work_then: list[bool] = []

    def handle(delivery: Delivery) -> DeliveryResult:
        if delivery.sqs_message_id == "1":
            begun.set()
            fails.wait(60)
            at_work_then.append(is_left.wait(0.2))
        return DONE

    def write_line(*_: Any, extra: dict[str, Any], **__: Any) -> None:
        if extra["sqs_message_id"] == "0":
            begun.wait(60)
            fails.set()
            raise MemoryError

    event = {"Records": [record(0), record(1)]}
    left_by_error = Batch(handle, Sqs(), "url")  # type: ignore[arg-type] # as far as it is called
    with monkeypatch.context() as once:
        once.setattr(batch.logger, "info", write_line)
        with pytest.raises(MemoryError):
            left_by_error.handle(event)
    is_left.set()
    assert at_work_then == [False]
    assert left_by_error.handle(event) == {"batchItemFailures": []}


GROWTHS = st.sampled_from([START_BACKOFF_GROWTH, EFFECT_BACKOFF_GROWTH])


@given(st.floats(0, 1), GROWTHS)
def test_redelivery_delays_grow_from_seconds_to_a_quarter_of_an_hour(
    chance: float, growth: float
) -> None:
    waits = [redelivery_delay(n, chance, growth) for n in range(1, 1000)]
    assert 2 < waits[0] <= 4
    assert waits == sorted(waits)
    assert 600 <= waits[59] <= waits[-1] <= LONGEST_BACKOFF_SECONDS == 900
    assert sum(waits) > 6 * 24 * 3600
    if growth == START_BACKOFF_GROWTH:  # a small part of how long it has waited
        assert all(waits[n] <= 0.1 * sum(waits[:n]) + 4.001 for n in range(4, 60))


def test_a_group_that_had_too_little_time_comes_back_soon() -> None:
    """Slow effects leave the last of ten for the tenth batch, which is nobody's failure."""

    def handle(delivery: Delivery) -> DeliveryResult:
        if delivery.sqs_message_id == "1":
            raise TooLittleTime
        return DONE

    sqs, often = Sqs(), {"ApproximateReceiveCount": "9"}
    records = [fifo(0, "g"), fifo(1, "g"), fifo(2, "g"), fifo(3, "of its own")]
    for one in records:
        one["attributes"] |= often
    batch_ = Batch(handle, sqs, "url", growth=EFFECT_BACKOFF_GROWTH, chance=lambda: 1.0)  # type: ignore[arg-type]
    assert len(batch_.handle({"Records": records})["batchItemFailures"]) == 2
    soon = math.ceil(redelivery_delay(9, 1.0, START_BACKOFF_GROWTH))
    assert sqs.calls == [{"handle-1": soon, "handle-2": soon}]
