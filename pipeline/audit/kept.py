"""What was read of each day's folders, kept so that it is read once.

Below the results' folder:

    kept/2026-01-31.json                                  what a day's rows are of, written last
    kept/rows/<attempt>/day=2026-01-31/part-*.parquet     the rows, as `COLUMNS` has them

Nothing is believed but by such a manifest: of this version of the audit, of the very files that are
listed now, with rows in the very files that it names. Each attempt has a folder of its own, so that
whoever is killed, or works beside another, spoils nobody's rows.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, Self
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.reading.all_streams import records, without_broken
from pipeline.audit.reading.listing import DAY, File, Listing
from pipeline.audit.reading.places import Found, as_argument, files_below, place, readable
from pipeline.audit.reading.quarantine import is_to_be_taken_apart
from pipeline.audit.reading.streams import STREAM_OF, Code
from pipeline.audit.results.tables import KEPT, parquet_writer
from pipeline.audit.sql import columns
from pipeline.errors import CannotAudit

COLUMNS: Final = {
    "message_id": "string",
    "at": "bigint",
    "code": "int",
    "f1": "bigint",
    "f2": "bigint",
    "stream": "string",
    "what": "string",
    "sqs_message_id": "string",
    "file": "string",
    "line": "bigint",
    "problem": "string",
    "text": "string",
}
"""Of a kept row: a record's columns (see `records.text_records`). Of a line that could not be read
`file` is where it is, and `text` what is shown of it; else `file` is only as much as tells its day.
"""
_SHOWN: Final = 200  # characters of a line that could not be read
_NO_DICTIONARY: Final = frozenset({"at", "sqs_message_id", "f1", "f2"})
_SHOWS_LIFE: Final = " OR ".join(
    f"code BETWEEN {int(first)} AND {int(last)}"
    for first, last in ((Code.STARTED, Code.REFUSED_OTHER_MEMORY), STREAM_OF["executions"])
)
_UNKNOWN_ID: Final = (
    f"(startswith(message_id, 'sqs:') AND code IN ({int(Code.SENT)}, {int(Code.FAILED)})) "
    "OR (startswith(message_id, 'sha256-') AND code BETWEEN "
    f"{int(STREAM_OF['executions'][0])} AND {int(STREAM_OF['executions'][1])})"
)

_MOST_PASSES: Final = 8
_MOST_DAYS: Final = 31
_MOST_BYTES: Final = 2**31
"""Of what is read in one job: what a kill costs, beside what it costs to start one."""
_ABANDONED_MS: Final = 86_400_000
"""Rows that no manifest names are an attempt that was killed, or another audit's at work."""
_MOST_TOLD: Final = 100


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A file as it was listed; see `listing.File`.

    Attributes:
        path: of a file of records whole, of a file of rows from `kept` on.
        size: bytes.
        stamp: empty: the file was so young that a change might not show.
    """

    path: str
    size: int
    stamp: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What the rows of a day are, so that some questions need none of them.

    Attributes:
        rows: how many, lines that could not be read among them.
        quarantined: how many such lines.
        seen_at: the latest time (ms) of a delivery, an execution or a row; None: there is none.
        unknown_ids: records under a name that may stand for an id: `all_streams.with_known_ids`.
    """

    rows: int = 0
    quarantined: int = 0
    seen_at: int | None = None
    unknown_ids: int = 0


@dataclass(frozen=True, slots=True)
class KeptDay:
    """A day's manifest.

    Attributes:
        day: whose folders' records they are, one for each stream.
        sources: the files of records.
        files: the files of rows.
        counted: what they hold.
        version: of the audit that read them.
    """

    day: date
    sources: tuple[Source, ...]
    files: tuple[Source, ...]
    counted: Counted
    version: str

    def text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), ensure_ascii=False, default=str) + "\n"

    @classmethod
    def of(cls, text: str) -> Self:
        """From what was written.

        Raises:
            ValueError: that is no manifest.
        """
        try:
            told = json.loads(text)
            return cls(
                date.fromisoformat(told["day"]),
                tuple(Source(**one) for one in told["sources"]),
                tuple(Source(**one) for one in told["files"]),
                Counted(**told["counted"]),
                told["version"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no manifest: {error!r}") from error


def version(of_spark: str) -> str:
    """Of everything that decides what a record says: the audit's own sources, and Spark.

    All sources, not those that read: who changes one has to remember no number, and the price is
    one night that reads everything again.
    """
    digest = hashlib.sha256()
    package = resources.files("pipeline")
    for name, source in sorted((*_sources(package / "audit"), *_sources(package / "spark"))):
        digest.update(f"{name}\0".encode() + source + b"\0")
    return f"{digest.hexdigest()} spark {of_spark}"


def _sources(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from ((f"{folder.name}/{name}", source) for name, source in _sources(one))
        elif one.name.endswith(".py"):
            yield f"{folder.name}/{one.name}", one.read_bytes()


def misfit(
    kept: KeptDay | None,
    files: Sequence[File],
    there: Mapping[str, Found],
    now_version: str,
) -> str | None:
    """Why a day has to be read again; None: what was kept of it is what its files say.

    Args:
        kept: its manifest.
        files: the day's files of records that are listed.
        there: what lies below `kept`, by its path from there on.
        now_version: of this audit.
    """
    if kept is None:
        return "nothing was kept of it"
    if kept.version != now_version:
        return "another version of the audit has read it"
    for one in kept.files:
        found = there.get(one.path)
        if found is None or (found.size, found.stamp) != (one.size, one.stamp):
            return "what was kept of it is not whole"
    now = {file.path: (file.size, file.stamp) for file in files}
    then = {one.path: (one.size, one.stamp) for one in kept.sources}
    came, went = len(now.keys() - then.keys()), len(then.keys() - now.keys())
    changed = sum(now[path] != then[path] for path in now.keys() & then.keys())
    told = [
        f"{count:,} {'file' if count == 1 else 'files'} {what}"
        for count, what in ((came, "came"), (went, "went"), (changed, "changed"))
        if count
    ]
    return ", ".join(told) or None


@dataclass(slots=True)
class KeptState:
    """What is kept below a results' folder, and brought up to date with what is listed.

    Attributes:
        spark: the session.
        out: the results' folder.
        from_raw: believe nothing that was kept before.
        say: told what is read again.
        days: what is kept of each day, and fits its files.
        again: why the others were read, by day.
    """

    spark: SparkSession
    out: str
    from_raw: bool = False
    say: Callable[[str], None] | None = None
    days: dict[date, KeptDay] = field(default_factory=dict)
    again: dict[date, str] = field(default_factory=dict)

    def bring_up_to_date(self, listing: Listing, every_day: Collection[date]) -> Listing:
        """Read what is not kept of a listing, or was kept of other files, and keep it.

        Args:
            listing: the files of records.
            every_day: all days that have any, listed or not: nothing is kept of another.

        Returns:
            The listing without files that turn out not to be readable.

        Raises:
            CannotAudit: the records change while they are read.
            Exception: something is wrong, and not with a file of records.
        """
        files = _by_day(listing.files)
        now_version = version(self.spark.version)
        there = {one.below: one for one in files_below(self.spark, self._folder)}
        manifests = self._manifests(there)
        self._clean(there, manifests, every_day)
        for day, of_day in files.items():
            kept = manifests.get(day)
            reason = misfit(kept, of_day, there, now_version)
            if self.from_raw:
                reason = "everything is read from the records"
            if kept is not None and reason is None:
                self.days[day] = kept
            else:
                self.again[day] = reason or ""
        if self.say is not None and self.again and self.days:
            self.say(_said(self.again, len(files)))
        for days in _batches(files, sorted(self.again)):
            listing = self._read(listing, days, now_version)
        return listing

    def rows(self, days: Iterable[date] | None = None) -> DataFrame:
        """The rows of days, or of all that are kept, as `COLUMNS` has them."""
        wanted = sorted(self.days if days is None else days)
        return self._read_rows(file.path for day in wanted for file in self.days[day].files)

    def told(self) -> dict[str, Any]:
        """For the summary: of how many days what was kept was used, and why others were read."""
        again = dict(sorted(self.again.items()))
        return {
            "from_raw": self.from_raw,
            "days_kept": len(self.days.keys() - again.keys()),
            "days_read": len(again),
            "why": {day.isoformat(): why for day, why in list(again.items())[-_MOST_TOLD:]},
        }

    @property
    def _folder(self) -> str:
        return f"{self.out}/{KEPT}"

    def _manifests(self, there: Mapping[str, Found]) -> dict[date, KeptDay]:
        """By day; one that is not whole is none."""
        names = [name for name in there if name.endswith(".json") and not name.startswith(".")]
        found = {}
        for name in names:
            try:
                kept = KeptDay.of(place(self.spark, self._folder).read(name) or "")
            except ValueError:
                continue
            found[kept.day] = kept
        return found

    def _read(self, listing: Listing, days: Sequence[date], now_version: str) -> Listing:
        """Read days and keep them; see `bring_up_to_date`.

        Spark's own reader is quick, and decides only that a file is well. A day with a file that is
        not is read once more, that file byte by byte, and nothing is counted by both.
        """
        waiting = frozenset(days)
        for _ in range(_MOST_PASSES):
            files = tuple(file for file in listing.files if file.day in waiting)
            if not files:
                return listing
            try:
                kept, careful = self._written(files, now_version)
            except (PySparkException, Py4JJavaError) as error:
                part = Listing(files, (), listing.modified)
                listing = _with(listing, files, without_broken(self.spark, part, error))
                continue
            listing = listing.carefully(careful)
            waiting = frozenset(file.day for file in files if readable(file.path) in careful)
            for one in kept:
                if one.day not in waiting:
                    name = f"{one.day.isoformat()}.json"
                    place(self.spark, self._folder).write(name, one.text(), "application/json")
                    self.days[one.day] = one
            if not waiting:
                return listing
        raise CannotAudit("What is below the records' root changes while it is read: try again.")

    def _written(
        self, files: tuple[File, ...], now_version: str
    ) -> tuple[list[KeptDay], frozenset[str]]:
        """Write the rows of days: their manifests, and the files to be read byte by byte instead.

        A file is named as `places.readable` has it.
        """
        by_day = _by_day(files)
        attempt = f"rows/{uuid4().hex}"
        began_ms = now_ms()
        rows = _to_keep(records(self.spark, files))
        count = write_rows(rows, f"{self._folder}/{attempt}", by_day.keys())
        parts: dict[date, list[Source]] = {day: [] for day in by_day}
        for one in files_below(self.spark, f"{self._folder}/{attempt}"):
            folder, _, name = one.below.partition("/")
            if name.startswith("part-") and name.endswith(".parquet"):
                part = Source(f"{attempt}/{one.below}", one.size, one.stamp)
                parts[date.fromisoformat(folder.removeprefix("day="))].append(part)
        written = self._read_rows(part.path for of_day in parts.values() for part in of_day)
        counted = _counted(written)
        if sum(one.rows for one in counted.values()) != count:
            # Spark has another file system for this place than is looked at here, say.
            raise CannotAudit(
                f"Of {count:,} rows that were written below {self._folder}/{attempt}, "
                f"{sum(one.rows for one in counted.values()):,} are there: name another folder "
                "with --out."
            )
        kept = [
            KeptDay(
                day,
                tuple(
                    Source(file.path, file.size, file.stamp if file.settles < began_ms else "")
                    for file in of_day
                ),
                tuple(parts[day]),
                counted.get(day, Counted()),
                now_version,
            )
            for day, of_day in by_day.items()
        ]
        named: set[str] = set()
        if any(one.quarantined for one in counted.values()):
            bad = written.where("problem IS NOT NULL").select("file").distinct()
            named = {readable(row["file"]) for row in bad.collect()}
        return kept, frozenset(
            readable(file.path)
            for file in files
            if readable(file.path) in named and is_to_be_taken_apart(file)
        )

    def _read_rows(self, paths: Iterable[str]) -> DataFrame:
        """The rows in files below `kept`; no rows if there is no file."""
        places = [as_argument(f"{self._folder}/{path}") for path in paths]
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        if not places:
            nothing = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
            return self.spark.range(0).selectExpr(*nothing)
        return self.spark.read.schema(schema).parquet(*places)

    def _clean(
        self,
        there: Mapping[str, Found],
        manifests: Mapping[date, KeptDay],
        every_day: Collection[date],
    ) -> None:
        """Delete what is of no day, and rows that nothing names and nobody can be at work on."""
        gone = {f"{day.isoformat()}.json" for day in manifests if day not in every_day}
        named = {file.path for kept in manifests.values() for file in kept.files}
        oldest = now_ms() - _ABANDONED_MS
        for name, one in there.items():
            abandoned = name not in named and one.modified < oldest
            if name in gone or (abandoned and name.startswith(("rows/", "."))):
                place(self.spark, self._folder).delete(name)


def _to_keep(records: DataFrame) -> DataFrame:
    """The rows to keep of records (see `records.text_records`), and the `day` of each."""
    row = {
        "file": f"CASE WHEN problem IS NULL THEN concat('/dt=', {DAY}, '/') ELSE file END",
        "text": f"CASE WHEN problem IS NOT NULL THEN substring(text, 1, {_SHOWN}) END",
    }
    return records.selectExpr(
        *(f"{row.get(name, name)} AS {name}" for name in COLUMNS), f"{DAY} AS day"
    )


def write_rows(rows: DataFrame, folder: str, days: Collection[date]) -> int:
    """Write the rows of days, each into `<folder>/day=<day>/`, and tell how many they are."""
    seen = Observation()
    schema = rows.schema
    observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    if len(days) == 1:
        (day,) = days
        writer = parquet_writer(observed.drop("day"), schema, _NO_DICTIONARY)
        writer.parquet(f"{folder}/day={day}")
    else:
        parquet_writer(observed, schema, _NO_DICTIONARY).partitionBy("day").parquet(folder)
    return int(seen.get["rows"])


def _counted(rows: DataFrame) -> dict[date, Counted]:
    """What there is of each day that has rows."""
    numbers = {
        "rows": "count(1)",
        "quarantined": f"count_if(code = {int(Code.QUARANTINED)})",
        "seen_at": f"max(CASE WHEN {_SHOWS_LIFE} THEN at END)",
        "unknown_ids": f"count_if({_UNKNOWN_ID})",
    }
    by_day = rows.groupBy(columns({"day": DAY})[0]).agg(*columns(numbers))
    return {
        date.fromisoformat(row["day"]): Counted(**{name: row[name] for name in numbers})
        for row in by_day.collect()
    }


def now_ms() -> int:
    """The moment, as a file's times are told."""
    return int(time.time() * 1000)


def _by_day(files: Iterable[File]) -> dict[date, list[File]]:
    found: dict[date, list[File]] = {}
    for file in files:
        found.setdefault(file.day, []).append(file)
    return found


def _batches(
    files: Mapping[date, Sequence[File]], days: Sequence[date]
) -> Iterator[Sequence[date]]:
    """The days in the order given, so many at a time as are read in one job."""
    batch: list[date] = []
    size = 0
    for day in days:
        of_day = sum(file.size for file in files[day])
        if batch and (len(batch) == _MOST_DAYS or size + of_day > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(day)
        size += of_day
    if batch:
        yield batch


def _with(listing: Listing, files: Iterable[File], part: Listing) -> Listing:
    """The listing with a part of its files looked at more closely."""
    looked_at = {file.path for file in files}
    others = tuple(file for file in listing.files if file.path not in looked_at)
    return Listing((*others, *part.files), (*listing.unread, *part.unread), listing.modified)


_TOLD: Final = 3


def _said(why: Mapping[date, str], days: int) -> str:
    told = [f"{day} ({reason})" for day, reason in sorted(why.items())[:_TOLD]]
    more = f" and {len(why) - _TOLD:,} more" if len(why) > _TOLD else ""
    return f"of {days:,} days, reading again {', '.join(told)}{more}"
