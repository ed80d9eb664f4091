"""The files of one stream: one per UTC day, replaced whole.

JSON Lines, gzip, `<root>/<stream>/dt=YYYY-MM-DD/collected.jsonl.gz`. A file without records says
that the stream was looked at and had none that day; no file says that it was not looked at. A file
is as new as what was read: its time says up to when it has its day's records.
"""

import contextlib
import gzip
import hashlib
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import uuid4

from actonce_core.histories.day_file import FILE_NAME, folder_of, json_line

_TEMPORARY: Final = ".collected."  # Spark does not read names that begin with a dot


def day_folder(root: Path, stream: str, day: date) -> Path:
    """Where a stream's records of a day lie."""
    return root / folder_of(stream, day)


def files_of_others(root: Path, stream: str, day: date) -> list[Path]:
    """The files of that stream and day that were not collected, in order of their names."""
    folder = day_folder(root, stream, day)
    if not folder.is_dir():
        return []
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith((".", "_")) and file.name != FILE_NAME
    )


class DayFiles:
    """Writes a stream's records of some days.

    Invariant: a reader sees a day's old file or its new one, never a part of one. What was there
    stays unless `replaced` ends without an error. Another run may write the same days meanwhile:
    of each day the file of the one that ended last is there, whole. A day's file that has the same
    lines, in whatever order, keeps its bytes: an audit may vouch for them.

    Args:
        root: of all streams.
        days: a record of any other day is left out.
        keep_longer: whether a day's file that has more lines stays: what is read now was partly
            forgotten since.
        read_at: when reading began, which is the files' time then; None: now.

    Attributes:
        lines: how many records of each day were written.
        longer: the days whose file stayed.
    """

    def __init__(
        self,
        root: Path,
        stream: str,
        days: Collection[date],
        *,
        keep_longer: bool = False,
        read_at: datetime | None = None,
    ) -> None:
        self.lines = dict.fromkeys(sorted(days), 0)
        self.longer: set[date] = set()
        self._sums = dict.fromkeys(self.lines, 0)
        self._keep_longer = keep_longer
        self._read_at = (read_at or datetime.now(UTC)).timestamp()
        self._root = root
        self._stream = stream
        self._name = f"{_TEMPORARY}{uuid4().hex}"
        self._open: dict[date, tuple[gzip.GzipFile, BinaryIO]] = {}

    def write(self, day: date | None, record: Mapping[str, Any]) -> None:
        """Add a record to its day's file."""
        if day in self.lines:
            line = json_line(record)
            self._file(day).write(line)
            self.lines[day] += 1
            self._sums[day] += _number(line)

    @contextlib.contextmanager
    def replaced(self) -> Iterator["DayFiles"]:
        """Write inside; at the end the files of the days are replaced, also by empty ones.

        Raises:
            OSError: a file cannot be written.
        """
        try:
            yield self
            for day in self.lines:
                self._file(day).close()
                _, raw = self._open[day]
                raw.flush()
                os.fsync(raw.fileno())
            for day in self.lines:
                file = day_folder(self._root, self._stream, day) / FILE_NAME
                lines, sums = _read_back(file)
                if self._keep_longer and lines > self.lines[day]:
                    self.longer.add(day)
                    continue
                if (lines, sums) != (self.lines[day], self._sums[day]):
                    self._temporary(day).replace(file)
                os.utime(file, (self._read_at, self._read_at))
        finally:
            for day, (packed, raw) in self._open.items():
                with raw:
                    packed.close()
                self._temporary(day).unlink(missing_ok=True)

    def _temporary(self, day: date) -> Path:
        return day_folder(self._root, self._stream, day) / self._name

    def _file(self, day: date) -> gzip.GzipFile:
        if day not in self._open:
            folder = day_folder(self._root, self._stream, day)
            folder.mkdir(parents=True, exist_ok=True)
            raw = self._temporary(day).open("wb")
            # No time and no name in the header: the same records make the same bytes.
            self._open[day] = gzip.GzipFile("", "wb", fileobj=raw, mtime=0), raw
        return self._open[day][0]


def _read_back(file: Path) -> tuple[int, int]:
    """A file's number of records, and the sum of its lines' hashes.

    The sum does not depend on the lines' order. -1 and 0 where the file is not there, or not whole.
    """
    lines, sums = 0, 0
    try:
        with gzip.open(file, "rb") as opened:
            for line in opened:
                lines += 1
                sums += _number(line)
    except (OSError, EOFError, zlib.error):
        return -1, 0
    return lines, sums


def _number(line: bytes) -> int:
    """The hash of a line: the sums of two files' lines are the same only if the lines are."""
    return int.from_bytes(hashlib.sha256(line).digest())
