"""Sending many entries of UnstartedQueue back at once: those that were listed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actonce.messages.unstarted import Unstarted, unstarted
from actonce.operate.bulk import FAILED, Bulk
from actonce.queues.scan import MAX_ATTRIBUTES, Attributes, Queued, sqs_form, text_form
from actonce.queues.sending import MAX_BYTES, for_fifo
from actonce.stack.aws_errors import may_be_done
from actonce.terminal.errors import Failed
from actonce_core.delivery import SOURCE_MESSAGE_ID
from actonce_core.message import MessageReader

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SENT_BACK = "sent_back"


@dataclass(eq=False)
class BulkSendBack(Bulk[Unstarted]):
    """Sends entries back to RequestsQueue as their producers sent them.

    A message group of a FIFO queue keeps its order: where a message cannot be sent back, those
    behind it stay as well.

    Attributes:
        reader: reads message ids.
    """

    gone = (
        "It was not received: it is no longer in the queue, or is behind a message of its group "
        "that could not be sent back. Look again."
    )

    reader: MessageReader
    _stuck: set[str] = field(default_factory=set, init=False)

    @property
    def queue_url(self) -> str:
        """See `Bulk.queue_url`."""
        return self.stack.unstarted_queue

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        for queued in batch:
            entry = unstarted(queued, self.reader)
            group = entry.message_group_id
            if group in self._stuck:
                text = "A message before it in its group could not be sent back."
                self._end(entry.entry, FAILED, text, happened=False)
                is_sent = False
            elif self._rate_limiter.wait():
                is_sent = self._is_sent_back(entry)
            else:
                return
            if not is_sent and group is not None:
                self._stuck.add(group)
            yield queued, is_sent

    def _is_sent_back(self, entry: Unstarted) -> bool:
        """Send one back, and note the result; sent twice, it is a duplicate of itself."""
        stack = self.stack
        sent = self._tried(entry.entry, lambda: send_back(stack.sqs, stack.requests_queue, entry))
        if sent is None:
            return False
        self._end(entry.entry, SENT_BACK, "Sent back.", happened=True)
        return True

    def _not_known(self, error: Exception) -> str | None:
        if not may_be_done(error):
            return None
        return f"It is not known whether it was sent back ({error}). Send it back again."


def send_back(sqs: "SQSClient", requests_queue: str, entry: Unstarted) -> str:
    """Send an entry to RequestsQueue as its producer sent it; returns its new SQS id.

    The caller deletes it afterwards: a crash in between leaves the message in both queues, and the
    execution's name makes one of them a duplicate. Deleted first, it could be lost.

    Raises:
        Failed: it cannot be sent back with the message id that it had.
    """
    if entry.id_is_lost:
        raise Failed(
            "Its message id was its deduplication id, and SQS replaced that when it moved the "
            "message here. Send the message anew, with the right one."
        )
    attributes = attributes_to_send(entry)
    if attributes is None:
        raise Failed("It has no room left for its source_message_id, so it would get a new id.")
    return sqs.send_message(
        QueueUrl=requests_queue,
        MessageBody=entry.queued.body,
        MessageAttributes=attributes,
        # Its own deduplication id would be dropped for five minutes.
        **for_fifo(requests_queue, entry.message_group_id, entry.entry),
    )["MessageId"]


def attributes_to_send(entry: Unstarted) -> Attributes | None:
    """The producer's own attributes and the entry's first SQS id; see `attributes_again`."""
    ids = {SOURCE_MESSAGE_ID: entry.source_message_id}
    return attributes_again(entry.queued.body, entry.attributes, ids, entry.message_id)


def attributes_again(
    body: str,
    own: Mapping[str, Any],
    ids: Mapping[str, str | None],
    message_id: str | None,
) -> Attributes | None:
    """The attributes to send a message again with: its own, and the ids that SQS gave it first.

    SQS gives it new ones. The id that its message id comes from must go with it, for it may have
    been started before; the other goes where there is room.

    Args:
        body: of the message.
        own: its producer's attributes, in a Lambda event's form.
        ids: SQS's first ids, by the names of their attributes.
        message_id: its message id.

    Returns:
        In SendMessage's form; None: there is no room for the id that its message id comes from.
    """
    attributes: Attributes = {name: sqs_form(value) for name, value in own.items()}
    for name, value in sorted(ids.items(), key=lambda item: item[1] != message_id):
        if value is None:
            continue
        extended = attributes | {name: text_form(value)}
        if (
            len(extended) <= MAX_ATTRIBUTES
            and len(body.encode()) + _size(extended.items()) <= MAX_BYTES
        ):
            attributes = extended
        elif value == message_id:
            return None
    return attributes


def _size(attributes: Iterable[tuple[str, Mapping[str, Any]]]) -> int:
    """Bytes that count towards a message's size: names, types and values."""
    return sum(
        len(name.encode())
        + len(value["DataType"].encode())
        + len(value.get("StringValue", "").encode())
        + len(value.get("BinaryValue", b""))
        for name, value in attributes
    )
