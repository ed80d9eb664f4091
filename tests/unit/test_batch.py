"""A batch of deliveries: what is handled side by side, and what in turn."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from actonce_core import batch
from actonce_core.batch import Batch
from actonce_core.delivery import (
    EFFECT_BACKOFF_GROWTH,
    LONGEST_BACKOFF_SECONDS,
    START_BACKOFF_GROWTH,
    Delivery,
    seconds_until_back,
)
from actonce_core.start import End, Start
from tests.support.deliveries import sqs_record

DONE = End(Start.STARTED, None)


class Sqs:
    """SQS's edge; keeps what is to be visible again, and when."""

    def __init__(self) -> None:
        self.calls: list[dict[str, int]] = []

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Any) -> None:  # noqa: N803
        assert QueueUrl == "url"
        assert len({one["Id"] for one in Entries}) == len(Entries)
        self.calls.append({one["ReceiptHandle"]: one["VisibilityTimeout"] for one in Entries})


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch.logger, "error", lambda *_, **__: None)
    monkeypatch.setattr(batch.logger, "info", lambda *_, **__: None)
    monkeypatch.setattr(batch, "_count", lambda *_: None)


def _answer(handle: Callable[[Delivery], End], records: list[dict[str, Any]]) -> list[str]:
    answer = Batch(handle).handle({"Records": records})
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
    sqs: Any = Sqs()

    def handle(delivery: Delivery) -> End:
        return DONE if delivery.sqs_message_id == "1" else _failing(delivery)

    whole = Batch(handle, sqs, "url", chance=lambda: 1.0)
    answer = whole.handle({"Records": [_received(0, 1), _received(1, 1), _received(2, 4)]})
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["0", "2"]
    assert sqs.calls == [{"handle-0": 4, "handle-2": 6}]


def test_a_batch_without_a_failure_calls_nobody() -> None:
    sqs: Any = Sqs()
    Batch(lambda _: DONE, sqs, "url").handle({"Records": [_received(0, 1)]})
    assert sqs.calls == []


def test_where_that_fails_too_it_comes_back_by_its_visibility_timeout() -> None:
    class Down:
        def change_message_visibility_batch(self, **_: Any) -> None:
            raise EndpointConnectionError(endpoint_url="https://sqs")

    sqs: Any = Down()
    answer = Batch(_failing, sqs, "url").handle({"Records": [_received(0, 1)]})
    assert len(answer["batchItemFailures"]) == 1


GROWTHS = st.sampled_from([START_BACKOFF_GROWTH, EFFECT_BACKOFF_GROWTH])


@given(st.integers(1, 2000), st.floats(0, 1), GROWTHS)
def test_a_later_receive_never_comes_back_sooner(
    receives: int, chance: float, growth: float
) -> None:
    sooner, later = (seconds_until_back(n, chance, growth) for n in (receives, receives + 1))
    assert sooner <= later <= LONGEST_BACKOFF_SECONDS


@given(st.integers(5, 60), st.floats(0, 1))
def test_a_wait_is_a_small_part_of_how_long_the_message_has_waited(
    receives: int, chance: float
) -> None:
    waited = sum(seconds_until_back(n, chance, START_BACKOFF_GROWTH) for n in range(1, receives))
    assert seconds_until_back(receives, chance, START_BACKOFF_GROWTH) <= 0.1 * waited + 4.001


@given(st.floats(0, 1), GROWTHS)
def test_it_begins_with_seconds_and_ends_with_a_quarter_of_an_hour(
    chance: float, growth: float
) -> None:
    assert 2 < seconds_until_back(1, chance, growth) <= 4
    assert 600 <= seconds_until_back(60, chance, growth) <= 900
    assert sum(seconds_until_back(n, chance, growth) for n in range(1, 1000)) > 6 * 24 * 3600
