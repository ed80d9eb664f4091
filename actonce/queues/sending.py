"""Sending the lines of a file to RequestsQueue, each as one message, verbatim."""

import hashlib
import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final, TypedDict

from botocore import exceptions as botocore_exceptions
from botocore.exceptions import ClientError

from actonce.queues.rate import RateLimiter
from actonce.terminal.errors import Failed
from actonce_core.delivery import Delivery
from actonce_core.execution import execution_name
from actonce_core.message import MessageReader, Refusal
from actonce_core.transient import error_code, is_transient, is_transient_code

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_BATCH: Final = 10
"""Most messages of a batch (SQS: SendMessageBatch)."""

MAX_BYTES: Final = 1024 * 1024
"""Largest message, and largest sum of a batch's messages, in bytes of UTF-8 (SQS: "Quotas")."""

BATCHES_IN_FLIGHT = 8

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_READ = MAX_BYTES + len(BYTE_ORDER_MARK) + len(b"\r\n")

_NOT_TAKEN_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_ANSWER: Final = (botocore_exceptions.ConnectionError, botocore_exceptions.HTTPClientError)
_ONE_OF_THE_MESSAGES: Final = frozenset(
    {"BatchRequestTooLong", "InvalidMessageContents", "InvalidParameterValue"}
)


class Fifo(TypedDict, total=False):
    """The parameters of SendMessage that only a FIFO queue needs."""

    MessageGroupId: str
    MessageDeduplicationId: str


def for_fifo(queue_url: str, group: str | None, deduplication_id: str) -> Fifo:
    """The parameters that a FIFO queue needs; none for a standard queue."""
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


LineResult = Accepted | NotSent
Report = Callable[[Sequence[LineResult]], None]
"""Called with the results of lines, from several threads, once per batch."""


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


Group = Callable[[str], str | Refusal]
"""Finds the message group of a line by its text; or says why it has none."""


def parse_group(where: str) -> Group:
    """A group as a command line names it: `body:<JMESPath>`, or a text that is every line's.

    Raises:
        ValueError: the JMESPath cannot be understood.
    """
    if not where.startswith("body:"):
        return lambda _: where
    reader = MessageReader(where)

    def find(body: str) -> str | Refusal:
        message = reader.read(Delivery("", body, {}, {}))
        return message if isinstance(message, Refusal) else message.message_id

    return find


def _content_hash(body: str) -> str:
    """SHA-256: what SQS takes, too, where the queue deduplicates by content."""
    return hashlib.sha256(body.encode()).hexdigest()


def with_fifo_ids(
    lines: Iterable[Line | NotSent],
    group_of: Group,
    deduplication_id: Callable[[str], str] = _content_hash,
) -> Iterator[Line | NotSent]:
    """The lines with the ids that a FIFO queue asks for; a line without a group is not sent.

    A group is sent in a form that SQS takes, and two never get the same. `deduplication_id` makes a
    line's, of at most 128 letters and digits.
    """
    for line in lines:
        group = group_of(line.body) if isinstance(line, Line) else ""
        if isinstance(line, NotSent):
            yield line
        elif isinstance(group, Refusal):
            yield NotSent(line.number, group.detail.replace("message id", "message group", 1))
        else:
            ids = (execution_name(group), deduplication_id(line.body))
            yield replace(line, fifo=Fifo(MessageGroupId=ids[0], MessageDeduplicationId=ids[1]))


def batches(
    lines: Iterable[Line], most: int = MAX_BATCH, apart: Callable[[Line], object] = id
) -> Iterator[list[Line]]:
    """Put lines into batches, in order, that SQS takes: 1 MiB in total.

    A batch has at most one of the lines for which `apart` returns the same.
    """
    batch: list[Line] = []
    size = 0
    for line in lines:
        is_full = len(batch) == most or size + line.size > MAX_BYTES
        if batch and (is_full or apart(line) in map(apart, batch)):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line.size
    if batch:
        yield batch


class NoAnswer(Failed):
    """SQS cannot be reached, so the rest cannot be sent."""


@dataclass(slots=True)
class _BatchResult:
    """The result of one attempt: lines with their SQS ids, or why they were not taken."""

    accepted: list[tuple[Line, str]] = field(default_factory=list)
    refused: list[tuple[Line, str]] = field(default_factory=list)
    again: list[tuple[Line, str]] = field(default_factory=list)
    any_answer: bool = True


class Sender:
    """Sends lines to a queue, and again where SQS was too busy, with back-off and full jitter.

    A message may be in the queue twice if SQS took it and its answer was lost. The execution's name
    makes one of them a duplicate.

    Args:
        sqs: a client.
        queue_url: where to send.
        rate: most messages a second, attempts counted; None: as many as possible.
        retry_for: seconds after which a batch gives up what it could not send.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        queue_url: str,
        *,
        rate: float | None = None,
        retry_for: float = 60.0,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._retry_for = retry_for
        self._stop = threading.Event()
        self._rate_limiter = RateLimiter(rate, self._stop.wait)
        self._most = MAX_BATCH if rate is None else max(1, min(MAX_BATCH, int(rate)))
        self._answered_at = -math.inf

    def send_all(self, lines: Iterable[Line | NotSent], report: Report) -> None:
        """Send every line: to a FIFO queue in order, to a standard one several batches at a time.

        However this ends, nothing is sent any more once the batches in flight are answered. For a
        FIFO queue the lines are as `with_fifo_ids` gives them.

        Raises:
            ClientError: nothing can be sent (no such queue, not allowed).
            NoAnswer: nobody answers any more. What was accepted until then has been reported.
        """
        if self._queue_url.endswith(".fifo"):
            self._send_in_order(lines, report)
            return
        pending: set[Future[None]] = set()
        with ThreadPoolExecutor(BATCHES_IN_FLIGHT, thread_name_prefix="send") as threads:
            try:
                for batch in batches(_sendable(lines, report), self._most):
                    if len(pending) == BATCHES_IN_FLIGHT:
                        pending = _settle(pending)
                    pending.add(threads.submit(self.send, batch, report))
                while pending:
                    pending = _settle(pending)
            except BaseException:
                self._stop.set()
                raise

    def _send_in_order(self, lines: Iterable[Line | NotSent], report: Report) -> None:
        """Send one batch after another, with at most one message of each group in a batch.

        Invariant: no message is sent before SQS took the one before it in its group; of a group
        whose message was given up nothing more is sent. Repeated, a message has the same
        deduplication id; what SQS no longer deduplicates after five minutes, the execution's name
        or the row still does.
        """
        given_up: set[str] = set()
        groups: dict[int, str] = {}

        def watched(results: Sequence[LineResult]) -> None:
            given_up.update(
                groups[result.number] for result in results if isinstance(result, NotSent)
            )
            report(results)

        for batch in batches(_sendable(lines, report), self._most, apart=_group):
            groups = {line.number: _group(line) for line in batch}
            held = [line.number for line in batch if _group(line) in given_up]
            reason = "A message before it in its group was not sent."
            if held:
                report([NotSent(number, reason) for number in held])
            self.send([line for line in batch if line.number not in held], watched)

    def send(self, batch: Sequence[Line], report: Report) -> None:
        """Send one batch until each of its messages has a result, or everything is stopped.

        Raises:
            ClientError: nothing can be sent.
            NoAnswer: SQS answered no batch in all that time, so it would not answer the next.
        """
        left, attempt, began = list(batch), 0, math.inf
        while left and self._rate_limiter.wait(len(left)):
            began = min(began, time.monotonic())  # to wait for its turn is no failure
            result = self._try(left)
            at, now = datetime.now(UTC), time.monotonic()
            if result.any_answer:
                self._answered_at = now
            ends: list[LineResult] = [
                Accepted(line, its_id, at) for line, its_id in result.accepted
            ]
            ends += [NotSent(line.number, reason) for line, reason in result.refused]
            if ends:
                report(ends)
            left = [line for line, _ in result.again]
            pause = random.uniform(0, min(5.0, 0.2 * 2**attempt))  # noqa: S311 - jitter
            attempt += 1
            if left and (now + pause > began + self._retry_for or self._stop.wait(pause)):
                report(
                    [
                        NotSent(line.number, f"Given up after {attempt} attempt(s): {reason}")
                        for line, reason in result.again
                    ]
                )
                if self._answered_at < began and not self._stop.is_set():
                    raise NoAnswer(
                        f"SQS has not answered for {self._retry_for:g} s: {result.again[0][1]}"
                    )
                return

    def _try(self, lines: Sequence[Line]) -> _BatchResult:
        entries: list[Any] = [
            {"Id": str(index), "MessageBody": line.body, **line.fifo}
            for index, line in enumerate(lines)
        ]
        try:
            answer = self._sqs.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except _NO_ANSWER as error:
            return _BatchResult(again=[(line, str(error)) for line in lines], any_answer=False)
        except ClientError as error:
            return self._try_less(lines, error)
        left = dict(enumerate(lines))
        batch = _BatchResult()
        for success in answer.get("Successful", []):
            batch.accepted.append((left.pop(int(success["Id"])), success["MessageId"]))
        for failure in answer.get("Failed", []):
            reason = f"{failure['Code']}: {failure.get('Message', '')}".removesuffix(": ")
            for_good = failure["SenderFault"] and not is_transient_code(failure["Code"])
            whose = batch.refused if for_good else batch.again
            whose.append((left.pop(int(failure["Id"])), reason))
        batch.again += [(line, "SQS did not answer for it.") for line in left.values()]
        return batch

    def _try_less(self, lines: Sequence[Line], error: ClientError) -> _BatchResult:
        """Send a refused batch in halves: one bad message must not keep the others back."""
        if is_transient(error):
            return _BatchResult(again=[(line, str(error)) for line in lines])
        if error_code(error) not in _ONE_OF_THE_MESSAGES:
            raise error
        if len(lines) == 1:
            return _BatchResult(refused=[(lines[0], str(error))])
        middle = len(lines) // 2
        first, second = self._try(lines[:middle]), self._try(lines[middle:])
        return _BatchResult(
            first.accepted + second.accepted,
            first.refused + second.refused,
            first.again + second.again,
        )


def _sendable(lines: Iterable[Line | NotSent], report: Report) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, Line):
            yield line
        else:
            report([line])


def _group(line: Line) -> str:
    return line.fifo["MessageGroupId"]


def _settle(pending: set[Future[None]]) -> set[Future[None]]:
    """Wait for at least one; raise what it raised."""
    done, pending = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return pending
