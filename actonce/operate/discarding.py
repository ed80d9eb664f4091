"""Many entries of UnstartedQueue at once, sent back or discarded: those that were listed before."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import ClientError

from actonce.messages.filters import Narrowing
from actonce.messages.unstarted import Unstarted, send_back, unstarted
from actonce.operate.bulk import FAILED, Bulk, Ended, Listing, raise_if_forbidden
from actonce.queues.bulk_pass import Handled
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.message import MessageReader
from actonce_core.records import timestamp
from pipeline.durable import sync_folder

MOST_KEPT = 32 * 1024 * 1024
"""Characters of bodies that are kept in memory for who wants them whole."""

SENT_BACK = "sent_back"
DISCARDED = "discarded"


def look(
    queue: QueueReader,
    reader: MessageReader,
    narrowing: Narrowing,
    tell: Callable[[int], None] = lambda _: None,
    *,
    whole: bool = False,
) -> Listing[Unstarted]:
    """Read the queue and keep what is meant.

    Args:
        queue: UnstartedQueue; it is read whole.
        reader: reads message ids.
        narrowing: what is meant; `match` is looked for in `Unstarted.texts`.
        tell: see `QueueReader.messages`.
        whole: whether bodies are kept, as long as they are `MOST_KEPT` characters together.
    """
    found: list[Unstarted] = []
    kept = 0
    for queued in queue.messages(tell):
        entry = unstarted(queued, reader)
        if narrowing.matches(entry.texts()):
            kept += len(entry.queued.body)
            found.append(entry if whole and kept <= MOST_KEPT else entry.without_body())
    return Listing(narrowing.of(found), queue.held_elsewhere)


class Redriving(Bulk[Unstarted]):
    """Sends entries back to RequestsQueue as their producers sent them.

    Of a FIFO queue each message group keeps its order: where one cannot be sent back, what stands
    behind it stays as well.

    Args:
        reader: reads message ids.
    """

    def __init__(
        self,
        stack: Stack,
        reader: MessageReader,
        listing: Listing[Unstarted],
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        super().__init__(
            stack, stack.unstarted_queue, listing, rate=rate, wait_for_others=wait_for_others
        )
        self._reader = reader
        self._stuck: set[str] = set()

    _gone = (
        "It did not come: it is gone, or stands behind one of its message group that could not be "
        "sent back; look again."
    )

    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            entry = unstarted(queued, self._reader)
            group = entry.message_group_id
            if group in self._stuck:
                why: str | None = "One before it in its message group could not be sent back."
            elif not self._rate_limiter.wait():
                return
            else:
                why = self._send(entry)
            if why is None:
                self._end(entry.entry, SENT_BACK, "Sent back.", happened=True)
            else:
                self._end(entry.entry, FAILED, why, happened=False)
                if group is not None:
                    self._stuck.add(group)
            yield Handled(queued, goes=why is None)

    def _send(self, entry: Unstarted) -> str | None:
        """Sent twice, it is a duplicate of itself."""
        stack = self._stack
        try:
            return self._through_throttling(
                lambda: send_back(stack.sqs, stack.requests_queue, entry)
            )
        except ClientError as error:
            raise_if_forbidden(error)
            return str(error)


class Discarding(Bulk[Unstarted]):
    """Takes entries away for good, once each stands in a file.

    A line is on the disk before its entry is deleted. Whatever ends this in between leaves a line
    whose entry is still there; discarded again, it has two.

    Args:
        reader: reads message ids.
        file: a new one.
        note: why.
    """

    def __init__(  # noqa: PLR0913 - what it takes away, and what it writes
        self,
        stack: Stack,
        reader: MessageReader,
        listing: Listing[Unstarted],
        file: Path,
        *,
        note: str,
        wait_for_others: float | None = None,
    ) -> None:
        super().__init__(stack, stack.unstarted_queue, listing, wait_for_others=wait_for_others)
        self._reader = reader
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

    @property
    def ended(self) -> list[Ended[Unstarted]]:
        """As of any `Bulk`; one that could not be deleted has failed."""
        said = f"It stands in {self._path}, and in the queue still: discard it again."
        kept = self._pass.left_behind
        return [
            replace(one, end=FAILED, said=said, happened=False) if one.entry.entry in kept else one
            for one in super().ended
        ]

    @property
    def left_behind(self) -> int:
        """None: see `ended`."""
        return 0

    @property
    def kept_in(self) -> Path | None:
        """The file, if something was discarded."""
        return self._path if any(one.happened for one in self.ended) else None

    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        entries = [unstarted(queued, self._reader) for queued in batch]
        lines = "".join(self._line(entry) for entry in entries).encode("ascii")
        with self._lock:
            if self._pass.stopping.is_set():
                return
            try:
                while lines:
                    lines = lines[os.write(self._file, lines) :]
                os.fsync(self._file)
            except BaseException:
                self.stop()  # nothing is written behind a line that was cut off
                raise
        for entry in entries:
            self._end(entry.entry, DISCARDED, "Discarded.", happened=True)
            yield Handled(entry.queued, goes=True)

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
