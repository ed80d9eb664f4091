"""Sending to a FIFO queue: the order of each message group is kept."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from actonce.queues.sending import End, Fifo, Line, NotSent, Report, Sender, batches
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


Group = Callable[[str], str | NotSent]
"""Finds a message group by a line's text; or says why there is none, of line 0."""


def group_named(where: str) -> Group:
    """A group as a command line names it: `body:<JMESPath>`, or a text that is every line's.

    Raises:
        ValueError: the JMESPath cannot be understood.
    """
    if not where.startswith("body:"):
        return lambda _: where
    reader = MessageReader(where)

    def find(body: str) -> str | NotSent:
        message = reader.read(Delivery("", body, {}, {}))
        if isinstance(message, Refusal):
            return NotSent(0, message.detail)
        return message.message_id

    return find


def of_content(body: str) -> str:
    """SHA-256: what SQS takes, too, where the queue deduplicates by content."""
    return hashlib.sha256(body.encode()).hexdigest()


class FifoSender(Sender):
    """Sends one batch after another, with at most one message of each group in a batch.

    Invariant: no message is sent before SQS took the one before it in its group; of a group whose
    message was given up nothing more is sent. Repeated, a message has the same deduplication id;
    what SQS no longer deduplicates after five minutes, the execution's name or the row still does.

    Args:
        sqs: a client.
        queue_url: of a FIFO queue.
        group: finds a line's message group.
        deduplication_id: makes a line's, of at most 128 letters and digits; with another one the
            same line is not deduplicated by SQS.
        rate: as for `Sender`.
        retry_for: as for `Sender`.
    """

    def __init__(  # noqa: PLR0913 - all but the first three have names
        self,
        sqs: "SQSClient",
        queue_url: str,
        group: Group,
        *,
        deduplication_id: Callable[[str], str] = of_content,
        rate: float | None = None,
        retry_for: float = 60.0,
    ) -> None:
        super().__init__(sqs, queue_url, rate=rate, retry_for=retry_for)
        self._group_of = group
        self._deduplication_id = deduplication_id
        self._given_up: set[str] = set()

    def send_all(self, lines: Iterable[Line | NotSent], report: Report) -> None:
        """As `Sender.send_all`, in the order of the lines."""
        for batch in batches(self._sendable(lines, report), self._most, apart=_group):
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
        """With its ids, the group's in a form that SQS takes: two never get one form.

        Source: MessageGroupId, SendMessage (128 characters, letters, digits and punctuation).
        """
        group = self._group_of(line.body)
        if isinstance(group, NotSent):
            return replace(group, number=line.number)
        ids = (execution_name(group), self._deduplication_id(line.body))
        return replace(line, fifo=Fifo(MessageGroupId=ids[0], MessageDeduplicationId=ids[1]))


def _group(line: Line) -> str:
    return line.fifo["MessageGroupId"]
