"""Which files there are: `<root>/<stream>/dt=YYYY-MM-DD/<anything>`.

Whatever lies below the root is listed here once: to be read, or with the reason why it is not.
"""

import os
import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Final

from actonce_pipeline.audit.reading.passed_over import HALF_COPIED, HIDDEN, is_file_passed_over
from actonce_pipeline.audit.reading.storage import HERE, ListedFile, is_uri, place, readable
from actonce_pipeline.audit.reading.streams import STREAMS
from actonce_pipeline.audit.times import day_of, now_ms
from actonce_pipeline.errors import CannotAudit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE: Final = r"(?s)^.*/([a-z_]+)/dt=(\d{4}-\d\d-\d\d)/"
"""In the path of a file that is read: its stream and its day. The last such place: the root's own
path may hold another, and below its day's folder no file that is read has one."""
_PLACE_BELOW: Final = re.compile(r"([a-z_]+)/dt=(\d{4}-\d\d-\d\d)/(?!(?:.*/)?dt=)", re.DOTALL)
_ERRORS: Final = re.compile(r"errors/([a-z_]+)/[^/]+/dt=(\d{4}-\d\d-\d\d)/")
"""Where Firehose puts what it could not process, by templates/records.yaml."""
_EXPORT: Final = re.compile(r"(.*/AWSDynamoDB/)(?:data/|([^/]+/))", re.DOTALL)
"""A file of an export. The data of incremental exports lie together, beside the exports' folders,
and are read when one of these has ended: what another one adds is told of the same day."""
_EXPORT_SUMMARY: Final = re.compile(r"((.*/AWSDynamoDB/)[^/]+/)manifest-summary\.json$", re.DOTALL)
"""It tells which table was exported and when, so it is there when all is written.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html"""
EXPORT_MANIFEST: Final = re.compile(
    r".*/AWSDynamoDB/[^/]+/manifest-(summary|files)\.json$", re.DOTALL
)
"""What an export says of itself, which is read, too."""
UNFINISHED_EXPORT: Final = "unfinished_export"
_EARLIEST: Final = date(2000, 1, 1)
CLOCKS_DIFFER_MS: Final = 3_600_000

_MOST_BYTES: Final = 2**30
"""Of a file that is not here, and so held in memory."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of records; `day` is its folder's, on which they arrived. See `ListedFile`."""

    path: str
    stream: str
    day: date
    content: str = ""

    @property
    def from_root(self) -> str:
        """The path from the root of the records on."""
        placed = re.search(PLACE, self.path)
        assert placed  # it is listed  # noqa: S101
        return self.path[placed.start(1) :]


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """What is not read, and why; None: it may be of any stream, or of any day."""

    path: str
    reason: str
    stream: str | None = None
    day: date | None = None


@dataclass(frozen=True)
class Listing:
    """The files of records.

    Attributes:
        files: those to read.
        unread: those that are not.
        modified: when the newest file of records was written (ms).
        since: earlier days are not read.
    """

    files: tuple[File, ...]
    unread: tuple[UnreadFile, ...]
    modified: int
    since: date = date.min

    def by_day(self) -> dict[date, list[File]]:
        """The files to read, by their folders' days."""
        found: dict[date, list[File]] = {}
        for file in self.files:
            found.setdefault(file.day, []).append(file)
        return found

    @cached_property
    def _days(self) -> dict[str, frozenset[date]]:
        found: dict[str, set[date]] = {}
        for file in self.files:
            found.setdefault(file.stream, set()).add(file.day)
        return {stream: frozenset(days) for stream, days in found.items()}

    def days(self) -> frozenset[date]:
        """Days that any stream has a file for."""
        return frozenset().union(*self._days.values())

    def days_of(self, stream: str) -> frozenset[date]:
        """Days that the stream has a file for."""
        return self._days.get(stream, frozenset())


def list_records(spark: "SparkSession | None", root: str, out: str = "") -> Listing:
    """List the records below `root`, a folder or a URI that Spark knows.

    What this process may not read, a link to a folder, what no path can name and what lies in no
    stream's day is listed as unread; only what `passed_over` names is neither.

    Raises:
        CannotAudit: there is no such folder, or no record in it.
    """
    found = sorted(place(spark, root).files(), key=lambda one: one.path)
    results = _results_below(root, out)
    summaries = [match for one in found if (match := _EXPORT_SUMMARY.match(one.below))]
    ended = {folder for match in summaries for folder in match.groups()}
    files: list[File] = []
    unread: list[UnreadFile] = []
    modified = 0
    latest = day_of(now_ms() + CLOCKS_DIFFER_MS)
    for one in found:
        placed = _PLACE_BELOW.match(one.below) or _ERRORS.match(one.below)
        day = _day(placed[2], latest) if placed and placed[1] in STREAMS else None
        stream = placed[1] if placed and day else None
        problem = one.problem or _problem(one, stream)
        export = _EXPORT.match(one.below) if stream == "effects" else None
        if export and export[1] + (export[2] or "") not in ended:
            problem = UNFINISHED_EXPORT
        elif is_file_passed_over(one, results):
            continue
        if stream and day and not problem:
            files.append(File(one.path, stream, day, one.content))
            modified = max(modified, one.modified)
        else:
            reason = problem or "misplaced_file"
            unread.append(UnreadFile(one.path, reason, stream, day))
    if not files:
        first = f" Not read: {readable(unread[0].path)} ({unread[0].reason})." if unread else ""
        raise CannotAudit(
            f"Nothing to audit in {root}: there is no file at <stream>/dt=YYYY-MM-DD/ for any of "
            f"the streams {', '.join(STREAMS)} that can be read.{first}"
        )
    return Listing(tuple(files), tuple(unread), modified)


def _problem(one: ListedFile, stream: str | None) -> str | None:
    """Why this is not read."""
    if stream is None or _ERRORS.match(one.below):
        return "misplaced_file"
    if is_parquet(one.below) and stream != "effects":
        return "unknown_format"
    if HIDDEN.search(one.below) or one.below.endswith(HALF_COPIED):
        return "hidden_file"  # Hadoop passes over it in silence
    if one.size == 0 and is_parquet(one.below):
        return "unreadable_parquet"
    if one.size == 0 and one.below.lower().endswith(".gz"):
        return "truncated_gzip"
    held = not one.path.startswith(HERE) and not is_parquet(one.below)
    return "too_large" if one.size > _MOST_BYTES and held else None


def is_parquet(path: str) -> bool:
    """Whether a file is read as Parquet."""
    return path.lower().endswith(".parquet")


def _results_below(root: str, out: str) -> str | None:
    """The results' folder from the root on; None: it is not below.

    Raises:
        CannotAudit: records may lie there.
    """
    if is_uri(root) or is_uri(out):
        top, whole = root.rstrip("/") + "/", out.rstrip("/") + "/"
    else:
        top, whole = (f"{os.path.realpath(one or '.')}/" for one in (root, out))
    below = whole.removeprefix(top) if out and whole.startswith(top) else None
    if below is not None and below.split("/")[0] in ("", *STREAMS):
        raise CannotAudit(
            f"{out} is for records: name a folder of its own for the results (--out)."
        )
    return below


def _day(text: str, latest: date) -> date | None:
    """A folder's day; none for one that no record can be of, or that has not come."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if _EARLIEST <= day <= latest else None
