"""Many entries of UnstartedQueue at once, taken away for good: those that were listed before."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from actonce.messages.filters import Listing
from actonce.messages.unstarted import Unstarted, unstarted
from actonce.operate.bulk import FAILED, Bulk
from actonce.queues.scan import Queued
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.message import MessageReader
from actonce_core.records import timestamp
from pipeline.durable import sync_folder

DISCARDED = "discarded"


class Discarding(Bulk[Unstarted]):
    """Takes entries away for good, once each stands in a file.

    A line is on the disk before its entry is deleted. Whatever ends this in between leaves a line
    whose entry is still there; discarded again, it has two. An entry that could not be deleted was
    not discarded.

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
        self._reads_ids = reader
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
            self.kept_in = self._path if any(one.happened for one in self.ended) else None

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        entries = [unstarted(queued, self._reads_ids) for queued in batch]
        lines = "".join(self._line(entry) for entry in entries).encode("ascii")
        with self._lock:
            if self._stopping.is_set():
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
            yield entry.queued, True

    def _could_not_delete(self, names: set[str]) -> None:
        said = f"It stands in {self._path}, and in the queue still: discard it again."
        for name in names:
            self._end(name, FAILED, said, happened=False)

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
