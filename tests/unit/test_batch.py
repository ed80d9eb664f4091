"""A batch of deliveries: what is handled side by side, and what in turn."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce_core import batch
from actonce_core.batch import Batch
from actonce_core.delivery import Delivery
from actonce_core.executions import Start
from actonce_core.start import End
from tests.unit.samples import sqs_record

DONE = End(Start.STARTED, None)


class Requests:
    """RequestsQueue's edge; keeps what is to be visible again, and when."""

    def __init__(self) -> None:
        self.calls: list[dict[str, float]] = []

    def show_again(self, seconds: dict[str, float]) -> None:
        self.calls.append(seconds)


class Context:
    """Lambda's, with so many seconds left."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self._seconds * 1000)


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_log", lambda *_: None)
    monkeypatch.setattr(batch, "_count", lambda _: None)


def _answer(handle: Callable[[Delivery], End], records: list[dict[str, Any]]) -> list[str]:
    answer = Batch(handle).handle({"Records": records}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def _fifo(number: int, group: str) -> dict[str, Any]:
    return sqs_record(
        {"message_id": str(number)},
        sqs_message_id=str(number),
        attributes={"MessageGroupId": group, "SequenceNumber": str(number)},
    )


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=10),
    st.sets(st.integers(0, 9)),
)
def test_a_group_keeps_its_order_and_stops_at_its_first_failure(
    groups: list[str], failing: set[int]
) -> None:
    handled: list[int] = []

    def handle(delivery: Delivery) -> End:
        number = int(delivery.sqs_message_id)
        handled.append(number)
        if number in failing:
            raise RuntimeError("injected")
        return DONE

    failed = _answer(handle, [_fifo(number, group) for number, group in enumerate(groups)])
    for group in set(groups):
        members = [number for number, of in enumerate(groups) if of == group]
        first = next((number for number in members if number in failing), 10)
        assert [number for number in handled if number in members] == [
            number for number in members if number <= first
        ]
        assert [number for number in members if str(number) in failed] == [
            number for number in members if number >= first
        ]


def test_one_group_does_not_wait_for_another() -> None:
    both = threading.Barrier(2, timeout=60)

    def handle(_: Delivery) -> End:
        both.wait()
        return DONE

    assert _answer(handle, [_fifo(0, "a"), _fifo(1, "b")]) == []


def test_on_a_standard_queue_a_group_id_orders_nothing() -> None:
    # There it only says between whom to be fair.
    both = threading.Barrier(2, timeout=60)

    def handle(_: Delivery) -> End:
        both.wait()
        return DONE

    records = [
        sqs_record({}, sqs_message_id=str(number), attributes={"MessageGroupId": "a"})
        for number in range(2)
    ]
    assert _answer(handle, records) == []


def _received(number: int, receives: int, **more: Any) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": str(receives), **more.pop("attributes", {})}
    record = sqs_record({}, sqs_message_id=str(number), attributes=attributes)
    return record | {"receiptHandle": f"handle-{number}"}


def _failing(delivery: Delivery) -> End:
    raise RuntimeError(f"injected into {delivery.sqs_message_id}")


def test_what_failed_comes_back_soon_by_one_call_for_the_batch() -> None:
    requests: Any = Requests()

    def handle(delivery: Delivery) -> End:
        return DONE if delivery.sqs_message_id == "1" else _failing(delivery)

    whole = Batch(handle, requests=requests, chance=lambda: 1.0)
    records = [_received(0, 1), _received(1, 1), _received(2, 4)]
    answer = whole.handle({"Records": records}, Context(30))
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["0", "2"]
    assert requests.calls == [{"handle-0": 4.0, "handle-2": 32.0}]


def test_a_batch_without_a_failure_calls_nobody() -> None:
    requests: Any = Requests()
    Batch(lambda _: DONE, requests=requests).handle({"Records": [_received(0, 1)]}, Context(30))
    assert requests.calls == []


def test_what_failed_with_no_time_left_comes_back_by_its_visibility_timeout() -> None:
    requests: Any = Requests()
    answer = Batch(_failing, requests=requests).handle({"Records": [_received(0, 1)]}, Context(3))
    assert len(answer["batchItemFailures"]) == 1
    assert requests.calls == []


def test_the_rest_of_a_group_comes_back_with_its_first_failure() -> None:
    requests: Any = Requests()

    def handle(delivery: Delivery) -> End:
        if delivery.sqs_message_id == "1":
            error: Any = RuntimeError("injected")
            error.comes_back_after = 7.5
            raise error
        return DONE

    group = {"MessageGroupId": "a", "SequenceNumber": "1"}
    records = [_received(n, 1 + 3 * (n == 2), attributes=group) for n in range(4)]
    Batch(handle, requests=requests).handle({"Records": records}, Context(30))
    assert requests.calls == [{"handle-1": 7.5, "handle-2": 7.5, "handle-3": 7.5}]


def test_the_pace_learns_how_many_there_are() -> None:
    begun: list[int] = []

    class Pace:
        def begin(self, deliveries: int) -> None:
            begun.append(deliveries)

    pace: Any = Pace()
    records = [_received(n, 1) for n in range(3)]
    Batch(lambda _: DONE, pace=pace).handle({"Records": records}, Context(30))
    assert begun == [3]
