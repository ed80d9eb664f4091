"""Many entries of UnstartedQueue at once, on their way back: those that were listed before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actonce.messages.unstarted import Unstarted, unstarted
from actonce.operate.bulk import FAILED, Bulk
from actonce.queues.scan import MAX_ATTRIBUTES, Attributes, Queued, sqs_form, text_form
from actonce.queues.sending import for_fifo
from actonce.stack.aws_errors import may_be_done
from actonce.terminal.errors import Failed
from actonce_core.delivery import SOURCE_MESSAGE_ID
from actonce_core.message import MessageReader
from pipeline.sqs import MAX_BYTES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SENT_BACK = "sent_back"


@dataclass(eq=False)
class Redriving(Bulk[Unstarted]):
    """Sends entries back to RequestsQueue as their producers sent them.

    Of a FIFO queue each message group keeps its order: where one cannot be sent back, what stands
    behind it stays as well.

    Attributes:
        reader: reads message ids.
    """

    gone = (
        "It was not received: it is no longer in the queue, or is behind a message of its group "
        "that could not be sent back. Look again."
    )

    reader: MessageReader
    _stuck: set[str] = field(default_factory=set, init=False)

    def _queue(self) -> str:
        return self.stack.unstarted_queue

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        for queued in batch:
            entry = unstarted(queued, self.reader)
            group = entry.message_group_id
            if group in self._stuck:
                said = "A message before it in its group could not be sent back."
                self._end(entry.entry, FAILED, said, happened=False)
                is_sent = False
            elif self._rate_limiter.wait():
                is_sent = self._is_sent_back(entry)
            else:
                return
            if not is_sent and group is not None:
                self._stuck.add(group)
            yield queued, is_sent

    def _is_sent_back(self, entry: Unstarted) -> bool:
        """Send one back, and note what became of it; sent twice, it is a duplicate of itself."""
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
    """Send an entry to RequestsQueue as its producer sent it; SQS's new id of it.

    To be deleted afterwards: a crash between the two leaves the message in both queues, and the
    execution's name makes a duplicate of one of them. The other way round it would be lost.

    Raises:
        Failed: it cannot be sent back with the id that it had.
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
    """The producer's own attributes and `source_message_id`, in SendMessage's form.

    The latter keeps the id of a message whose id is SQS's, also where SQS moved it here: it may
    have been started before. A message that has no room for one more goes without, unless its id
    depends on it; then None.
    """
    own = {name: sqs_form(value) for name, value in entry.attributes.items()}
    whole: Attributes = own | {SOURCE_MESSAGE_ID: text_form(entry.source_message_id)}
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
