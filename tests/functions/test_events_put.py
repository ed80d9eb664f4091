"""What the functions tell on the event bus, of what, and that it fits."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce_core.delivery import SOURCE_MESSAGE_ID
from actonce_core.events import EventBus
from actonce_core.execution import MAX_MESSAGE_ID_BYTES
from actonce_core.message import Message, Refusal, conflict
from actonce_core.reason import Reason
from actonce_core.result import DeliveryResult, Start
from tests.support.deliveries import delivery, text_attribute
from tests.support.snapshots import Snapshot

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


ENDS = {
    "a conflict": DeliveryResult(conflict(MESSAGE, "0" * 64), MESSAGE),
    "no JSON": DeliveryResult(Refusal(Reason.NOT_JSON, "A sentence."), None),
}


def test_events_have_ids_and_reasons_alone(snapshot: Snapshot) -> None:
    """And of a source the id that SQS gave it, and nothing that a producer says."""
    lines = []
    for source in ("0b5b2bd1-5e2c-4f1a-9d57-0d1e6a1f4c11", "<!channel> all of you"):
        bus, attributes = Bus(), {SOURCE_MESSAGE_ID: text_attribute(source)}
        sent = delivery({"secret": 1}, message_attributes=attributes)
        EventBus(bus.connect, "shop").put([(sent, end) for end in ENDS.values()])
        lines += [f"{json.dumps(entry)}\n" for (*entries,) in bus.calls for entry in entries]
    snapshot("events.txt", "".join(lines))


def test_without_an_event_no_client_is_made() -> None:
    def connect() -> Bus:
        raise AssertionError

    ends = [DeliveryResult(Start.STARTED, MESSAGE), DeliveryResult(Start.SUPPRESSED, MESSAGE)]
    EventBus(connect, "shop").put([(delivery("{}"), end) for end in ends])


def test_a_batch_fits_into_one_call() -> None:
    bus = Bus()
    longest = Refusal(Reason.CONFLICT, "", "\x01" * MAX_MESSAGE_ID_BYTES)  # in escapes
    EventBus(bus.connect, "s" * 128).put([(delivery("{}"), DeliveryResult(longest, None))] * 10)

    (entries,) = bus.calls
    assert len(entries) == 10
    assert sum(len(text.encode()) for one in entries for text in one.values()) < LARGEST_ENTRIES


def test_an_event_that_was_not_taken_is_an_error_with_its_code() -> None:
    bus = Bus("ThrottlingException")
    with pytest.raises(ClientError, match="ThrottlingException"):
        EventBus(bus.connect, "shop").put(
            [(delivery("{"), DeliveryResult(conflict(MESSAGE, ""), MESSAGE))]
        )
