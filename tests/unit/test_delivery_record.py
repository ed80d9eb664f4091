"""A delivery's line in the records: how it ended, and nothing of what it carries."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import assume, given
from hypothesis import strategies as st

from actonce_core.delivery import Delivery
from actonce_core.message import Message, MessageReader, Reason, Refusal
from actonce_core.records import delivery_record
from actonce_core.start import End, Start
from tests.support.deliveries import delivery
from tests.support.moto_aws import NOW

MESSAGE = Message("order 17", '{"secret":1}', "a" * 64)
OF_EVERY_DELIVERY: dict[str, Any] = {
    "stream": "deliveries",
    "version": 1,
    "at": "2026-01-31T09:30:00.000Z",
    "sqs_message_id": "sqs-1",
    "receive_count": 1,
    "sent_at": "2026-01-01T00:00:00.000Z",
    "first_received_at": "2026-01-01T00:00:00.123Z",
}
OF_THE_MESSAGE = {
    "message_id": "order 17",
    "fingerprint": "a" * 64,
    "execution_name": MESSAGE.execution_name,
}
REFUSED = {"end": "refused", "detail": "A sentence."}
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "X")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (End(Start.STARTED, MESSAGE), OF_THE_MESSAGE | {"end": "started"}),
        (End(Start.SUPPRESSED, MESSAGE), OF_THE_MESSAGE | {"end": "suppressed"}),
        (
            End(Refusal(Reason.CONFLICT, "A sentence.", "order 17"), MESSAGE),
            OF_THE_MESSAGE | REFUSED | {"reason": "conflict"},
        ),
        (End(Refusal(Reason.NOT_JSON, "A sentence."), None), REFUSED | {"reason": "not_json"}),
        # A failure is recorded by its name alone.
        (THROTTLED, {"end": "failed", "error": "ClientError: ThrottlingException"}),
        (RuntimeError("the body is {secret}"), {"end": "failed", "error": "RuntimeError"}),
    ],
)
def test_a_delivery_is_recorded_by_its_end(end: Any, expected: dict[str, Any]) -> None:
    record = delivery_record(delivery({"secret": 1}), end, NOW)
    assert record == OF_EVERY_DELIVERY | expected


def test_an_error_of_a_library_is_no_address_and_times_that_sqs_did_not_give_are_none() -> None:
    lost = ReadTimeoutError(endpoint_url="https://secret")
    record = delivery_record(Delivery("sqs-1", "{}", {}, {}), lost, NOW)
    assert record["error"].endswith("ReadTimeoutError")
    assert "secret" not in json.dumps(record)
    assert (record["sent_at"], record["first_received_at"]) == (None, None)
    assert record["receive_count"] == 1


@given(st.text('abc{}[]",:0é\\', min_size=12))
def test_a_body_that_is_no_json_is_in_no_record(body: str) -> None:
    assume(body.strip("0"))
    read = MessageReader().read(delivery(body))
    assume(isinstance(read, Refusal))
    assert isinstance(read, Refusal)
    record = delivery_record(delivery(body), End(read, None), NOW)
    written = json.dumps(record, ensure_ascii=False)
    assert body not in written
    assert json.dumps(body)[1:-1] not in written


@given(st.text("klmé", min_size=1), st.integers(10**20, 10**30))
def test_nothing_of_a_message_but_its_id_is_in_its_record(text: str, number: int) -> None:
    name, value = f"XX{text}XX", f"YY{text}YY"
    sent = delivery({"message_id": "order 17", name: [value, number]})
    message = MessageReader().read(sent)
    assert isinstance(message, Message)
    for outcome in (*Start, Refusal(Reason.CONFLICT, "A sentence.", "order 17")):
        written = json.dumps(delivery_record(sent, End(outcome, message), NOW), ensure_ascii=False)
        assert not any(part in written for part in (name, value, str(number)))
