"""What lies in UnstartedQueue: deliveries that could not be started, and their way back."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from actonce.queues.scan import Queued, QueueReader, event_form
from actonce.queues.sending import for_fifo
from actonce_core.delivery import (
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Reason, Refusal
from actonce_core.records import timestamp
from actonce_core.unstarted import SOURCE_ATTRIBUTES, has_room, unstarted_attributes, was_refused
from pipeline.sqs import MAX_BYTES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

RECEIVED_TOO_OFTEN = "received_too_often"
"""Reason of a message that SQS moved here itself, after `maxReceiveCount` receives."""

REASONS = (*(str(reason) for reason in Reason), RECEIVED_TOO_OFTEN)

MAX_ATTRIBUTES = 10

Attributes = dict[str, Any]
"""Message attributes by name."""


@dataclass(frozen=True, slots=True)
class Unstarted:
    """An entry of UnstartedQueue.

    Attributes:
        queued: the entry as it lies there.
        reason: why it could not be started, one of `REASONS`.
        message_id: the producer's, as tables and logs keep it; None where it cannot be read.
        source_message_id: SQS's id of the message when its producer sent it.
        receive_count: how often the starter was given it.
        attributes: the producer's own, in a Lambda event's form.
    """

    queued: Queued
    reason: str
    detail: str
    message_id: str | None
    source_message_id: str
    receive_count: int
    attributes: Attributes
    message_group_id: str | None
    id_is_lost: bool

    @property
    def kind(self) -> Mapping[str, str]:
        """What entries are grouped by."""
        return {"reason": self.reason}

    @property
    def called(self) -> str:
        """The entry's own id, which every entry has."""
        return self.sqs_message_id

    @property
    def entry(self) -> str:
        """The same, as what names it among all that waits."""
        return self.sqs_message_id

    @property
    def entries(self) -> list[str]:
        """SQS's ids of all that goes with it: that one."""
        return [self.sqs_message_id]

    @property
    def ids(self) -> Mapping[str, str | None]:
        """What it is named by, for machines."""
        return {"sqs_message_id": self.sqs_message_id, "message_id": self.message_id}

    @property
    def is_conflict(self) -> bool:
        """Whether its message id was first seen with another content."""
        return self.reason == Reason.CONFLICT

    def texts(self) -> list[str]:
        """What can be looked for in it: ids, detail, body."""
        ids = (self.sqs_message_id, self.source_message_id, self.message_id or "")
        return [*ids, self.detail, self.queued.body]

    def without_body(self) -> "Unstarted":
        """As much of it as can be kept of 10,000 entries."""
        return replace(self, queued=replace(self.queued, body=""), attributes={})

    @property
    def sqs_message_id(self) -> str:
        """SQS's id of the entry."""
        return self.queued.sqs_message_id

    @property
    def since(self) -> datetime:
        """When the entry was sent: by the starter, or, if SQS moved it, by its producer (UTC)."""
        return self.queued.sent_at

    def is_named(self, name: str) -> bool:
        """Whether `name` is its message id, one of its SQS ids, or its execution's name.

        The audit calls a delivery without a message id `sqs:` and the id of its source.
        """
        if name in (self.sqs_message_id, self.source_message_id, f"sqs:{self.source_message_id}"):
            return True
        return self.message_id is not None and (
            self.message_id == name or execution_name(self.message_id) == name
        )

    def as_json(self) -> dict[str, Any]:
        """For machines; without body and attributes."""
        return {
            "sqs_message_id": self.sqs_message_id,
            "message_id": self.message_id,
            "reason": self.reason,
            "detail": self.detail,
            "since": timestamp(self.since),
            "receive_count": self.receive_count,
            "source_message_id": self.source_message_id,
        }


def unstarted(queued: Queued, reader: MessageReader) -> Unstarted:
    """Read an entry, whoever put it there."""
    handed_on = _handed_on(queued)
    if handed_on is not None:
        own, receive_count = handed_on
        reason = queued.text_attribute("reason") or ""
        detail = queued.text_attribute("detail") or ""
    else:
        own = {name: event_form(value) for name, value in queued.message_attributes.items()}
        # This reader's own receives count as well: SQS goes on counting after the move.
        receive_count = int(queued.attributes.get("ApproximateReceiveCount", 0))
        reason = RECEIVED_TOO_OFTEN
        detail = "SQS gave it up: the starter received it time and again and never finished."
    source = queued.text_attribute(SOURCE_MESSAGE_ID) or queued.sqs_message_id
    delivery = Delivery(
        sqs_message_id=source,
        body=queued.body,
        attributes=queued.attributes,
        message_attributes=own,
    )
    message = reader.read_whole(delivery)  # a person looks for it by its id
    if (
        handed_on is None
        and isinstance(message, Refusal)
        and not has_room(queued.body, unstarted_attributes(delivery, message))
    ):  # the starter had no room for the reason, so it is read again
        reason, detail = str(message.reason), message.detail
    return Unstarted(
        queued=queued,
        reason=reason,
        detail=detail,
        message_id=message.message_id,
        source_message_id=source,
        receive_count=receive_count,
        attributes={name: value for name, value in own.items() if name != SOURCE_MESSAGE_ID},
        message_group_id=(
            queued.text_attribute(SOURCE_GROUP_ID) or queued.attributes.get("MessageGroupId")
        ),
        # SQS puts the message's id in its place when it moves a message (FIFO).
        id_is_lost=reader.id_is_deduplication_id and SOURCE_DEDUPLICATION_ID not in own,
    )


def _handed_on(queued: Queued) -> tuple[Attributes, int] | None:
    """The producer's attributes and the receives, where the starter wrote them; else None.

    A producer may set attributes of these names itself, to whatever it likes.
    """
    if not was_refused(queued.message_attributes.keys(), queued.text_attribute("reason")):
        return None
    try:
        own = json.loads(queued.text_attribute(SOURCE_ATTRIBUTES) or "{}")
        receive_count = int(queued.text_attribute("receive_count") or 0)
        if not all(isinstance(value["dataType"], str) for value in own.values()):
            return None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    if SOURCE_DEDUPLICATION_ID in queued.message_attributes:
        own[SOURCE_DEDUPLICATION_ID] = event_form(
            queued.message_attributes[SOURCE_DEDUPLICATION_ID]
        )
    return own, receive_count


def entries(queue: QueueReader, reader: MessageReader) -> list[Unstarted]:
    """Everything in UnstartedQueue, oldest first."""
    found = [unstarted(queued, reader) for queued in queue.messages()]
    return sorted(found, key=lambda entry: entry.since)


def send_back(sqs: "SQSClient", requests_queue: str, entry: Unstarted) -> str | None:
    """Send an entry to RequestsQueue as its producer sent it; None, or why that cannot be.

    To be deleted afterwards: a crash between the two leaves the message in both queues, and the
    execution's name makes a duplicate of one of them. The other way round it would be lost.
    """
    if entry.id_is_lost:
        return (
            "Its message id was its deduplication id, which SQS replaced when it moved the "
            "message here: send it anew with the right one."
        )
    attributes = attributes_to_send(entry)
    if attributes is None:
        return "It has no room left for its source_message_id, so it would get a new id."
    sqs.send_message(
        QueueUrl=requests_queue,
        MessageBody=entry.queued.body,
        MessageAttributes=attributes,
        # Its own deduplication id would be dropped for five minutes.
        **for_fifo(requests_queue, entry.message_group_id, entry.sqs_message_id),
    )
    return None


def attributes_to_send(entry: Unstarted) -> Attributes | None:
    """The producer's own attributes and `source_message_id`, in SendMessage's form.

    The latter keeps the id of a message whose id is SQS's, also where SQS moved it here: it may
    have been started before. A message that has no room for one more goes without, unless its id
    depends on it; then None.
    """
    own = {name: sqs_form(value) for name, value in entry.attributes.items()}
    whole: Attributes = own | {
        SOURCE_MESSAGE_ID: {"DataType": "String", "StringValue": entry.source_message_id}
    }
    size = len(entry.queued.body.encode()) + _size(whole.items())
    if len(whole) <= MAX_ATTRIBUTES and size <= MAX_BYTES:
        return whole
    return None if entry.message_id == entry.source_message_id else own


def _size(attributes: Iterable[tuple[str, Mapping[str, Any]]]) -> int:
    """Bytes that count towards a message's size: names, types and values."""
    return sum(
        len(name.encode())
        + len(value["DataType"].encode())
        + len(value.get("StringValue", "").encode())
        + len(value.get("BinaryValue", b""))
        for name, value in attributes
    )


def sqs_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """A message attribute in the form of a Lambda event, in SendMessage's form."""
    form = {"DataType": value["dataType"]}
    if "stringValue" in value:
        form["StringValue"] = value["stringValue"]
    if "binaryValue" in value:
        form["BinaryValue"] = base64.b64decode(value["binaryValue"])
    return form
