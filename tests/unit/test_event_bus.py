"""What the functions tell on the event bus, of what, and that it fits."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce_core.delivery import SOURCE_MESSAGE_ID
from actonce_core.events import EventBus
from actonce_core.execution import MAX_MESSAGE_ID_BYTES
from actonce_core.message import Message, Reason, Refusal, conflict
from actonce_core.start import End, Start
from tests.support.deliveries import delivery, text_attribute

LARGEST_ENTRIES = 256 * 1024
"""Bytes that PutEvents takes at once ("Amazon EventBridge quotas", which has raised it since)."""

MESSAGE = Message("order 17", '{"secret": 1}', "f" * 64)


class Bus:
    """EventBridge's client; keeps what is put."""

    def __init__(self, *error_codes: str) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self.error_codes = error_codes

    def put_events(self, *, Entries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
        self.calls.append([dict(entry) for entry in Entries])
        answers = [{"ErrorCode": code} for code in self.error_codes]
        return {"FailedEntryCount": len(answers), "Entries": [{"EventId": "e"}, *answers]}

    def connect(self) -> "Bus":
        return self


def told(*ends: End) -> list[tuple[str, str, Any]]:
    """Source, detail-type and detail of each event of a batch."""
    bus = Bus()
    EventBus(bus.connect, "shop").tell([(delivery({"secret": 1}), end) for end in ends])
    return [
        (entry["Source"], entry["DetailType"], json.loads(entry["Detail"]))
        for call in bus.calls
        for entry in call
    ]


def test_what_was_refused_is_told_with_ids_and_its_reason_alone() -> None:
    refused = conflict(MESSAGE, "0" * 64), Refusal(Reason.NOT_JSON, "A sentence.")
    ids = {"message_id": "order 17", "execution_name": MESSAGE.execution_name}
    same = {"version": 1, "stack": "shop", "sqs_message_id": "sqs-1"}

    assert told(End(refused[0], MESSAGE), End(refused[1], None)) == [
        ("actonce", "Delivery Refused", {**same, **ids, "reason": "conflict"}),
        ("actonce", "Delivery Refused", {**same, **dict.fromkeys(ids), "reason": "not_json"}),
    ]


def test_a_dead_letter_behind_a_lock_is_told_as_the_state_machine_tells_its_own() -> None:
    letter = {
        "version": 1,
        "message_id": "m",
        "execution_name": "m",
        "reason": "rejected",
        "error": "Rejected",
        "cause": "no such practice",
        "rounds": 1,
        "message": {},
    }
    kept = {name: letter[name] for name in ("message_id", "execution_name", "reason", "error")}

    assert told(End(Start.STARTED, MESSAGE, letter)) == [
        ("actonce", "Decision Needed", {"version": 1, "stack": "shop", **kept, "rounds": 1})
    ]


def test_of_what_goes_well_nobody_is_told_and_no_client_is_made() -> None:
    def connect() -> Bus:
        raise AssertionError

    ends = [End(Start.STARTED, MESSAGE), End(Start.SUPPRESSED, MESSAGE)]
    EventBus(connect, "shop").tell([(delivery("{}"), end) for end in ends])


@pytest.mark.parametrize(
    ("source", "told_as"),
    [
        ("0b5b2bd1-5e2c-4f1a-9d57-0d1e6a1f4c11", "0b5b2bd1-5e2c-4f1a-9d57-0d1e6a1f4c11"),
        ("<!channel> all of you", "sqs-1"),
    ],
)
def test_a_source_is_told_by_the_id_that_sqs_gave_it_and_by_nothing_that_a_producer_says(
    source: str, told_as: str
) -> None:
    bus = Bus()
    sent = delivery("{", message_attributes={SOURCE_MESSAGE_ID: text_attribute(source)})
    EventBus(bus.connect, "shop").tell([(sent, End(Refusal(Reason.NOT_JSON, ""), None))])
    assert json.loads(bus.calls[0][0]["Detail"])["sqs_message_id"] == told_as


@pytest.mark.parametrize(
    "longest",
    [
        # In escapes, the longest of them.
        lambda: Refusal(Reason.CONFLICT, "", "\x01" * MAX_MESSAGE_ID_BYTES),
        # Of an attribute, of a body that was not read: nobody has looked at it.
        lambda: Refusal(Reason.TOO_LARGE, "", "x" * 700_000),
    ],
    ids=["escapes", "unread"],
)
def test_a_batch_fits_into_one_call(longest: Callable[[], Refusal]) -> None:
    bus = Bus()
    EventBus(bus.connect, "s" * 128).tell([(delivery("{}"), End(longest(), None))] * 10)

    (entries,) = bus.calls
    assert len(entries) == 10
    assert sum(len(text.encode()) for one in entries for text in one.values()) < LARGEST_ENTRIES


def test_an_event_that_was_not_taken_is_an_error_with_its_code() -> None:
    bus = Bus("ThrottlingException")
    with pytest.raises(ClientError, match="ThrottlingException"):
        EventBus(bus.connect, "shop").tell([(delivery("{"), End(conflict(MESSAGE, ""), MESSAGE))])
