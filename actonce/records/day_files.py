"""The files of one stream: one per UTC day.

JSON Lines, gzip, `<root>/<stream>/dt=YYYY-MM-DD/collected.jsonl.gz`. A file without records says
that the stream was looked at and had none that day; no file says that it was not looked at.

A file's time is when reading began: up to then it has its day's records. The audit goes by the
file's own, as of every file. Collecting goes by the same time in gzip's header, for a copy, or
`touch`, makes a file newer than what was read.
"""

import contextlib
import gzip
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Self
from uuid import uuid4

from actonce_core.histories.day_file import FILE_NAME, json_line, key_of

_ARRIVES_WITHIN = timedelta(hours=1)  # after its `at`, by the same clock


def midnight(day: date) -> datetime:
    """When a day begins."""
    return datetime.combine(day, time(), UTC)


def over(day: date) -> datetime:
    """When all records of a day are there."""
    return midnight(day) + timedelta(days=1) + _ARRIVES_WITHIN


def file_of(root: Path, stream: str, day: date) -> Path:
    """The file of a stream's records of a day."""
    return root / key_of(stream, day)


def is_final(root: Path, stream: str, day: date) -> bool:
    """Whether a day's file is there, whole, and was read when the day was over."""
    try:
        with gzip.open(file_of(root, stream, day)) as file:
            while file.read(1024 * 1024):
                pass
            return (file.mtime or 0) >= over(day).timestamp()
    except (OSError, EOFError, zlib.error):
        return False


def last_day(root: Path, stream: str) -> date | None:
    """The last day that has a file."""
    days = []
    for file in root.glob(f"{stream}/dt=????-??-??/{FILE_NAME}"):
        with contextlib.suppress(ValueError):  # no day's folder
            days.append(date.fromisoformat(file.parent.name.removeprefix("dt=")))
    return max(days, default=None)


def files_of_others(root: Path, stream: str, day: date) -> list[Path]:
    """The files of that stream and day that were not collected, in order of their names."""
    return sorted(
        file
        for file in file_of(root, stream, day).parent.rglob("*")
        if file.is_file() and not file.name.startswith((".", "_")) and file.name != FILE_NAME
    )


class DayFiles:
    """Writes a stream's records of some days.

    Invariant: a reader sees a day's old file or its new one, never a part of one. What was there
    stays unless `replaced` ends without an error. Another run may write the same days meanwhile:
    of each day the file of the one that ended last is there, whole.

    Args:
        root: of all streams.
        days: a record of any other day is left out.
        read_at: when reading began.

    Attributes:
        lines: how many records of each day were written.
    """

    def __init__(self, root: Path, stream: str, days: Collection[date], read_at: datetime) -> None:
        self.lines = dict.fromkeys(sorted(days), 0)
        self._files = {day: file_of(root, stream, day) for day in self.lines}
        self._read_at = read_at.timestamp()
        # Spark does not read names that begin with a dot.
        self._name = f".collected.{uuid4().hex}"
        self._open: dict[date, tuple[gzip.GzipFile, BinaryIO]] = {}

    def write(self, day: date, record: Mapping[str, Any]) -> None:
        """Add a record to its day's file."""
        if day in self.lines:
            self._opened(day)[0].write(json_line(record))
            self.lines[day] += 1

    @contextlib.contextmanager
    def replaced(self) -> Iterator[Self]:
        """Write inside; at the end the files of the days are replaced, also by empty ones.

        Raises:
            OSError: a file cannot be written.
        """
        try:
            yield self
            for day in self.lines:
                packed, raw = self._opened(day)
                packed.close()
                raw.flush()
                os.fsync(raw.fileno())
                os.utime(raw.fileno(), (self._read_at, self._read_at))
            for file in self._files.values():
                file.with_name(self._name).replace(file)
        finally:
            for day, (packed, raw) in self._open.items():
                self._files[day].with_name(self._name).unlink(missing_ok=True)
                with contextlib.suppress(OSError), raw:  # a full disk takes no last bytes
                    packed.close()

    def _opened(self, day: date) -> tuple[gzip.GzipFile, BinaryIO]:
        if day not in self._open:
            file = self._files[day]
            file.parent.mkdir(parents=True, exist_ok=True)
            raw = file.with_name(self._name).open("wb")
            self._open[day] = gzip.GzipFile("", "wb", fileobj=raw, mtime=self._read_at), raw
        return self._open[day]
