"""Judged by the cache of earlier days, or from the records: the same."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.horizon import horizon_of
from pipeline.audit.job import message_rows
from pipeline.audit.reading.all_streams import records, with_known_ids
from pipeline.audit.reading.effects import Attributes
from pipeline.audit.reading.listing import list_records
from tests.pipeline.nights import Row, night, requested, rows_of, said, settled
from tests.pipeline.streams_on_disk import EFFECTS
from tests.pipeline.weeks import Weeks, day


def judged_at_once(spark: SparkSession, root: Path, number: int) -> list[Row]:
    """The rows of a night, in one plan from lines to verdicts; nothing is cached."""
    listing = list_records(spark, str(root))
    request = requested(str(root), since=day(number - 1), until=day(number))
    horizon = horizon_of(request, listing, 0)
    rows = records(spark, listing.files, Attributes.of_output(EFFECTS))
    judged = message_rows(with_known_ids(rows), request, listing, horizon).where(
        F.col("message_id").isNotNull() & F.col("day").between(day(number - 1), day(number))
    )
    return [row.asDict() for row in judged.orderBy("day", "message_id").collect()]


def judged_of(summary: Row) -> Row:
    """What is said but for files that came late, which the one names and the other accepts."""
    notice = {"sentence", "exit_status", "cannot_judge", "changed"}
    return {name: told for name, told in said(summary).items() if name not in notice}


def played(
    spark: SparkSession,
    folder: Path,
    weeks: Weeks,
    every: int,
    look: Callable[[int, Path], None],
) -> list[Row]:
    """Each night is judged with the cache, every so many from the records; what all said."""
    root, told = folder / "records", []
    root.mkdir()
    for number in range(weeks.days):
        weeks.arrive(root, number)
        settled(root)
        if number == 0:
            continue
        cached = night(spark, root, folder / "cached", number)
        told.append(cached)
        if (weeks.days - 1 - number) % every:
            continue
        from_raw = night(spark, root, folder / "from-raw", number, from_raw=True)
        since = date.fromisoformat(day(number - 1))
        rows = [rows_of(folder / way, since) for way in ("cached", "from-raw")]
        assert rows[0] == rows[1], day(number)
        assert judged_of(cached) == judged_of(from_raw), day(number)
        assert from_raw["read"]["days_cached"] == 0
        look(number, folder)
    return told


@pytest.mark.parametrize(
    ("weeks", "every"),
    [
        (Weeks(4, 30, seed=7), 4),
        pytest.param(Weeks(14, 40, seed=5, names=True, spoiled=True), 2, marks=pytest.mark.long),
    ],
    ids=["days", "two weeks, with other names and spoiled lines"],
)
def test_night_after_night_the_same_as_from_the_records(
    spark: SparkSession,
    tmp_path: Path,
    weeks: Weeks,
    every: int,
) -> None:
    def look(number: int, folder: Path) -> None:
        if number != weeks.days - 1 or weeks.spoiled:
            return
        # And neither is believed alone.
        at_once = judged_at_once(spark, folder / "records", number)
        names = ("message_id", "verdict", "judged", "deliveries", "effects", "sent")
        assert [tuple(row[name] for name in names) for row in at_once] == [
            tuple(row[name] for name in names)
            for row in rows_of(folder / "cached")
            if date.fromisoformat(str(row["day"])) >= date.fromisoformat(day(number - 1))
        ]

    told = played(spark, tmp_path, weeks, every, look)
    assert told[0]["read"]["days_cached"] == 0
    assert all(night["read"]["days_read"] for night in told)
    assert any(night["read"]["days_cached"] for night in told)
    why = {reason for night in told for reason in night["read"]["why"].values()}
    assert why >= {"nothing was cached of it", "files of it came, went or changed"}, why
    assert any(night["late_days"] for night in told)
    assert any(night["verdicts"]["performed_once"] for night in told)
