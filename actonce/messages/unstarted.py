"""Entries of UnstartedQueue: deliveries that could not be started."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from actonce.messages.filters import Entry, EntryFilter, Listing, excerpt
from actonce.messages.history import Execution, find_execution
from actonce.queues.scan import Attributes, Queued, QueueReader, event_form
from actonce.stack.clients import Stack
from actonce_core.delivery import (
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal
from actonce_core.reason import Reason
from actonce_core.records import timestamp
from actonce_core.unstarted import SOURCE_ATTRIBUTES, has_room, unstarted_attributes, was_refused

RECEIVED_TOO_OFTEN = "received_too_often"
"""The reason of a message that SQS moved here itself, after `maxReceiveCount` receives."""

EXPLANATIONS: Mapping[str, str] = {
    **{reason.value: reason.explanation for reason in Reason},
    RECEIVED_TOO_OFTEN: "the starter received it time and again and never finished",
}
REASONS = tuple(EXPLANATIONS)
"""Why a delivery was not started; `EXPLANATIONS` explains each."""

MOST_KEPT = 32 * 1024 * 1024
"""Most characters of whole bodies that are kept in memory."""


@dataclass(frozen=True, slots=True)
class Unstarted(Entry):
    """An entry of UnstartedQueue.

    Attributes:
        reason: why it could not be started, one of `REASONS`.
        message_id: the producer's, as tables and logs keep it; None where it cannot be read.
        source_message_id: SQS's id of the message when its producer sent it.
        excerpt: a line of its body.
        receive_count: how often the starter was given it.
        attributes: the producer's own, in a Lambda event's form.
    """

    reason: str
    detail: str
    message_id: str | None
    source_message_id: str
    excerpt: str
    receive_count: int
    attributes: Attributes
    message_group_id: str | None
    id_is_lost: bool

    @property
    def kind(self) -> Mapping[str, str]:
        """See `Entry`."""
        return {"reason": self.reason}

    @property
    def ids(self) -> Mapping[str, str | None]:
        """See `Entry`."""
        return {"sqs_message_id": self.entry, "message_id": self.message_id}

    @property
    def is_conflict(self) -> bool:
        """Whether its message id was first seen with another content."""
        return self.reason == Reason.CONFLICT

    def texts(self) -> list[str]:
        """The texts that `EntryFilter.match` searches."""
        ids = (self.entry, self.source_message_id, self.message_id or "")
        return [*ids, self.detail, self.queued.body]

    def is_named(self, name: str) -> bool:
        """Whether `name` is its message id, one of its SQS ids, or its execution's name.

        The audit calls a delivery without a message id `sqs:` and the id of its source.
        """
        if name in (self.entry, self.source_message_id, f"sqs:{self.source_message_id}"):
            return True
        return self.message_id is not None and (
            self.message_id == name or execution_name(self.message_id) == name
        )

    def as_json(self) -> dict[str, Any]:
        """For machines; without body and attributes."""
        return {
            **self.ids,
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
        excerpt=excerpt(queued.body),
        receive_count=receive_count,
        attributes={name: value for name, value in own.items() if name != SOURCE_MESSAGE_ID},
        message_group_id=(
            queued.text_attribute(SOURCE_GROUP_ID) or queued.attributes.get("MessageGroupId")
        ),
        # SQS puts the message's id in its place when it moves a message (FIFO).
        id_is_lost=reader.id_is_deduplication_id and SOURCE_DEDUPLICATION_ID not in own,
    )


def _handed_on(queued: Queued) -> tuple[Attributes, int] | None:
    """The producer's attributes and the receive count, if the starter wrote them; else None.

    A producer may set attributes of these names itself, to anything.
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


def find_by_message_id(queue: QueueReader, reader: MessageReader, name: str) -> list[Unstarted]:
    """The entries of UnstartedQueue with a name (`Unstarted.is_named`), whole, the oldest first."""
    read = (unstarted(queued, reader) for queued in queue.messages())
    return sorted((entry for entry in read if entry.is_named(name)), key=lambda entry: entry.since)


def find_first_execution(stack: Stack, message_id: str) -> Execution | str:
    """The execution of a conflict's id; or a sentence on why its content cannot be compared."""
    try:
        execution = find_execution(stack, execution_name(message_id))
    except ClientError as error:
        return f"What came first could not be read: {error}"
    return execution or "Step Functions has no execution of what came first to compare it with."


def list_unstarted(
    queue: QueueReader,
    reader: MessageReader,
    entry_filter: EntryFilter,
    tell: Callable[[int], None] = lambda _: None,
    *,
    whole: bool = False,
) -> Listing[Unstarted]:
    """Read all of UnstartedQueue and choose entries.

    `whole`: whether to keep bodies, up to `MOST_KEPT` characters together.
    """
    found: list[Unstarted] = []
    kept = 0
    for queued in queue.messages(tell):
        entry = unstarted(queued, reader)
        if entry_filter.matches(entry.texts()):
            kept += len(queued.body)
            bodiless = replace(entry, queued=replace(queued, body=""), attributes={})
            found.append(entry if whole and kept <= MOST_KEPT else bodiless)
    return Listing(entry_filter.of(found), queue.in_flight_elsewhere)
