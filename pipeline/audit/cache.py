"""Each day's records, normalised once: rows in Parquet, and a manifest of what they are of.

Below the results' folder:

    cache/2026-01-31.manifest                             what a day's rows are of, written last
    cache/rows/<attempt>/day=2026-01-31/part-*.parquet    the rows, as `records.COLUMNS` has them

Invariant: rows are judged only by a manifest that is whole and of this version of the audit, while
the files of records and of rows are those that it names. Each attempt has a folder of its own, so
that whoever is killed, or works beside another, spoils nobody's rows.

Records expire, and the cache stays: a day whose files have expired is judged by what was cached of
it, by a later version, too, that gives rows the same form. A manifest also names the files by which
its day was judged, so that a later change of them shows.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, Self
from uuid import uuid4

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.reading.all_streams import SCHEMA, is_hash, is_sqs_id, records
from pipeline.audit.reading.effects import Attributes
from pipeline.audit.reading.listing import File, Listing, from_root
from pipeline.audit.reading.places import (
    HASH_OF_NOTHING,
    ListedFile,
    as_argument,
    files_below,
    hashes,
    place,
    readable,
)
from pipeline.audit.reading.records import COLUMNS, KINDS
from pipeline.audit.reading.streams import DELIVERED, REFUSED, Code, codes_of
from pipeline.audit.results.tables import CACHE, parquet_writer
from pipeline.audit.times import DAY_MS, now_ms
from pipeline.errors import CannotAudit

_NO_DICTIONARY: Final = frozenset({"at", "sqs_message_id", "identity"})

_DAYS_AT_ONCE: Final = 10
"""That are read in one job: what a kill costs, beside what it costs to start one."""
_WORTH_TELLING: Final = 2**27  # bytes
_ABANDONED_MS: Final = 86_400_000
"""Rows that no manifest names are an attempt that was killed, or another audit's at work."""
_MOST_TOLD: Final = 100
_EXPIRES: Final = timedelta(days=30)
"""Nothing expires sooner: the least that `RecordsRetentionDays` of records.yaml may be."""
_TRIES: Final = 3

FORM: Final = hashlib.sha256(
    json.dumps([COLUMNS, {code.name: int(code) for code in Code}, REFUSED]).encode()
).hexdigest()
"""Of rows: what is cached in it means the same to each version that has it."""

Files = Mapping[str, str]
"""The hash of each file, by its path from the root of the records on."""


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A file as it was listed; see `listing.File`.

    Attributes:
        path: of a file of records whole, of a file of rows from the cache on.
        size: bytes.
        stamp: empty: the file was so young that a change might not show.
        sha256: of a file of records, when its rows were read; empty: it could not be.
    """

    path: str
    size: int
    stamp: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class DayCounts:
    """What the rows of a day are, so that some questions need none of them.

    Attributes:
        rows: how many, lines that could not be read among them.
        quarantined: how many such lines.
        effects: how many are effects.
        of_others: how many are items, or lines, of other writers where effects are kept.
        performed: how many say of the day that an execution performed the effect.
        seen_at: the latest time (ms) of a delivery, an execution or a row; None: there is none.
        newest_at: the latest of all.
        unknown_ids: records under a name that may stand for an id: `all_streams.with_known_ids`.
        sources: whose the records are, of each of `KINDS` the first and the last in order.
    """

    rows: int = 0
    quarantined: int = 0
    effects: int = 0
    of_others: int = 0
    performed: int = 0
    seen_at: int | None = None
    newest_at: int | None = None
    unknown_ids: int = 0
    sources: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is cached of a day.

    Attributes:
        day: whose folders' records they are, one for each stream.
        sources: the files of records.
        files: the files of rows.
        counts: what they hold.
        version: of the audit that cached it.
        form: of the rows, as `FORM` is.
        judged: the files by which the day was judged when it was over; None: it was not as yet.
    """

    day: date
    sources: tuple[Source, ...]
    files: tuple[Source, ...]
    counts: DayCounts
    version: str
    form: str = FORM
    judged: Files | None = None

    def text(self) -> str:
        """As it is written: a line that vouches for the rest."""
        rest = json.dumps(asdict(self), ensure_ascii=False, default=str)
        return f"{_hash_of(rest)}\n{rest}"

    @classmethod
    def of(cls, text: str) -> Self | None:
        """From what was written; None: it is torn, or was changed."""
        first, _, rest = text.partition("\n")
        if first != _hash_of(rest):
            return None
        one = json.loads(rest)
        try:
            return cls(
                **one
                | {
                    "day": date.fromisoformat(one["day"]),
                    "sources": tuple(Source(**source) for source in one["sources"]),
                    "files": tuple(Source(**source) for source in one["files"]),
                    "counts": DayCounts(**one["counts"]),
                }
            )
        except (KeyError, TypeError):  # of a version that wrote another
            return None

    def hashes(self) -> Files:
        """Of the files of records."""
        return {from_root(one.path): one.sha256 for one in self.sources}

    def has_lost_only(self, files: Sequence[File]) -> bool:
        """Whether files are gone, and nothing else has changed."""
        now = {(file.path, file.size, file.stamp) for file in files}
        return now < {(one.path, one.size, one.stamp) for one in self.sources}

    def misfit(
        self, files: Sequence[File], there: Mapping[str, ListedFile], version: str
    ) -> str | None:
        """Why the day has to be read again; None: its rows are what its files say.

        Args:
            files: the day's files of records that are listed.
            there: what lies in the cache, by its path from there on.
            version: of this audit.
        """
        if self.version != version:
            return "it was cached by another version"
        for one in self.files:
            found = there.get(one.path)
            if found is None or (found.size, found.stamp) != (one.size, one.stamp):
                return "what was cached of it is not whole"
        now = {file.path: (file.size, file.stamp) for file in files}
        then = {one.path: (one.size, one.stamp) for one in self.sources}
        return None if now == then else "files of it came, went or changed"


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def differences(judged: Files, now: Files) -> dict[str, str]:
    """What became of files: `changed`, `gone` or `come`, by their paths; others stayed."""
    return {
        path: "gone" if path not in now else "come" if path not in judged else "changed"
        for path in sorted(judged.keys() | now.keys())
        if judged.get(path) != now.get(path)
    }


def version(of_spark: str, effects: Attributes | None = None) -> str:
    """Of what decides what a record says: the sources, the starter's too, Spark, and attributes.

    All sources, not those that read: who changes one has to remember no number, and the price is
    one night that reads everything again.
    """
    digest, pipeline = hashlib.sha256(), resources.files("pipeline")
    for folder in (pipeline / "audit", pipeline / "spark", resources.files("actonce_core")):
        for name, source in sorted(_sources(folder)):
            digest.update(f"{name}\0".encode() + source + b"\0")
    named = "" if effects is None else f", effects by {effects.key} and {effects.time}"
    return f"{digest.hexdigest()} spark {of_spark}{named}"


def _sources(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from ((f"{folder.name}/{name}", source) for name, source in _sources(one))
        elif one.name.endswith(".py"):
            yield f"{folder.name}/{one.name}", one.read_bytes()


@dataclass(slots=True)
class Cache:
    """The cache below a results' folder, and how it is brought up to date with what is listed.

    Attributes:
        from_raw: believe nothing that was cached before, where there is something to read.
        effects: see `Request`; rows that were read by others are read again.
        days: the manifests that fit their files, by day.
        again: why the others were read, by day.
        changed: what became of the files by which days were judged, by their paths.
    """

    spark: SparkSession
    out: str
    from_raw: bool = False
    effects: Attributes | None = None
    days: dict[date, Manifest] = field(default_factory=dict)
    again: dict[date, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    _version: str = ""

    def bring_up_to_date(
        self,
        listing: Listing,
        every_day: Collection[date],
        relisted: Callable[[], Listing],
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Read what is not cached of a listing, or was cached of other files, and cache it.

        Args:
            every_day: all days that have any file, listed or not.
            relisted: lists the files once more, to see whether one has changed meanwhile.
            say: called with how much is read, if that takes long.

        Raises:
            CannotAudit: what was written is not there, or a file changes whenever it is read.
        """
        files, newest = listing.by_day(), max(every_day)
        self._version = version(self.spark.version, self.effects)
        there = {one.below: one for one in files_below(place(self.spark, self._folder))}
        then = self._manifests(there)
        self._clean(there, then, every_day)
        for day in sorted(files.keys() | {day for day in then if day >= listing.since}):
            self._take(day, files.get(day, []), then.get(day), there, newest)
        size = sum(file.size for day in self.again for file in files[day])
        if say is not None and size > _WORTH_TELLING:
            say(f"reading the records of {len(self.again):,} of {len(files):,} days")
        again = sorted(self.again)
        for first in range(0, len(again), _DAYS_AT_ONCE):
            days = again[first : first + _DAYS_AT_ONCE]
            for one in self._read({day: files[day] for day in days}, relisted):
                was = then.get(one.day)
                self.days[one.day] = replace(one, judged=was.judged if was else None)
                self._write(self.days[one.day])
        for day, manifest in self.days.items():
            if manifest.judged is not None:
                found = differences(manifest.judged, manifest.hashes())
                expired = "gone" if newest - day >= _EXPIRES else ""
                self.changed |= {path: what for path, what in found.items() if what != expired}

    def _take(
        self,
        day: date,
        files: Sequence[File],
        was: Manifest | None,
        there: Mapping[str, ListedFile],
        newest: date,
    ) -> None:
        """Believe what was cached of a day, or have its files read again; none may be left."""
        if was is None:
            self.again[day] = "nothing was cached of it"
        elif self._has_expired(was, files, there, newest):
            self.days[day] = was
        elif not files:
            if was.judged:
                self.days[day] = replace(was, sources=(), files=(), counts=DayCounts())
        elif self.from_raw:
            self.again[day] = "everything is read from the records"
        elif why := was.misfit(files, there, self._version):
            self.again[day] = why
        else:
            self.days[day] = was

    def sources(self, days: Iterable[date]) -> dict[str, date]:
        """Whose the records of days are, and the first day of each."""
        found: dict[str, date] = {}
        for day in days:
            for source in self.days[day].counts.sources if day in self.days else ():
                found.setdefault(source, day)
        return found

    def _has_expired(
        self,
        was: Manifest,
        files: Sequence[File],
        there: Mapping[str, ListedFile],
        newest: date,
    ) -> bool:
        """Whether a day's files have, and its rows are all there is of it."""
        return (
            newest - was.day >= _EXPIRES
            and was.has_lost_only(files)
            and was.form == FORM
            and all(one.path in there for one in was.files)
        )

    def close(self, days: Iterable[date]) -> None:
        """Note by which files days were judged that are over; a later change of them shows."""
        for day in days:
            manifest = self.days.get(day)
            if manifest and (manifest.judged is None or self.from_raw):
                self.days[day] = replace(manifest, judged=manifest.hashes())
                self._write(self.days[day])

    def _write(self, manifest: Manifest) -> None:
        name = f"{manifest.day.isoformat()}.manifest"
        place(self.spark, self._folder).write(name, manifest.text())

    def rows(self, days: Iterable[date] | None = None) -> DataFrame:
        """The rows of days, or of all that are cached, as `records.COLUMNS` has them."""
        wanted = sorted(self.days if days is None else days)
        return self._read_rows(file.path for day in wanted for file in self.days[day].files)

    def as_json(self) -> dict[str, Any]:
        """For the summary: of how many days the cache was used, and why others were read."""
        again = dict(sorted(self.again.items()))
        return {
            "from_raw": self.from_raw,
            "days_cached": len(self.days.keys() - again.keys()),
            "days_read": len(again),
            "why": {day.isoformat(): why for day, why in list(again.items())[-_MOST_TOLD:]},
        }

    @property
    def _folder(self) -> str:
        return f"{self.out}/{CACHE}"

    def _manifests(self, there: Mapping[str, ListedFile]) -> dict[date, Manifest]:
        here = place(self.spark, self._folder)
        names = [name for name in there if name.endswith(".manifest") and name[0] != "."]
        found = [Manifest.of(here.read(name) or "") for name in names]
        return {manifest.day: manifest for manifest in found if manifest}

    def _read(
        self, files: Mapping[date, Sequence[File]], relisted: Callable[[], Listing]
    ) -> list[Manifest]:
        """Write the rows of days, of files that nobody has changed while they were read."""
        for _ in range(_TRIES):
            manifests = self._written(files)
            now = {file.path: file for file in relisted().files}
            changed = [
                file.path
                for of_day in files.values()
                for file in of_day
                if file.path not in now or now[file.path].stamp != file.stamp
            ]
            if not changed:
                return manifests
            left = {
                day: [now[file.path] for file in of_day if file.path in now]
                for day, of_day in files.items()
            }
            files = {day: of_day for day, of_day in left.items() if of_day}
            if not files:
                return []
        raise CannotAudit(
            f"{readable(changed[0])} changes whenever it is read: audit again when nobody writes "
            "it."
        )

    def _written(self, files: Mapping[date, Sequence[File]]) -> list[Manifest]:
        """Write the rows of days."""
        attempt = f"rows/{uuid4().hex}"
        began_ms = now_ms()
        to_read = tuple(file for of_day in files.values() for file in of_day)
        sha256 = hashes(self.spark, [file.path for file in to_read])
        rows = records(self.spark, to_read, self.effects)
        count = write_rows(rows, f"{self._folder}/{attempt}", files.keys())
        parts: dict[date, list[Source]] = {day: [] for day in files}
        for one in files_below(place(self.spark, f"{self._folder}/{attempt}")):
            folder, _, name = one.below.partition("/")
            if name.startswith("part-") and name.endswith(".parquet"):
                part = Source(f"{attempt}/{one.below}", one.size, one.stamp)
                parts[date.fromisoformat(folder.removeprefix("day="))].append(part)
        counts = _counted(self._read_rows(part.path for some in parts.values() for part in some))
        there = sum(one.rows for one in counts.values())
        if there != count:
            # Spark has another file system for this place than is looked at here, say.
            raise CannotAudit(
                f"Of {count:,} rows that were written below {self._folder}/{attempt}, {there:,} "
                "are there: name another folder with --out."
            )

        def source(file: File) -> Source:
            stamp = file.stamp if file.settles < began_ms else ""
            empty = "" if file.size else HASH_OF_NOTHING
            return Source(file.path, file.size, stamp, sha256.get(file.path, empty))

        return [
            Manifest(
                day,
                tuple(map(source, of_day)),
                tuple(parts[day]),
                counts.get(day, DayCounts()),
                self._version,
            )
            for day, of_day in files.items()
        ]

    def _read_rows(self, paths: Iterable[str]) -> DataFrame:
        """The rows in files of the cache; no rows if there is no file."""
        places = [as_argument(f"{self._folder}/{path}") for path in paths]
        if not places:
            nothing = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
            return self.spark.range(0).selectExpr(*nothing)
        return self.spark.read.schema(SCHEMA).parquet(*places)

    def _clean(
        self,
        there: Mapping[str, ListedFile],
        manifests: Mapping[date, Manifest],
        every_day: Collection[date],
    ) -> None:
        """Delete what is of no day, and rows that nothing names and nobody can be at work on.

        A day that is gone stays while its records may have expired, or somebody has to look.
        """
        gone = {
            f"{day.isoformat()}.manifest"
            for day, one in manifests.items()
            if day not in every_day
            and max(every_day) - day < _EXPIRES
            and (one.judged is None or self.from_raw)
        }
        named = {file.path for manifest in manifests.values() for file in manifest.files}
        oldest = now_ms() - _ABANDONED_MS
        for name, one in there.items():
            abandoned = name not in named and one.modified < oldest
            if name in gone or (abandoned and name.startswith(("rows/", "."))):
                place(self.spark, self._folder).delete(name)


def write_rows(rows: DataFrame, folder: str, days: Collection[date]) -> int:
    """Write the rows of days, each into `<folder>/day=<day>/`, and tell how many they are."""
    seen = Observation()
    schema = rows.schema
    observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    if len(days) == 1:
        (day,) = days
        parquet_writer(observed, schema, _NO_DICTIONARY).parquet(f"{folder}/day={day}")
    else:
        by_day = observed.selectExpr("*", "folder AS day")
        parquet_writer(by_day, schema, _NO_DICTIONARY).partitionBy("day").parquet(folder)
    return int(seen.get["rows"])


def _counted(rows: DataFrame) -> dict[date, DayCounts]:
    """What there is of each day that has rows."""
    code, at, source = F.col("code"), F.col("at"), F.col("source")
    executions = codes_of("executions")
    unknown = (is_sqs_id() & code.isin(Code.SENT, Code.FAILED)) | (
        is_hash() & code.isin(*executions)
    )
    midnight = F.unix_date(F.col("folder").cast("date")).cast("bigint") * DAY_MS
    of_kinds = [F.when(source.startswith(f"{kind} "), source) for kind in KINDS]
    sources = F.array(*(end(one) for one in of_kinds for end in (F.min, F.max)))
    numbers = {
        "rows": F.count("*"),
        "quarantined": F.count_if(code == Code.QUARANTINED),
        "effects": F.count_if(code == Code.EFFECT),
        "of_others": F.count_if(code == Code.OF_ANOTHER),
        "performed": F.count_if((code == Code.CLOSED_PERFORMED) & (at >= midnight)),
        "seen_at": F.max(F.when(code.isin(*DELIVERED, *executions), at)),
        "newest_at": F.max(at),
        "unknown_ids": F.count_if(unknown),
        "sources": F.array_distinct(F.array_compact(sources)),
    }
    counted = rows.groupBy("folder").agg(*(one.alias(name) for name, one in numbers.items()))
    return {
        date.fromisoformat(row["folder"]): DayCounts(**{name: row[name] for name in numbers})
        for row in counted.collect()
    }
