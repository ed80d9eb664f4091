"""Many entries of UnstartedQueue at once: those that were looked at before, and no others."""

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from actonce.messages.filters import Narrowing
from actonce.messages.unstarted import Unstarted, send_back, unstarted
from actonce.queues.bulk_pass import Handled, Pace, QueuePass
from actonce.queues.rate_limiter import is_forbidden, through_throttling
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.message import MessageReader
from actonce_core.records import timestamp
from pipeline.durable import sync_folder

MOST_KEPT = 32 * 1024 * 1024
"""Characters of bodies that are kept in memory for who wants them whole."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person was shown: entries, most without their bodies, the longest waiting first.

    Attributes:
        held_elsewhere: how many another reader held, so that they are not among these.
    """

    entries: Sequence[Unstarted]
    held_elsewhere: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """What became of one of the entries; `why` it stays, or nothing."""

    entry: Unstarted
    why: str | None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "sqs_message_id": self.entry.sqs_message_id,
            "message_id": self.entry.message_id,
            "end": "failed" if self.why else "done",
            "why": self.why,
        }


def look(
    queue: QueueReader,
    reader: MessageReader,
    narrowing: Narrowing,
    tell: Callable[[int], None] = lambda _: None,
    *,
    whole: bool = False,
) -> Shown:
    """Read the queue and keep what is meant.

    Args:
        queue: UnstartedQueue; it is read whole.
        reader: reads message ids.
        narrowing: what is meant; `match` is looked for in `Unstarted.texts`.
        tell: is told now and then how many have been read.
        whole: whether bodies are kept, as long as they are `MOST_KEPT` characters together.
    """
    found: list[Unstarted] = []
    kept = 0
    for number, queued in enumerate(queue.messages(), 1):
        entry = unstarted(queued, reader)
        if narrowing.matches(entry.texts()):
            kept += len(entry.queued.body)
            found.append(entry if whole and kept <= MOST_KEPT else entry.without_body())
        if number % 100 == 0:
            tell(number)
    return Shown(narrowing.of(found), queue.held_elsewhere)


class Clearing(ABC):
    """Takes every entry that was shown out of the queue, one after the other.

    What came since is left alone. Ended early, or killed, it leaves the rest as it was; begun again
    it goes on.

    Args:
        chosen: entries as `look` found them.
        rate: most entries a second.
        wait_for_others: see `QueuePass`.
    """

    def __init__(
        self,
        stack: Stack,
        reader: MessageReader,
        chosen: Sequence[Unstarted],
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        self._stack = stack
        self._reader = reader
        self._chosen = chosen
        self._pass: QueuePass = QueuePass(
            stack.sqs,
            stack.unstarted_queue,
            [entry.sqs_message_id for entry in chosen],
            rate=rate,
            wait_for_others=wait_for_others,
        )
        self._pace = Pace(rate, self._pass.stopping)
        self._lock = threading.Lock()
        self._ends: dict[str, str | None] = {}

    @property
    def cleared(self) -> list[Cleared]:
        """What became of the entries so far, in their order."""
        return [
            Cleared(entry, self._ends[entry.sqs_message_id])
            for entry in self._chosen
            if entry.sqs_message_id in self._ends
        ]

    @property
    def left(self) -> int:
        """How many entries it did not come to."""
        return len(self._chosen) - len(self._ends)

    @property
    def left_behind(self) -> int:
        """How many of those that are done could not be deleted."""
        return self._pass.left_behind

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Do it.

        Args:
            tell: is told now and then how many have been seen to.

        Raises:
            ClientError: AWS says that this cannot be done, for this one and so for all others.
        """
        self._pass.run(self._batch, lambda _: tell(len(self._ends)))
        if self._pass.stopping.is_set():
            return  # the rest was not looked for to its end
        where = (
            "Another reader holds it: look again, and say the same again."
            if self._pass.held_elsewhere
            else "It is gone from the queue: somebody else took it."
        )
        for entry in self._chosen:
            self._ends.setdefault(entry.sqs_message_id, where)

    def stop(self) -> None:
        """Begin nothing more; `run` ends soon, and what it did not come to is as it was."""
        self._pass.stopping.set()

    @abstractmethod
    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        """See `queue_pass.Handle`."""

    def _end(self, entry: Unstarted, why: str | None) -> Handled:
        with self._lock:
            self._ends[entry.sqs_message_id] = why
        return Handled(entry.queued, goes=why is None)


class Redriving(Clearing):
    """Sends entries back to RequestsQueue as their producers sent them.

    Of a FIFO queue each message group keeps its order: where one cannot be sent back, what came
    behind it with the same receive stays as well.
    """

    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        stuck: set[str] = set()
        for queued in batch:
            entry = unstarted(queued, self._reader)
            group = entry.message_group_id
            if group in stuck:
                yield self._end(entry, "One before it in its message group could not be sent back.")
                continue
            if not self._pace.wait():
                return
            why = self._send(entry)
            if why is not None and group is not None:
                stuck.add(group)
            yield self._end(entry, why)

    def _send(self, entry: Unstarted) -> str | None:
        """Sent twice, it is a duplicate of itself."""
        stack = self._stack
        try:
            return through_throttling(
                lambda: send_back(stack.sqs, stack.requests_queue, entry), self._pass.stopping
            )
        except ClientError as error:
            if is_forbidden(error):
                raise
            return str(error)


class Discarding(Clearing):
    """Takes entries away for good, once each stands in a file.

    A line is on the disk before its entry is deleted. Whatever ends this in between leaves a line
    whose entry is still there; discarded again, it has two.
    """

    def __init__(  # noqa: PLR0913 - what it clears, and what it writes
        self,
        stack: Stack,
        reader: MessageReader,
        chosen: Sequence[Unstarted],
        file: Path,
        *,
        note: str,
        wait_for_others: float | None = None,
    ) -> None:
        super().__init__(stack, reader, chosen, wait_for_others=wait_for_others)
        self._path = file
        self._note = note

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Write a new file, and delete what stands in it.

        Raises:
            Failed: the file is there already, or cannot be written; what is in it may be deleted,
                nothing else is.
        """
        try:
            # Messages may be personal data.
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise Failed(f"{self._path} cannot be written: {error.strerror}") from error
        try:
            sync_folder(self._path.parent)
            super().run(tell)
        except OSError as error:
            raise Failed(
                f"{self._path} cannot be written: {error.strerror}. What is not in it was not "
                "discarded."
            ) from error
        finally:
            os.close(self._file)

    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        entries = [unstarted(queued, self._reader) for queued in batch]
        lines = "".join(self._line(entry) for entry in entries).encode("ascii")
        with self._lock:
            while lines:
                lines = lines[os.write(self._file, lines) :]
            os.fsync(self._file)
        for entry in entries:
            yield self._end(entry, None)

    def _line(self, entry: Unstarted) -> str:
        line = {
            "discarded_at": timestamp(datetime.now(UTC)),
            "note": self._note,
            **entry.as_json(),
            "attributes": entry.attributes,
            "message_group_id": entry.message_group_id,
            "body": entry.queued.body,
        }
        return json.dumps(line) + "\n"
