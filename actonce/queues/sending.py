"""Sending the lines of a file to RequestsQueue, each as one message, verbatim."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, TypedDict

from actonce.terminal.errors import Failed
from pipeline.sqs import MAX_BYTES, Answered, BatchSender, batches

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCHES_IN_FLIGHT = 8

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_READ = MAX_BYTES + len(BYTE_ORDER_MARK) + len(b"\r\n")

_NOT_TAKEN_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Fifo(TypedDict, total=False):
    """What SendMessage needs besides on a FIFO queue."""

    MessageGroupId: str
    MessageDeduplicationId: str


def for_fifo(queue_url: str, group: str | None, deduplication_id: str) -> Fifo:
    """What a message needs besides on this queue; nothing on a standard one."""
    if not queue_url.endswith(".fifo"):
        return {}
    return {"MessageGroupId": group or "none", "MessageDeduplicationId": deduplication_id}


@dataclass(frozen=True, slots=True)
class Line:
    """A message to send: its line's number (from 1), its text, its size in bytes of UTF-8."""

    number: int
    body: str
    size: int
    fifo: Fifo = field(default_factory=Fifo)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that SQS took; `at` is when its answer came (UTC)."""

    line: Line
    sqs_message_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class NotSent:
    """A line that was not sent, and why in one sentence."""

    number: int
    reason: str


End = Accepted | NotSent
Report = Callable[[Sequence[End]], None]
"""Told of lines that came to their end. Called from several threads, one call per batch."""


def read_lines(source: IO[bytes]) -> Iterator[Line | NotSent]:
    """Read the messages out of a stream; holds one line at a time, and never more than 1 MiB of it.

    A line is what ends with a line feed, or a carriage return and a line feed; that end, and a byte
    order mark before the first line, are the file's and not the message's. Blank lines are none.
    """
    number = 0
    while raw := source.readline(_LONGEST_READ):
        number += 1
        size = len(raw)
        if size == _LONGEST_READ and not raw.endswith(b"\n"):
            while rest := source.readline(MAX_BYTES):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield _too_long(number, size)
            continue
        text = raw.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if text.strip():
            yield _checked(number, text)


def _checked(number: int, text: bytes) -> Line | NotSent:
    if len(text) > MAX_BYTES:
        return _too_long(number, len(text))
    try:
        body = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return NotSent(number, f"It is not UTF-8: byte {error.start + 1} cannot be read.")
    bad = _NOT_TAKEN_BY_SQS.search(body)
    if bad:
        return NotSent(
            number,
            f"SQS does not take the character U+{ord(bad[0]):04X}, number {bad.start() + 1} of it.",
        )
    return Line(number, body, len(text))


def _too_long(number: int, size: int) -> NotSent:
    return NotSent(number, f"It has {size:,} bytes; SQS takes at most {MAX_BYTES:,}.")


class NoAnswer(Failed):
    """SQS, or the way to it, is gone: what is left has nowhere to go."""


class Sender:
    """Sends lines to a queue; see `BatchSender` for what is sent again.

    Args:
        retry_for: seconds after which what a batch could not send is given up.
    """

    def __init__(self, sqs: "SQSClient", queue_url: str, *, retry_for: float = 60.0) -> None:
        self._retry_for = retry_for
        self._stop = threading.Event()
        self._sender: BatchSender[Line] = BatchSender(
            sqs, queue_url, retry_for=retry_for, stopping=self._stop
        )

    def send_all(self, source: IO[bytes], report: Report) -> None:
        """Send every line of the stream, several batches side by side, in no particular order.

        Raises:
            ClientError: nothing can be sent (no such queue, not allowed).
            NoAnswer: nobody answers any more. What was accepted until then has been reported.
        """
        pending: set[Future[None]] = set()
        with ThreadPoolExecutor(BATCHES_IN_FLIGHT, thread_name_prefix="send") as threads:
            try:
                for batch in batches(self._sendable(source, report)):
                    if len(pending) == BATCHES_IN_FLIGHT:
                        pending = _settle(pending)
                    pending.add(threads.submit(self.send, batch, report))
                while pending:
                    pending = _settle(pending)
            except BaseException:
                self._stop.set()
                raise

    def _sendable(self, source: IO[bytes], report: Report) -> Iterator[Line]:
        for read in read_lines(source):
            line = self.prepared(read) if isinstance(read, Line) else read
            if isinstance(line, Line):
                yield line
            else:
                report([line])

    def prepared(self, line: Line) -> Line | NotSent:
        """The line as it is sent, or why it is not."""
        return line

    def send(self, batch: Sequence[Line], report: Report) -> None:
        """Send one batch until each of its messages came to its end.

        Raises:
            ClientError: nothing can be sent.
            NoAnswer: SQS answered nobody in all that time, so the next batch will fare no better.
        """
        began = time.monotonic()
        reasons: list[str] = []

        def told(answered: Answered[Line]) -> None:
            at = datetime.now(UTC)
            ends: list[End] = [Accepted(line, its_id, at) for line, its_id in answered.accepted]
            ends += [NotSent(line.number, reason) for line, reason in answered.refused]
            left.extend(answered.again)
            reasons.extend(reason for _, reason in answered.again)
            if ends:
                report(ends)

        left: list[tuple[Line, str]] = []
        attempts = self._sender.send(batch, told)
        if left:
            report(
                [
                    NotSent(line.number, f"Given up after {attempts} attempt(s): {reason}")
                    for line, reason in left
                ]
            )
            if self._sender.answered_at < began and not self._stop.is_set():
                raise NoAnswer(f"SQS has not answered for {self._retry_for:g} s: {reasons[0]}")


def _settle(pending: set[Future[None]]) -> set[Future[None]]:
    """Wait for at least one; raise what it raised."""
    done, pending = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return pending
