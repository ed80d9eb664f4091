"""Which files there are: `<root>/<stream>/dt=YYYY-MM-DD/<anything>`.

Whatever lies below the root is listed here once: to be read, or with the reason why it is not.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from pipeline.audit.reading.places import HERE, ListedFile, is_uri, place, readable
from pipeline.audit.reading.streams import STANDS_FOR, STREAMS
from pipeline.errors import CannotAudit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE: Final = r"(?s)^.*/([a-z_]+)/dt=(\d{4}-\d\d-\d\d)/"
"""In the path of a file that is read: its stream and its day. The last such place: the root's own
path may hold another, and below its day's folder no file that is read has one."""
_PLACE_BELOW: Final = re.compile(r"([a-z_]+)/dt=(\d{4}-\d\d-\d\d)/(?!(?:.*/)?dt=)", re.DOTALL)
_MANIFEST: Final = re.compile(r"/AWSDynamoDB/.*manifest-(summary|files)\.(json|md5|checksum)$")
_EXPORT: Final = re.compile(r"(.*/AWSDynamoDB/)(?:data/|([^/]+/))", re.DOTALL)
"""A file of an export. The data of incremental exports lie together, beside the exports' folders,
and are read when one of these has ended: what another one adds is told of the same day."""
EXPORT_SUMMARY: Final = re.compile(r"((.*/AWSDynamoDB/)[^/]+/)manifest-summary\.json$", re.DOTALL)
"""It tells when the export ended and how many items it has, so it is there when all is written. It
is read, for up to when it has everything, which is a heartbeat.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html"""
UNFINISHED_EXPORT: Final = "unfinished_export"
_CHECKSUM: Final = re.compile(r"^(.*?)\.([^/]*)\.crc$", re.DOTALL)
_HIDDEN: Final = re.compile(r"(^|/)[_.]")
RESULTS: Final = re.compile(
    r"(messages|days)/(day=[^/]+/)?(\.?part-[^/]*\.parquet(\.crc)?|\.?_SUCCESS(\.crc)?)$"
    r"|quarantine/(\.?part-[^/]*\.json(\.crc)?|\.?_SUCCESS(\.crc)?)$"
    r"|(messages|days|quarantine)/(_temporary|\.spark-staging-[^/]*)/.*$"
    r"|cache/\.?\d{4}-\d\d-\d\d\.manifest(\.[0-9a-f]{32})?(\.crc)?$"
    r"|cache/rows/[0-9a-f]{32}/(day=[^/]+/)?"
    r"(\.?part-[^/]*\.parquet(\.crc)?|\.?_SUCCESS(\.crc)?|_temporary/.*)$"
    r"|digests/\.?\d{6}\.json(\.[0-9a-f]{32})?(\.crc)?$"
    r"|\.?(summary\.json|report\.html)(\.[0-9a-f]{32})?(\.crc)?$"
)
"""In the results' folder: what an audit writes, or wrote in an earlier version."""
_EARLIEST, _LATEST = date(2000, 1, 1), date(2099, 12, 31)

_MOST_BYTES: Final = 2**30
"""Of a file that is not here, and so held in memory."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of records; `day` is its folder's, on which they arrived.

    `stamp` is another one for another content, as far as a listing can know; a change before the
    moment `settles` (ms) may leave it as it is.
    """

    path: str
    stream: str
    day: date
    size: int = 0
    stamp: str = ""
    settles: int = 0


def from_root(path: str) -> str:
    """The path of a file that is read, from the root of the records on."""
    placed = re.search(PLACE, path)
    assert placed  # it is listed  # noqa: S101
    return path[placed.start(1) :]


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """What is not read, and why; whose it may be, and of which day, as far as its path tells."""

    path: str
    reason: str
    stream: str | None = None
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of records.

    Attributes:
        files: those to read.
        unread: those that are not.
        modified: when the newest file of records was written (ms).
    """

    files: tuple[File, ...]
    unread: tuple[UnreadFile, ...]
    modified: int
    _days: dict[str, frozenset[date]] = field(default_factory=dict, init=False, compare=False)

    def by_day(self) -> dict[date, list[File]]:
        """The files to read, by their folders' days."""
        found: dict[date, list[File]] = {}
        for file in self.files:
            found.setdefault(file.day, []).append(file)
        return found

    def days(self) -> frozenset[date]:
        """Days that any stream has a file for."""
        return frozenset().union(*(self.days_of(stream) for stream in STREAMS))

    def days_of(self, stream: str) -> frozenset[date]:
        """Days that the stream has a file for."""
        if stream not in self._days:
            days = frozenset(file.day for file in self.files if file.stream == stream)
            self._days[stream] = days
        return self._days[stream]

    def seen_on(self, stream: str) -> frozenset[date]:
        """Days that the stream, or what stands in its place, has a file for."""
        return self.days_of(stream).union(*map(self.days_of, STANDS_FOR.get(stream, ())))


def list_records(spark: "SparkSession | None", root: str, out: str = "") -> Listing:
    """List the records below `root`, a folder or a URI that Spark knows.

    A link is followed. What this process may not read, what no path can name and what lies in no
    stream's day is listed as unread; only what an audit has written into `out` is neither.

    Args:
        spark: the session; its file systems are listed where `root` is not a folder here.

    Raises:
        CannotAudit: there is no such folder, or no record in it.
    """
    listing = listed(place(spark, root).files(), root, out)
    if not listing.files:
        first = (
            f" Not read: {readable(one.path)} ({one.reason})."
            if (one := next(iter(listing.unread), None))
            else ""
        )
        raise CannotAudit(
            f"Nothing to audit in {root}: there is no file at <stream>/dt=YYYY-MM-DD/ for any of "
            f"the streams {', '.join(STREAMS)} that can be read.{first}"
        )
    return listing


def listed(found: Iterable[ListedFile], root: str, out: str = "") -> Listing:
    """What the files below a root are; see `list_records`."""
    found = sorted(found, key=lambda one: one.path)
    names = frozenset(one.below for one in found)
    results = _results_below(root, out, names)
    summaries = [told for name in names if (told := EXPORT_SUMMARY.match(name))]
    ended = {folder for told in summaries for folder in told.groups()}
    files: list[File] = []
    unread: list[UnreadFile] = []
    modified = 0
    for one in found:
        placed = _PLACE_BELOW.match(one.below)
        day = _day(placed[2]) if placed else None
        stream = placed[1] if placed and placed[1] in STREAMS and day else None
        problem = one.problem or _problem(one, stream)
        export = _EXPORT.match(one.below) if stream == "effects" else None
        if export and export[1] + (export[2] or "") not in ended:
            problem = UNFINISHED_EXPORT
        elif _is_no_record(one, stream, names) or _is_result(one.below, results):
            continue
        if stream and day and not problem:
            files.append(File(one.path, stream, day, one.size, one.stamp, one.settles))
            modified = max(modified, one.modified)
        else:
            reason = problem or "misplaced_file"
            whose = stream or _some_stream(one.below)
            unread.append(UnreadFile(one.path, reason, whose, day or _some_day(one.below)))
    return Listing(tuple(files), tuple(unread), modified)


def _problem(one: ListedFile, stream: str | None) -> str | None:
    """Why this is not read."""
    name = one.below.lower()
    if stream is None:
        return "misplaced_file"
    if name.endswith(".parquet"):
        return "unknown_format"
    if _HIDDEN.search(one.below):
        return "hidden_file"  # Hadoop passes over it in silence
    if one.size == 0 and name.endswith(".gz"):
        return "truncated_gzip"
    return "too_large" if one.size > _MOST_BYTES and not one.path.startswith(HERE) else None


def _is_no_record(one: ListedFile, stream: str | None, names: frozenset[str]) -> bool:
    """Whether others than people left it there: an export's list, a mark, a file's checksum."""
    if one.problem:
        return False
    checksum = _CHECKSUM.match(one.below)
    return bool(
        (one.size == 0 and (_HIDDEN.search(one.below) or one.below.endswith("_$folder$")))
        or (
            stream == "effects"
            and _MANIFEST.search(one.path) is not None
            and not EXPORT_SUMMARY.match(one.path)
        )
        or (checksum is not None and checksum[1] + checksum[2] in names)
    )


def _results_below(root: str, out: str, names: frozenset[str]) -> tuple[str, ...]:
    """The folders below the root that hold an audit's results, this one's and earlier ones'."""
    folders = {name.removesuffix("summary.json") for name in names if _is_summary(name)}
    if is_uri(root) or is_uri(out):
        below = out.rstrip("/") + "/"
        top = root.rstrip("/") + "/"
        inside = below.removeprefix(top) if below.startswith(top) else None
    else:
        below = os.path.relpath(os.path.realpath(out or "."), os.path.realpath(root))
        inside = None if below.startswith("..") or not out else below + "/"
    if inside is not None:
        folders.add("" if inside == "./" else inside)
    return tuple(sorted(folders))


def _is_summary(name: str) -> bool:
    return (name == "summary.json" or name.endswith("/summary.json")) and not _PLACE_BELOW.match(
        name
    )


def _is_result(below: str, results: tuple[str, ...]) -> bool:
    return any(
        below.startswith(folder) and RESULTS.match(below[len(folder) :]) for folder in results
    )


def _day(text: str) -> date | None:
    """A folder's day; none for one that no record can be of."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if _EARLIEST <= day <= _LATEST else None


def _some_stream(below: str) -> str | None:
    """The stream that a path names in whatever place, if it is one only."""
    named = {part for part in below.split("/") if part in STREAMS}
    return named.pop() if len(named) == 1 else None


def _some_day(below: str) -> date | None:
    """The day that a path names in whatever way, if it is one only."""
    days = {day for text in _A_DAY.findall(below) if (day := _day(text))}
    return days.pop() if len(days) == 1 else None


_A_DAY: Final = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
