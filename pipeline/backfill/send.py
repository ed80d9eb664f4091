"""Sending a plan's messages to SQS, and confirming each that SQS accepted.

Some parts are sent side by side, each in its order; after a batch its confirmations are written. So
a kill at any moment leaves at most the batches in flight sent and not confirmed; the next run sends
them again, and the starter suppresses them: same id, same content.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from botocore.exceptions import BotoCoreError, ClientError

from pipeline.backfill.errors import BackfillFailed
from pipeline.backfill.plan import Plan
from pipeline.backfill.work import Confirmations
from pipeline.sqs import MAX_BATCH, Answered, BatchSender, RateLimiter, batches

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SENDERS: Final = 8
"""Parts that are sent side by side: most batches that are in flight."""

_LOOK_SECONDS: Final = 0.2
_MOST_TOLD: Final = 100
_SENT_VERSION: Final = 1  # of the lines of the `sent` stream


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a part: its place there (from 0), in the archive, and what is sent."""

    position: int
    file: str
    line: int
    message_id: str
    body: str
    fifo: Mapping[str, object] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Of the body, in bytes of UTF-8."""
        return len(self.body.encode())


@dataclass(slots=True)
class Sending:
    """Sends the parts of a plan.

    Attributes:
        sqs: a client.
        queue_url: where to.
        work: the folder that is held.
        rate: messages a second at most, of all parts together.
        retry_for: seconds after which a queue that takes nothing is given up.
        stopping: once it is set, nothing is sent any more.
        problems: a sentence for each message that SQS refused for good, and for what ended it all.
    """

    sqs: "SQSClient"
    queue_url: str
    work: Path
    rate: float
    retry_for: float
    stopping: threading.Event = field(default_factory=threading.Event)
    problems: list[str] = field(default_factory=list)
    _sent: dict[int, int] = field(default_factory=dict)  # by part, which one thread has

    @property
    def sent(self) -> int:
        """How many messages it has confirmed until now."""
        return sum(tuple(self._sent.values()))

    def send(self, progress: Callable[[], None]) -> None:
        """Send what is not confirmed of the plan's parts.

        Args:
            progress: called every now and then, and at the end.

        Raises:
            BackfillFailed: confirmations cannot be written or read, or the plan cannot be read.
        """
        limiter = RateLimiter(self.rate, self.stopping.wait)
        sender: BatchSender[Message] = BatchSender(
            self.sqs,
            self.queue_url,
            retry_for=self.retry_for,
            stopping=self.stopping,
            before=lambda number, _: limiter.wait(number),
        )
        with ThreadPoolExecutor(SENDERS, thread_name_prefix="backfill") as threads:
            files = Plan(self.work / "plan").of("message")
            pending = {threads.submit(self._send_part, sender, file) for file in files}
            try:
                while pending:
                    done, pending = wait(pending, _LOOK_SECONDS, FIRST_EXCEPTION)
                    progress()
                    for one in done:
                        one.result()
            except (ClientError, BotoCoreError) as error:
                self.problems.append(str(error))
            except (OSError, pa.ArrowException) as error:
                raise BackfillFailed(f"{self.work}: {error}") from error
            finally:
                self.stopping.set()
                del self.problems[_MOST_TOLD:]

    def _send_part(self, sender: BatchSender[Message], file: Path) -> None:
        part = int(file.parent.name.removeprefix("part="))
        with pq.ParquetFile(file) as parquet:
            confirmations = Confirmations(self.work, part, parquet.metadata.num_rows)
            left = _unconfirmed(parquet, confirmations.confirmed)
            for batch in batches(left, max(1, min(MAX_BATCH, int(self.rate)))):
                if self.stopping.is_set():
                    return
                self._send_batch(sender, part, batch, confirmations)

    def _send_batch(
        self,
        sender: BatchSender[Message],
        part: int,
        batch: list[Message],
        confirmations: Confirmations,
    ) -> None:
        def confirm(answered: Answered[Message]) -> None:
            at = datetime.now(UTC)
            if answered.accepted:
                confirmations.append(at, [_sent_line(part, at, *one) for one in answered.accepted])
                self._sent[part] = self._sent.get(part, 0) + len(answered.accepted)
            for message, reason in answered.refused:
                self.problems.append(f"{message.file}, line {message.line}: {reason}")
            if answered.again and not self.stopping.is_set():
                reason = answered.again[0][1]
                self.problems.append(f"SQS took nothing for {self.retry_for:g} s: {reason}")
                self.stopping.set()

        sender.send(batch, confirm)


def _sent_line(part: int, at: datetime, message: Message, sqs_message_id: str) -> dict[str, Any]:
    """A confirmation: a line of the `sent` stream, and where in the plan its message is."""
    return {
        "stream": "sent",
        "version": _SENT_VERSION,
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "message_id": message.message_id,
        "sqs_message_id": sqs_message_id,
        "line": message.line,
        "file": message.file,
        "part": part,
        "position": message.position,
    }


def _unconfirmed(parquet: pq.ParquetFile, confirmed: bytearray) -> Iterator[Message]:
    position = 0
    for group in range(parquet.num_row_groups):
        rows = parquet.metadata.row_group(group).num_rows
        if 0 not in confirmed[position : position + rows]:
            position += rows
            continue
        columns = ["file", "line", "message_id", "body"]
        for batch in parquet.iter_batches(100, row_groups=[group], columns=columns):
            for row in batch.to_pylist():
                if not confirmed[position]:
                    yield Message(position, **row)
                position += 1
