"""Which files there are: `<root>/<stream>/dt=YYYY-MM-DD/<anything>`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.streams import STREAMS
from pipeline.errors import CannotAudit

PLACE = r"/([a-z_]+)/dt=(\d{4}-\d\d-\d\d)/"
"""In the path of a file of records: its stream and its day."""
_MANIFEST = re.compile(r"/manifest-(summary|files)\.(json|md5|checksum)$")  # of a DynamoDB export
_RESULTS = re.compile(r"/(messages|days|quarantine)/|/(summary\.json|report\.html)$")


_SMALL = 32 * 2**20  # bytes; 10,000 messages are about 3 MB


class Kind(StrEnum):
    """How a file is read."""

    TEXT = "text"  # its name tells Spark what it is
    PARQUET = "parquet"
    BYTES = "bytes"  # looked at byte by byte: no telling name, or known to be broken


@dataclass(frozen=True, slots=True)
class File:
    """One file of records; `day` is its folder's."""

    path: str
    stream: str
    day: date
    kind: Kind


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of records.

    Attributes:
        files: those to read.
        unread: path and reason of each that is not read.
        modified: when the newest file was written.
    """

    files: tuple[File, ...]
    unread: tuple[tuple[str, str], ...]
    modified: datetime

    def days(self) -> frozenset[date]:
        """Days that any stream has a file for."""
        return frozenset(file.day for file in self.files)

    def days_of(self, stream: str) -> frozenset[date]:
        """Days that the stream has a file for."""
        return frozenset(file.day for file in self.files if file.stream == stream)


def list_records(spark: SparkSession, root: str, ignore: Iterable[str] = ()) -> Listing:
    """List the records below `root`, a folder or a URI that Spark knows.

    Names that begin with `_` or `.` are nobody's records, as for Hadoop. Spark does not tell of
    empty files, so a folder on this machine is listed without it; in a bucket they are not seen.

    Args:
        spark: the session; its file systems are listed where `root` is not a folder here.
        root: the root of the streams.
        ignore: parts of paths that are not records, such as the results' folder.

    Raises:
        CannotAudit: there is no such folder, or no record in it.
    """
    found = _local(root) if not is_uri(root) and Path(root).is_dir() else _listed(spark, root)
    files, unread = [], []
    for path, size, _ in sorted(found):
        place = re.search(PLACE, path)
        if place and place[1] in STREAMS:
            if size == 0 and path.endswith(".gz"):
                unread.append((path, "truncated_gzip"))
            if not _MANIFEST.search(path):
                files.append(File(path, place[1], _day(path, place[2]), _kind(path)))
        elif not _RESULTS.search(path) and not any(part in path for part in ignore):
            unread.append((path, "misplaced_file"))
    if not files:
        raise CannotAudit(
            f"Nothing to audit in {root}: there is no file at <stream>/dt=YYYY-MM-DD/ for any of "
            f"the streams {', '.join(STREAMS)}."
        )
    modified = datetime.fromtimestamp(max(time for _, _, time in found) / 1000, UTC)
    return Listing(tuple(files), tuple(unread), modified)


def is_small(root: str) -> bool:
    """Whether `root` is a folder here with so little in it that starting is most of the work."""
    return not is_uri(root) and sum(size for _, size, _ in _local(root)) < _SMALL


def is_uri(place: str) -> bool:
    """Whether a place is named by a URI, which Spark knows; otherwise it is a path here."""
    return "://" in place


def _local(root: str) -> list[tuple[str, int, int]]:
    """Path, size and time of change (ms) of each file."""
    base = Path(root).resolve()
    found = []
    for file in base.rglob("*"):
        inside = file.relative_to(base).parts
        if file.is_file() and not any(part.startswith(("_", ".")) for part in inside):
            status = file.stat()
            found.append((f"file://{file}", status.st_size, int(status.st_mtime * 1000)))
    return found


def _listed(spark: SparkSession, root: str) -> list[tuple[str, int, int]]:
    try:
        rows = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(root)
            .select("path", "length", F.unix_millis("modificationTime").alias("modified"))
            .collect()
        )
    except AnalysisException as error:
        raise CannotAudit(f"{root} cannot be read: {_first_line(error)}") from error
    return [(row["path"], row["length"], row["modified"]) for row in rows]


def readable(path: str) -> str:
    """A path as a person writes it."""
    return re.sub(r"^file:/+", "/", path)


def file_path() -> Column:
    """Of each row, its file as it is listed; Spark itself tells it percent-encoded.

    What decodes here takes a plus sign for a blank, which it is in no path.
    """
    encoded = F.replace("_metadata.file_path", F.lit("+"), F.lit("%2B"))
    return F.url_decode(encoded).alias("file")


def as_argument(path: str) -> str:
    """A path as an argument of a reader, which would take it for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _day(path: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise CannotAudit(
            f"{readable(path)} is in a folder of no day: rename dt={text}."
        ) from error


def _kind(path: str) -> Kind:
    name = path.rsplit("/", 1)[1].lower()
    if name.endswith(".parquet"):
        return Kind.PARQUET
    return Kind.TEXT if name.endswith((".jsonl", ".json", ".gz")) else Kind.BYTES


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
