"""Sending to a FIFO queue: the order of each message group is kept."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

from actonce.queues.sending import End, Fifo, Line, NotSent, Report, Sender
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal
from pipeline.sqs import batches

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class FifoIds:
    """Where a line's group and deduplication id are, in the form of MessageIdFrom.

    Attributes:
        group: `body:<JMESPath>`, or a text that is every line's group.
        deduplication_id: likewise.
    """

    group: Callable[[str], str | NotSent]
    deduplication_id: Callable[[str], str | NotSent]

    @classmethod
    def parsed(cls, group: str, deduplication_id: str | None) -> "FifoIds":
        """Read them from a command line; without a deduplication id it is the body's SHA-256.

        Raises:
            ValueError: the JMESPath cannot be understood.
        """
        found = _sha256 if deduplication_id is None else _finder(deduplication_id)
        return cls(_finder(group), found)

    def put_on(self, line: Line) -> Line | NotSent:
        """The line with its ids, in a form that SQS takes; or why it has none.

        Source: MessageGroupId and MessageDeduplicationId, SendMessage (128 characters, letters,
        digits and punctuation). Two ids never get one form, see `execution_name`.
        """
        group = self.group(line.body)
        if isinstance(group, NotSent):
            return replace(group, number=line.number)
        found = self.deduplication_id(line.body)
        if isinstance(found, NotSent):
            return replace(found, number=line.number)
        ids = (execution_name(group), execution_name(found))
        return replace(line, fifo=Fifo(MessageGroupId=ids[0], MessageDeduplicationId=ids[1]))


def _sha256(body: str) -> str:
    """What SQS takes, too, where the queue deduplicates by content."""
    return hashlib.sha256(body.encode()).hexdigest()


def _finder(where: str) -> Callable[[str], str | NotSent]:
    if not where.startswith("body:"):
        return lambda _: where
    reader = MessageReader(where)

    def find(body: str) -> str | NotSent:
        message = reader.read(Delivery("", body, {}, {}))
        if isinstance(message, Refusal):
            return NotSent(0, message.detail)
        return message.message_id

    return find


class FifoSender(Sender):
    """Sends one batch after another, with at most one message of each group in a batch.

    Invariant: no message is sent before SQS took the one before it in its group; of a group whose
    message was given up nothing more is sent. Repeated, a message has the same deduplication id;
    what SQS no longer deduplicates after five minutes, the execution's name or the row still does.

    Args:
        sqs: a client.
        queue_url: of a FIFO queue.
        ids: where group and deduplication id are.
        retry_for: as for `Sender`.
    """

    def __init__(
        self, sqs: "SQSClient", queue_url: str, ids: FifoIds, *, retry_for: float = 60.0
    ) -> None:
        super().__init__(sqs, queue_url, retry_for=retry_for)
        self._ids = ids
        self._given_up: set[str] = set()

    def send_all(self, source: IO[bytes], report: Report) -> None:
        """As `Sender.send_all`, in the order of the lines."""
        for batch in batches(self._sendable(source, report), apart=_group):
            groups = {line.number: _group(line) for line in batch}

            def watched(ends: Sequence[End], groups: dict[int, str] = groups) -> None:
                self._given_up |= {groups[end.number] for end in ends if isinstance(end, NotSent)}
                report(ends)

            go: list[Line] = []
            for line in batch:
                if _group(line) not in self._given_up:
                    go.append(line)
                else:
                    report([NotSent(line.number, "A message before it in its group was not sent.")])
            if go:
                self.send(go, watched)

    def prepared(self, line: Line) -> Line | NotSent:
        """With its ids."""
        return self._ids.put_on(line)


def _group(line: Line) -> str:
    return line.fifo["MessageGroupId"]
