"""Reads each day's records once, and keeps what they say; see `kept`."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pipeline.audit import kept_rows
from pipeline.audit.kept import (
    FOLDER,
    Counted,
    KeptDay,
    Source,
    manifest_of,
    misfit,
    sources_of,
    version,
)
from pipeline.audit.layout import File, Found, Listing, files_below, readable
from pipeline.audit.quarantine import is_to_be_taken_apart
from pipeline.audit.reading import records, without_broken
from pipeline.audit.results import forget, texts, write_text
from pipeline.errors import CannotAudit

_MOST_PASSES: Final = 8
_MOST_DAYS: Final = 31
_MOST_TOLD: Final = 100
_MOST_BYTES: Final = 2**31
"""Of what is read in one job: what a kill costs, beside what it costs to start one."""
_ABANDONED_MS: Final = 86_400_000
"""Rows that no manifest names are an attempt that was killed, or another audit's at work."""


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
    _broken: set[str] = field(default_factory=set)

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
        files = _by_day(file for file in listing.files if file.day not in self.days)
        if not files:
            return listing
        now_version = version(self.spark.version)
        there = {one.below: one for one in files_below(self.spark, self._folder)}
        manifests = self._manifests(there)
        if not self.days:
            self._clean(there, manifests, every_day)
        why = {}
        for day, of_day in files.items():
            kept = manifests.get(day)
            reason = misfit(kept, of_day, there, now_version)
            if self.from_raw:
                reason = "everything is read from the records"
            elif kept and self._broken.intersection(file.path for file in kept.files):
                reason = "what was kept of it cannot be read"
            if kept and reason is None:
                self.days[day] = kept
            else:
                why[day] = reason or ""
        self.again |= why
        if self.say is not None and why and self.days:
            self.say(_said(why, len(files)))
        for days in _batches(files, sorted(why)):
            listing = self._read(listing, days, now_version)
        return listing

    def bytes_to_read(self, listing: Listing, of_spark: str) -> int:
        """How much `bring_up_to_date` would read of a listing here; without a session.

        Args:
            listing: the files of records.
            of_spark: its version.
        """
        there = {one.below: one for one in files_below(self.spark, self._folder)}
        manifests, now_version = self._manifests(there), version(of_spark)
        return sum(
            sum(file.size for file in of_day)
            for day, of_day in _by_day(listing.files).items()
            if self.from_raw or misfit(manifests.get(day), of_day, there, now_version)
        )

    def rows(self, days: Iterable[date]) -> DataFrame:
        """The rows of days, as `kept_rows.COLUMNS` has them."""
        files = (file for day in sorted(days) for file in self.days[day].files)
        return kept_rows.read(self.spark, [f"{self._folder}/{file.path}" for file in files])

    def told(self) -> dict[str, Any]:
        """For the summary: of how many days what was kept was used, and why others were read."""
        again = dict(sorted(self.again.items()))
        return {
            "from_raw": self.from_raw,
            "days_kept": len(self.days.keys() - again.keys()),
            "days_read": len(again),
            "why": {day.isoformat(): why for day, why in list(again.items())[-_MOST_TOLD:]},
        }

    def forget_broken(self) -> bool:
        """Forget the days whose rows cannot be read, or are not as many as were kept; any?"""
        broken = [kept for kept in self.days.values() if not self._is_whole(kept)]
        for kept in broken:
            self._broken.update(file.path for file in kept.files)
            del self.days[kept.day]
        return bool(broken)

    def _is_whole(self, kept: KeptDay) -> bool:
        try:
            hashes = self.rows([kept.day]).selectExpr("xxhash64(*) AS whole")
            return hashes.where("whole IS NOT NULL").count() == kept.counted.rows
        except (PySparkException, Py4JJavaError):
            return False

    @property
    def _folder(self) -> str:
        return f"{self.out}/{FOLDER}"

    def _manifests(self, there: Mapping[str, Found]) -> dict[date, KeptDay]:
        """By day; one that is not whole is none."""
        names = [name for name in there if name.endswith(".json") and not name.startswith(".")]
        found = {}
        for text in texts(self.spark, [f"{self._folder}/{name}" for name in names]):
            try:
                kept = KeptDay.of(text)
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
                    self._name(one)
            if not waiting:
                return listing
        raise CannotAudit("What is below the records' root changes while it is read: try again.")

    def _written(
        self, files: tuple[File, ...], now_version: str
    ) -> tuple[list[KeptDay], frozenset[str]]:
        """Write the rows of days: their manifests, and the files to be read byte by byte instead.

        A file is named as `layout.readable` has it.
        """
        by_day = _by_day(files)
        attempt = f"rows/{uuid4().hex}"
        began_ms = now_ms()
        rows = kept_rows.of_records(records(self.spark, files))
        count = kept_rows.write(rows, f"{self._folder}/{attempt}", by_day.keys())
        parts: dict[date, list[Source]] = {day: [] for day in by_day}
        for one in files_below(self.spark, f"{self._folder}/{attempt}"):
            folder, _, name = one.below.partition("/")
            if name.startswith("part-") and name.endswith(".parquet"):
                part = Source(f"{attempt}/{one.below}", one.size, one.stamp)
                parts[date.fromisoformat(folder.removeprefix("day="))].append(part)
        paths = [f"{self._folder}/{part.path}" for of_day in parts.values() for part in of_day]
        written = kept_rows.read(self.spark, paths)
        counted = kept_rows.counted(written)
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
                sources_of(of_day, began_ms),
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

    def _name(self, kept: KeptDay) -> None:
        """Write a manifest, by which the rows are believed from now on."""
        place = f"{self._folder}/{manifest_of(kept.day)}"
        write_text(self.spark, place, kept.text(), "application/json")
        self.days[kept.day] = kept

    def _clean(
        self,
        there: Mapping[str, Found],
        manifests: Mapping[date, KeptDay],
        every_day: Collection[date],
    ) -> None:
        """Delete what is of no day, and rows that nothing names and nobody can be at work on."""
        gone = {manifest_of(day) for day in manifests if day not in every_day}
        named = {file.path for kept in manifests.values() for file in kept.files}
        oldest = now_ms() - _ABANDONED_MS
        for name, one in there.items():
            abandoned = name not in named and one.modified < oldest
            if name in gone or (abandoned and name.startswith(("rows/", "."))):
                forget(self.spark, f"{self._folder}/{name}")


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
