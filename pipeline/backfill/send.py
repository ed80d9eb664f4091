"""Sending a plan's messages to SQS from Spark's tasks, and confirming each that SQS accepted.

A task is one sender; it sends its parts one after another, in their order. Before a batch it makes
sure that its run is still the run, after a batch it writes the confirmations. So a kill at any
moment leaves at most the batch in flight of each sender sent and not confirmed; the next run sends
that batch again, and the starter suppresses it: same id, same content.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import SparkSession

from pipeline.backfill.plan import PlanFiles
from pipeline.backfill.work import Confirmations, run_is_over, the_only_sender
from pipeline.sqs_errors import is_busy, is_refused

MAX_BATCH = 10
"""Most messages of a batch (SQS: SendMessageBatch)."""

MAX_BATCH_BYTES = 1024 * 1024
"""Largest sum of a batch's messages, in bytes of UTF-8 (SQS: "Quotas")."""

LOOK_EVERY_SECONDS = 0.5
"""How soon a sender that waits notices that its run is over."""

SENT_VERSION = 1
"""Of the lines of the `sent` stream."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Where messages go, and how a task that shares no variables with this process gets there.

    Attributes:
        keys: access key id and secret of an emulator; None for what the task finds by itself.
    """

    url: str
    endpoint_url: str
    region: str
    keys: tuple[str, str] | None = None

    def client(self) -> Any:
        """A client of SQS."""
        access_key, secret = self.keys or (None, None)
        return boto3.client(
            "sqs",
            endpoint_url=self.endpoint_url,
            region_name=self.region,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret,
            config=Config(
                connect_timeout=5, read_timeout=60, retries={"mode": "standard", "max_attempts": 1}
            ),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run's senders: what all of them are told.

    Attributes:
        rate: messages a second that one sender offers to SQS at most.
        retry_for: seconds after which a sender gives up on a queue that takes nothing.
    """

    work: Path
    name: str
    queue: Queue
    rate: float
    retry_for: float = 60.0

    def is_over(self) -> bool:
        """Whether nothing must be sent any more."""
        return run_is_over(self.work, self.name)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a part: its place there (from 0), in the archive, and what is sent."""

    position: int
    file: str
    line: int
    message_id: str
    body: str


class RunOver(Exception):
    """The run has ended; nothing more is sent."""


class Stopped(Exception):
    """The queue takes no message; the text says why."""


class Pace:
    """A token bucket that holds one second's messages, a whole batch at most, one at least.

    Invariant: in any span of `s` seconds no more than `rate * s` plus one batch are let through.
    """

    def __init__(
        self,
        rate: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.batch = max(1, min(MAX_BATCH, int(rate)))
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def wait(self, messages: int, is_over: Callable[[], bool]) -> None:
        """Wait until these messages may go.

        Raises:
            RunOver: the run ended meanwhile.
        """
        while True:
            if is_over():
                raise RunOver
            pause = self._free_at - self._clock()
            if pause <= 0:
                break
            self._sleep(min(pause, LOOK_EVERY_SECONDS))
        self._free_at = max(self._free_at, self._clock()) + messages / self._rate


class Sender:
    """Sends parts. What SQS was too busy for is sent again, at the same pace, with jitter."""

    def __init__(self, run: Run, pace: Pace | None = None) -> None:
        self._run = run
        self._sqs = run.queue.client()
        self._pace = pace or Pace(run.rate)

    def send(self, part: int) -> list[str]:
        """Send what of a part is not confirmed.

        Returns:
            A sentence for each message that SQS refused for good.

        Raises:
            RunOver: the run ended before the part did.
            Stopped: SQS takes nothing.
        """
        problems: list[str] = []
        with the_only_sender(self._run.work, part, self._run.is_over) as held:
            if not held:
                raise RunOver
            for file in PlanFiles(self._run.work / "plan").of("message", part):
                with pq.ParquetFile(file) as parquet:
                    confirmations = Confirmations(self._run.work, part, parquet.metadata.num_rows)
                    left = _unconfirmed(parquet, confirmations.confirmed)
                    for batch in batches(left, self._pace.batch):
                        problems += self._send(part, batch, confirmations)
        return problems

    def _send(self, part: int, batch: list[Message], confirmations: Confirmations) -> list[str]:
        problems: list[str] = []
        give_up_at = time.monotonic() + self._run.retry_for
        attempt = 0
        while batch:
            self._pace.wait(len(batch), self._run.is_over)
            accepted, refused, batch, reason = self._try(batch)
            problems += refused
            if accepted:
                at = datetime.now(UTC)
                lines = [sent_line(part, at, *one) for one in accepted]
                confirmations.append(at, lines)
                give_up_at, attempt = time.monotonic() + self._run.retry_for, 0
            if batch:
                attempt += 1
                if time.monotonic() > give_up_at:
                    raise Stopped(f"SQS took nothing for {self._run.retry_for:g} s: {reason}")
                time.sleep(random.uniform(0, min(5.0, 0.2 * 2**attempt)))  # noqa: S311 - jitter
        return problems

    def _try(
        self, batch: list[Message]
    ) -> tuple[list[tuple[Message, str]], list[str], list[Message], str]:
        """Accepted with SQS's ids; refused for good; to be tried again; why."""
        entries = [
            {"Id": str(index), "MessageBody": message.body} for index, message in enumerate(batch)
        ]
        try:
            answer = self._sqs.send_message_batch(QueueUrl=self._run.queue.url, Entries=entries)
        except ClientError as error:
            if is_busy(error):
                return [], [], batch, str(error)
            raise Stopped(str(error)) from error
        except BotoCoreError as error:
            return [], [], batch, str(error)
        left = dict(enumerate(batch))
        accepted = [
            (left.pop(int(success["Id"])), str(success["MessageId"]))
            for success in answer.get("Successful", [])
        ]
        refused: list[str] = []
        reason = "it did not answer for every message"
        for failure in answer.get("Failed", []):
            reason = f"{failure['Code']}: {failure.get('Message', '')}"
            if is_refused(failure):
                message = left.pop(int(failure["Id"]))
                refused.append(f"{message.file}, line {message.line}: {reason}")
        return accepted, refused, list(left.values()), reason


def sent_line(part: int, at: datetime, message: Message, sqs_message_id: str) -> dict[str, Any]:
    """A confirmation: a line of the `sent` stream, and where in the plan its message is."""
    return {
        "stream": "sent",
        "version": SENT_VERSION,
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "message_id": message.message_id,
        "sqs_message_id": sqs_message_id,
        "line": message.line,
        "file": message.file,
        "part": part,
        "position": message.position,
    }


def batches(messages: Iterable[Message], most: int) -> Iterator[list[Message]]:
    """Put messages together, in their order, as SQS takes them."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        bytes_ = len(message.body.encode("utf-8"))
        if batch and (len(batch) == most or size + bytes_ > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += bytes_
    if batch:
        yield batch


def send_parts(spark: SparkSession, run: Run, parts: Sequence[int], senders: int) -> list[str]:
    """Send parts from so many Spark tasks; returns a sentence per message or sender that failed.

    Returns as well when the run is said to be over.
    """
    senders = min(senders, len(parts))
    if not senders:
        return []
    assigned = [list(parts[first::senders]) for first in range(senders)]

    def send(batches_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches_:
            for row in batch.to_pylist():
                problems = send_in_turn(run, assigned[row["id"]])
                yield pa.RecordBatch.from_pydict({"problem": pa.array(problems, pa.string())})

    tasks = spark.range(0, senders, 1, senders)
    return [row["problem"] for row in tasks.mapInArrow(send, "problem string").collect()]


def send_in_turn(run: Run, parts: Iterable[int]) -> list[str]:
    """One task's work; returns what went wrong, at most a hundred sentences."""
    problems: list[str] = []
    try:
        sender = Sender(run)
        for part in parts:
            problems += sender.send(part)
            del problems[100:]
    except RunOver:
        pass
    except (Stopped, OSError) as error:
        problems.append(str(error))
    except BotoCoreError as error:
        problems.append(f"AWS cannot be reached: {error}")
    return problems


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
