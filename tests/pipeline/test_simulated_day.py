"""A day of audits every hour over records that arrive in bursts, late, and for hours not at all.

Invariant: no message in flight is ever an alarm; one that is lost is, in the first audit of the day
after; a second effect is in the first audit that has its record.
"""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.judging.verdict_names import ALARMS
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    STREAMS,
    at,
    delivery,
    effect,
    execution,
    line_of,
    performed,
)

HOUR = 3600
HOURS, NIGHT = 8, 27
BEGAN = datetime.fromisoformat(DAY).replace(tzinfo=UTC).timestamp()
STANDS_STILL = ("effects", range(3, 6))
"""The stream that hands on nothing, and in which hours."""


def written_at(root: Path, hour: int) -> None:
    """As if the newest file had been written then."""
    for file in root.rglob("*.jsonl"):
        os.utime(file, (BEGAN + hour * HOUR,) * 2)


def seconds(record: Record) -> float:
    hours, minutes, rest = record[1]["at"][11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


@dataclass
class Simulated:
    """Records by the hour in whose files they come, and what is to be said of which.

    Attributes:
        arriving: of each hour.
        lost: the messages that are lost.
        again: by each message with two effects, the hour in which the second one comes.
    """

    random: Random
    arriving: dict[int, list[Record]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    again: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for hour in range(HOURS):
            for n in range(self.random.choice((1, 2, 9))):
                name, start = f"m-{hour}-{n}", hour * HOUR + self.random.random() * 3500
                self._put(name, self._message(name, start))

    def _put(self, name: str, records: list[Record]) -> None:
        """Each in the hour that follows it, or in the next, if it is less than the grace older."""
        for record in records:
            stream, hour = record[0], int(seconds(record) // HOUR) + 1
            if (
                stream != "sent"
                and hour * HOUR - seconds(record) < 600
                and self.random.random() < 0.5
            ):
                hour += 1
            if stream == STANDS_STILL[0] and hour in STANDS_STILL[1]:
                hour = STANDS_STILL[1].stop
            self.arriving.setdefault(hour, []).append(record)
            if stream == "effects" and name in self.again:
                self.again[name] = max(self.again[name], hour)

    def _message(self, name: str, start: float) -> list[Record]:
        kind = self.random.choice(("well", "well", "slow", "lost", "silent", "again", "duplicate"))
        well = performed(name, start)
        if kind == "slow":  # an execution that runs on, and ends hours later
            end = start + self.random.choice((1000, 5000, 9000))
            last = [effect(name, at(end), "a"), execution(name, at(end), "SUCCEEDED", "performed")]
            return [*well[:3], *last]
        if kind in ("lost", "silent"):
            self.lost.add(name)
            return [one for one in well if one[0] != "effects"] if kind == "lost" else well[:2]
        if kind == "again":
            self.again[name] = 0
            return [*well, effect(name, at(start + self.random.choice((1, 4000))), "second")]
        if kind == "duplicate":
            return [*well, delivery(name, at(start + 4000), "suppressed")]
        return well

    def arrive(self, root: Path, hours: range) -> None:
        """Write the files of some hours."""
        for hour in hours:
            for stream in STREAMS:
                records = [one for one in self.arriving.get(hour, []) if one[0] == stream]
                file = root / stream / f"dt={DAY}" / f"{hour:02}.jsonl"
                if stream != STANDS_STILL[0] or hour not in STANDS_STILL[1]:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text("".join(f"{line_of(*one)}\n" for one in records))
        written_at(root, hours[-1])


@pytest.mark.long
def test_no_hour_alarms_of_what_is_in_flight_and_the_night_does_of_what_is_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    day, root, out = Simulated(Random(11)), tmp_path / "records", tmp_path / "out"
    assert day.lost
    hourly: set[str] = set()
    for hour in range(1, HOURS + 1):
        day.arrive(root, range(hour, hour + 1))
        summary = audited(spark, root, out)
        found = {one: what for one, what in verdicts_of(out).items() if what in ALARMS}
        assert found == {
            one: "performed_again" for one, when in day.again.items() if when <= hour
        }, hour
        assert summary["exit_status"] == int(bool(found)), summary
        assert summary["sentence"].startswith(f"Of {DAY} nothing is called missing yet")
        hourly |= found.keys()
    assert hourly, "the day had some"
    day.arrive(root, range(HOURS + 1, NIGHT + 1))
    night = audited(spark, root, out)
    found = {one: what for one, what in verdicts_of(out).items() if what in ALARMS}
    assert found == dict.fromkeys(day.lost, "lost") | dict.fromkeys(day.again, "performed_again")
    assert "actonce where" in night["sentence"]
