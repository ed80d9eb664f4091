"""A batch of deliveries: what is handled side by side, and what in turn."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deduplication import batch
from deduplication.batch import Batch
from deduplication.delivery import Delivery
from deduplication.executions import Start
from deduplication.start import End
from tests.unit.samples import sqs_record

DONE = End(Start.STARTED, None)


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
    both = threading.Barrier(2, timeout=10)

    def handle(_: Delivery) -> End:
        both.wait()
        return DONE

    assert _answer(handle, [_fifo(0, "a"), _fifo(1, "b")]) == []


def test_on_a_standard_queue_a_group_id_orders_nothing() -> None:
    # There it only says between whom to be fair.
    both = threading.Barrier(2, timeout=10)

    def handle(_: Delivery) -> End:
        both.wait()
        return DONE

    records = [
        sqs_record({}, sqs_message_id=str(number), attributes={"MessageGroupId": "a"})
        for number in range(2)
    ]
    assert _answer(handle, records) == []
