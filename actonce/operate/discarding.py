"""Discarding many entries of UnstartedQueue at once: those that were listed."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from actonce.messages.unstarted import Unstarted, unstarted
from actonce.operate.bulk import FAILED, Bulk
from actonce.queues.scan import Queued
from actonce.terminal.errors import Failed
from actonce.terminal.files import sync_folder
from actonce_core.message import MessageReader
from actonce_core.records import timestamp

DISCARDED = "discarded"


@dataclass(eq=False)
class BulkDiscard(Bulk[Unstarted]):
    """Deletes entries, once each is in a file.

    A line is on the disk before its entry is deleted. Whatever stops this in between leaves a line
    whose entry is still in the queue; discarded again, the entry has two. An entry that could not
    be deleted is not discarded.

    Attributes:
        reader: reads message ids.
        file: a new one.
        note: why.
    """

    reader: MessageReader
    file: Path
    note: str

    @property
    def queue_url(self) -> str:
        """See `Bulk.queue_url`."""
        return self.stack.unstarted_queue

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Write a new file, and delete the entries that are in it.

        Raises:
            Failed: the file exists, or cannot be written; entries that are in it may be deleted,
                and no others are.
        """
        try:
            # Messages may be personal data.
            self._open = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise Failed(f"{self.file} cannot be written: {error.strerror}") from error
        try:
            sync_folder(self.file.parent)
            super().run(tell)
        except OSError as error:
            raise Failed(
                f"{self.file} cannot be written: {error.strerror}. What is not in it was not "
                "discarded."
            ) from error
        finally:
            os.close(self._open)
            self.kept_in = self.file if any(result.happened for result in self.ended) else None

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        entries = [unstarted(queued, self.reader) for queued in batch]
        lines = "".join(self._line(entry) for entry in entries).encode("ascii")
        with self._lock:
            if self._stopping.is_set():
                return
            try:
                while lines:
                    lines = lines[os.write(self._open, lines) :]
                os.fsync(self._open)
            except BaseException:
                self.stop()  # nothing is written behind a line that was cut off
                raise
        for entry in entries:
            self._end(entry.entry, DISCARDED, "Discarded.", happened=True)
            yield entry.queued, True

    def _could_not_delete(self, names: set[str]) -> None:
        text = f"It is in {self.file}, and may still be in the queue. Discard it again."
        for name in names:
            self._end(name, FAILED, text, happened=False)

    def _line(self, entry: Unstarted) -> str:
        line = {
            "discarded_at": timestamp(datetime.now(UTC)),
            "note": self.note,
            **entry.as_json(),
            "attributes": entry.attributes,
            "message_group_id": entry.message_group_id,
            "body": entry.queued.body,
        }
        return json.dumps(line) + "\n"
