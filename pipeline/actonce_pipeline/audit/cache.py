"""Each day's records, normalised once: rows in Parquet, and a manifest of what they are of.

Below the results' folder:

    cache/2026-01-31.manifest            what a day's rows are of, JSON, written last
    cache/rows/<write>/part-*.parquet    the rows, as `row.COLUMNS` has them

Invariant: rows are judged only by a manifest of this version of the audit, while the files of
records and of rows are those that it names. Each write has a folder of its own, so that whoever is
killed spoils no rows; two audits at once have to be kept apart (`storage.alone_in`).

Records expire, and the cache stays: a day whose files have expired is judged by what was cached of
it, by a later version, too, that gives rows the same form. Files that come to it join that.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final, Self
from uuid import uuid4

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.events import SCHEMA, records
from actonce_pipeline.audit.reading.listing import File, Listing
from actonce_pipeline.audit.reading.row import COLUMNS, KINDS
from actonce_pipeline.audit.reading.storage import (
    ListedFile,
    as_argument,
    files_below,
    hash_of,
    place,
)
from actonce_pipeline.audit.reading.streams import DELIVERED, REFUSED, Code, codes_of
from actonce_pipeline.audit.results.tables import CACHE, parquet_writer
from actonce_pipeline.audit.times import midnight
from actonce_pipeline.errors import CannotAudit

_NO_DICTIONARY: Final = frozenset({"at", "identity"})
_EXPIRES: Final = timedelta(days=30)
"""Nothing expires sooner: the least that `RecordsRetentionDays` of records.yaml may be."""
_MANIFEST: Final = ".manifest"

FORM: Final = hashlib.sha256(
    json.dumps([COLUMNS, {code.name: int(code) for code in Code}, REFUSED]).encode()
).hexdigest()
"""Of rows: what is cached in it means the same to each version that has it."""

Files = Mapping[str, str]
"""What stands for the content of each file, by its path from the root of the records on."""


@dataclass(frozen=True, slots=True)
class DayCounts:
    """How many rows of a day are what, so that some questions need none of them.

    Attributes:
        quarantined: lines that could not be read.
        of_others: items, or lines, of other writers where effects are kept.
        performed: executions, or first attempts, that performed after the day's first minute.
        seen_at: the latest time (ms) of a delivery or an execution; None: there is none.
        newest_at: the latest of all.
        sources: whose the records are, of each of `KINDS` the first and the last in order.
    """

    rows: int = 0
    quarantined: int = 0
    effects: int = 0
    of_others: int = 0
    performed: int = 0
    seen_at: int | None = None
    newest_at: int | None = None
    sources: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is cached of a day.

    Attributes:
        sources: the files of records, as they were before they were read.
        rows: the files of rows, by their paths from the cache on, and the size of each.
        counts: what they hold.
        version: of the audit that cached it.
        form: of the rows, as `FORM` is.
        judged: the files by which the day was judged when it was over; None: it was not as yet.
    """

    sources: Files
    rows: Mapping[str, int]
    counts: DayCounts
    version: str
    form: str = FORM
    judged: Files | None = None

    @classmethod
    def of(cls, text: str) -> Self | None:
        """From the JSON of its fields; None: it is torn. Counts of another version are left out."""
        try:
            fields = json.loads(text)
            known = {name: fields["counts"][name] for name in DayCounts.__slots__}
            return cls(**fields | {"counts": DayCounts(**known)})
        except (ValueError, TypeError, KeyError):
            return None

    def fits(self, sources: Files, there: Mapping[str, int], version: str) -> bool:
        """Whether a day's rows are what its files say.

        Args:
            sources: the day's files, as they are.
            there: the sizes of what lies in the cache, by the paths from there on.
            version: of this audit.
        """
        is_whole = self.rows.items() <= there.items()
        return is_whole and self.version == version and self.sources == sources

    def is_all_there_is(self, sources: Files, there: Mapping[str, int]) -> bool:
        """Whether files of a day have expired that only its rows tell of; see `fits`."""
        is_whole = self.rows.items() <= there.items()
        return is_whole and self.form == FORM and not self.sources.keys() <= sources.keys()


def differences(judged: Files, now: Files) -> dict[str, str]:
    """What became of files: `changed`, `gone` or `come`, by their paths; others stayed."""
    return {
        path: "gone" if path not in now else "come" if path not in judged else "changed"
        for path in sorted(judged.keys() | now.keys())
        if judged.get(path) != now.get(path)
    }


def contents(files: Sequence[File]) -> Files:
    """What stands for the content of files; empty text for one that cannot be read."""
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda file: file.content or hash_of(file.path), files)
        return {file.from_root: content for file, content in zip(files, found, strict=True)}


def version(of_spark: str, effects: Attributes | None = None) -> str:
    """Of what decides what a record says: all sources, the starter's too, Spark, and attributes."""
    digest = hashlib.sha256()
    for package in ("actonce_pipeline.audit", "actonce_pipeline.spark", "actonce_core"):
        for name, source in sorted(_sources(resources.files(package))):
            digest.update(f"{name}\0".encode() + source + b"\0")
    effects_version = "" if effects is None else f", effects by {effects.key} and {effects.time}"
    return f"{digest.hexdigest()} spark {of_spark}{effects_version}"


def _sources(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from ((f"{entry.name}/{name}", source) for name, source in _sources(entry))
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


@dataclass(slots=True)
class Cache:
    """The cache below a results' folder, and how it is brought up to date with what is listed.

    Attributes:
        from_raw: believe nothing that was cached before, where there is something to read.
        effects: see `Request`; rows that were read by others are read again.
        days: the manifests that fit their files, by day.
        again: those of which something was read.
        changed: what became of the files by which days were judged, by their paths.
        gone: of days that were cached, and have no file any more, what they had.
    """

    spark: SparkSession
    out: str
    from_raw: bool = False
    effects: Attributes | None = None
    days: dict[date, Manifest] = field(default_factory=dict)
    again: set[date] = field(default_factory=set)
    changed: dict[str, str] = field(default_factory=dict)
    gone: dict[date, Manifest] = field(default_factory=dict)
    _version: str = ""

    def bring_up_to_date(self, listing: Listing, relisted: Callable[[], Listing]) -> None:
        """Read what is not cached of a listing, or was cached of other files, and cache it.

        Args:
            relisted: lists the files once more, to see whether one has changed meanwhile.

        Raises:
            CannotAudit: what was written is not there, or a file changed while it was read.
        """
        self._version = version(self.spark.version, self.effects)
        below = files_below(place(self.spark, self._folder))
        known = self._manifests(below)
        self._clean(below, known)
        there = {file.below: file.size for file in below}
        files, newest = listing.by_day(), max(listing.days())
        known = {day: was for day, was in known.items() if day in files or day >= listing.since}
        sources = {day: contents(files.get(day, [])) for day in known}
        expired = {day for day in known if newest - day >= _EXPIRES}
        self.again = files.keys() - known.keys()
        for day, was in known.items():
            now = sources[day]
            if day in expired and was.is_all_there_is(now, there):
                self.days[day] = was
                if not now.items() <= was.sources.items():
                    self.again.add(day)
            elif not now:
                # What this version cannot read of a day that has expired stays for one that can.
                self.gone |= {} if day in expired else {day: was}
            elif not self.from_raw and was.fits(now, there, self._version):
                self.days[day] = was
            else:
                self.again.add(day)
        self._read({day: files[day] for day in sorted(self.again)}, sources, known, relisted)
        for day, manifest in (self.days | self.gone).items():
            if manifest.judged is not None:
                now = {} if day in self.gone else manifest.sources
                self.changed |= differences(manifest.judged, now)

    def _read(
        self,
        files: Mapping[date, Sequence[File]],
        sources: Mapping[date, Files],
        known: Mapping[date, Manifest],
        relisted: Callable[[], Listing],
    ) -> None:
        """Cache the rows of days, of files that nobody has changed while they were read."""
        # Known before they are read, so that a change shows.
        before = {day: sources.get(day) or contents(of_day) for day, of_day in files.items()}
        for day, of_day in files.items():
            self._read_day(day, of_day, before[day], known.get(day))
        now = {file.path: file for file in relisted().files} if files else {}
        changed: list[str] = []
        for day, of_day in files.items():
            after = contents([now[file.path] for file in of_day if file.path in now])
            if found := differences(before[day], after):
                # So that its rows are of no files, or those of before.
                self._write(day, known.get(day) or replace(self.days[day], sources={}))
                changed += found
        if changed:
            raise CannotAudit(f"{changed[0]} changed while it was read: audit again.")

    def _read_day(
        self, day: date, files: Sequence[File], sources: Files, was: Manifest | None
    ) -> None:
        folder = f"rows/{uuid4().hex}"
        kept = self.days.get(day)  # of files that have expired, before others came
        old = kept.sources if kept else {}
        new = [one for one in files if old.get(one.from_root) != sources[one.from_root]]
        rows = records(self.spark, tuple(new), self.effects)
        if kept:
            rows, sources = rows.union(self.rows([day])).distinct(), {**old, **sources}
        counts = write_rows(rows, f"{self._folder}/{folder}", day)
        parts = {
            f"{folder}/{part.below}": part.size
            for part in files_below(place(self.spark, f"{self._folder}/{folder}"))
            if part.below.startswith("part-") and part.below.endswith(".parquet")
        }
        judged = was.judged if was else None
        if counts.rows and not parts:  # Spark has another file system for this place, say
            raise CannotAudit(
                f"Spark wrote {counts.rows:,} rows, and none is below {self._folder}/{folder}: "
                "name another folder with --out."
            )
        self._write(day, Manifest(sources, parts, counts, self._version, judged=judged))

    def _clean(self, below: Sequence[ListedFile], known: Mapping[date, Manifest]) -> None:
        """Delete what no manifest names: rows of before, or of an audit that was killed."""
        kept = {f"{day}{_MANIFEST}" for day in known}
        kept |= {part.rpartition("/")[0] for was in known.values() for part in was.rows}
        for file in below:
            if not kept & {file.below, file.below.rpartition("/")[0]}:
                place(self.spark, self._folder).delete(file.below)

    def close(self, days: Iterable[date]) -> None:
        """Note by which files days were judged that are over; a later change of them shows.

        What was cached of days that are gone is named no more, but of one that was judged not
        before somebody has looked.
        """
        for day in days:
            manifest = self.days.get(day)
            if manifest and (manifest.judged is None or self.from_raw):
                self._write(day, replace(manifest, judged=manifest.sources))
        here = place(self.spark, self._folder)
        for day, manifest in self.gone.items():
            if manifest.judged is None or self.from_raw:
                here.delete(f"{day}{_MANIFEST}")

    def _write(self, day: date, manifest: Manifest) -> None:
        text = json.dumps(asdict(manifest), ensure_ascii=False)
        place(self.spark, self._folder).write(f"{day}{_MANIFEST}", text)
        self.days[day] = manifest

    def rows(self, days: Iterable[date] | None = None) -> DataFrame:
        """The rows of days, or of all that are cached, as `row.COLUMNS` has them."""
        wanted = sorted(self.days if days is None else days)
        paths = [f"{self._folder}/{path}" for day in wanted for path in self.days[day].rows]
        if not paths:
            nothing = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
            return self.spark.range(0).selectExpr(*nothing)
        return self.spark.read.schema(SCHEMA).parquet(*map(as_argument, paths))

    @property
    def _folder(self) -> str:
        return f"{self.out}/{CACHE}"

    def _manifests(self, below: Sequence[ListedFile]) -> dict[date, Manifest]:
        here, found = place(self.spark, self._folder), {}
        for name in (file.below for file in below):
            with contextlib.suppress(ValueError):  # a stranger's file
                day = date.fromisoformat(name.removesuffix(_MANIFEST))
                if name == f"{day}{_MANIFEST}" and (was := Manifest.of(here.read(name) or "")):
                    found[day] = was
        return found


def write_rows(rows: DataFrame, folder: str, day: date) -> DayCounts:
    """Write the rows of a day into a folder that is not there yet, and count them."""
    code, at, source = F.col("code"), F.col("at"), F.col("source")
    # Before that the effect may be of the day before.
    performed = (code == Code.CLOSED_PERFORMED) & (at >= midnight(day) + 60_000)
    numbers = {
        "rows": F.count("*"),
        "quarantined": F.count_if(code == Code.QUARANTINED),
        "effects": F.count_if(code == Code.EFFECT),
        "of_others": F.count_if(code == Code.OF_ANOTHER),
        "performed": F.count_if(performed),
        "seen_at": F.max(F.when(code.isin(*DELIVERED, *codes_of("executions")), at)),
        "newest_at": F.max(at),
    }
    of_kinds = [F.when(source.startswith(f"{kind} "), source) for kind in KINDS]
    ends = {
        f"end_{n}": end for n, end in enumerate(f(one) for one in of_kinds for f in (F.min, F.max))
    }
    seen = Observation()
    observed = rows.observe(seen, *(one.alias(name) for name, one in (numbers | ends).items()))
    parquet_writer(observed, _NO_DICTIONARY).parquet(folder)
    found = seen.get
    sources = dict.fromkeys(found[name] for name in ends if found[name])
    return DayCounts(**{name: found[name] for name in numbers}, sources=list(sources))
