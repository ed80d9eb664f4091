"""Judged night after night by the cache of earlier days, or from the records: the same."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from tests.pipeline.judge import Record
from tests.pipeline.nights import Row, audited, comparable, rows_of
from tests.pipeline.streams_on_disk import DAY, KINDS, STREAMS, at, line_of, performed

NIGHTS = 3
FIRST = date.fromisoformat(DAY)


def day(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat()


def history(random: Random, name: str, number: int) -> Iterator[Record]:
    """One message's records, from its day on. Half of them went well; the rest makes no sense."""
    second = random.uniform(0, 86_000)
    went_well = random.random() < 0.5
    if went_well:
        yield from performed(name, second, day(number))
    for stream, record in random.choices(KINDS, k=random.choice((0, 1) if went_well else (1, 4))):
        moment = at(random.uniform(second, 86_399), day(number + random.randint(0, 3)))
        yield stream, record | {"message_id": name, "at": moment}


def arrivals(random: Random) -> Iterator[tuple[int, str, str, str]]:
    """Lines: in which night each comes, into which stream and which day's folder."""
    for number in range(NIGHTS):
        for stream in STREAMS:
            yield number, stream, day(number), ""
        yield number, random.choice(STREAMS), day(number), "no record"
        for n in range(30):
            for stream, record in history(random, f"m-{number}-{n}", number):
                own = (date.fromisoformat(record["at"][:10]) - FIRST).days
                later = own + random.randint(1, 2)
                # In time; late; late, and in its own day's folder; or twice.
                ways = (
                    [(own, own)],
                    [(later, later)],
                    [(later, own)],
                    [(own, own), (later, later)],
                )
                for night, folder in random.choices(ways, (90, 4, 2, 4))[0]:
                    yield night, stream, day(folder), line_of(stream, record)


def of_records(summary: Row) -> Row:
    """What is said but for files that came late, which the one names and the other accepts."""
    notice = {"sentence", "exit_status", "cannot_judge", "changed"}
    return {name: value for name, value in comparable(summary).items() if name not in notice}


def test_night_after_night_the_same_as_from_the_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines, nights = sorted(arrivals(Random(7))), []
    for number in range(NIGHTS):
        for night, stream, folder, line in lines:
            if night == number:
                file = tmp_path / "records" / stream / f"dt={folder}" / f"{night}.jsonl"
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a") as written:
                    written.write(f"{line}\n")
        if number:
            days = {"since": day(number - 1), "until": day(number)}
            nights.append(audited(spark, tmp_path / "records", tmp_path / "cached", **days))
    raw = audited(spark, tmp_path / "records", tmp_path / "raw", from_raw=True, **days)
    since = FIRST + timedelta(days=NIGHTS - 2)
    assert rows_of(tmp_path / "cached", since) == rows_of(tmp_path / "raw", since) != []
    assert of_records(nights[-1]) == of_records(raw)
    assert all(night["read"]["days_read"] for night in nights)
    assert any(night["late_days"] for night in nights)
