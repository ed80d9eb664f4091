"""A day of audits every hour over records that arrive in bursts, late, and for hours not at all.

Invariant: no message in flight is ever an alarm; one that is lost is, in the first audit whose
watermark is the grace period later than its last record; a second effect is in the first audit that
has its record, wherever the watermark stands.
"""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipeline.audit import job
from pipeline.audit.judging.verdict_names import ALARMS
from tests.pipeline.judge import Record
from tests.pipeline.nights import Killed, audited, rows_of, said, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    STREAMS,
    at,
    delivery,
    effect,
    execution,
    heartbeat,
    line_of,
    performed,
    write,
)
from tests.pipeline.test_watermarks import written_at

HOUR, GRACE, NEVER = 3600, 900.0, 1e9
HANDED = ("deliveries", "executions", "effects", "dead_letters")
HOURS = 8
STANDS_STILL = ("effects", range(3, 6))
"""The stream that hands on nothing, and in which hours."""


def seconds(record: Record) -> float:
    hours, minutes, rest = record[1]["at"][11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


@dataclass
class Simulated:
    """Records by the hour in whose files they come, and what is to be said of which.

    Attributes:
        arriving: of each hour.
        lost: by each message that is lost, the time of its last record.
        again: by each message with two effects, the hour in which the second one comes.
    """

    random: Random
    arriving: dict[int, list[Record]] = field(default_factory=dict)
    lost: dict[str, float] = field(default_factory=dict)
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
            told = [one for one in well if one[0] != "effects"] if kind == "lost" else well[:2]
            self.lost[name] = max(seconds(record) for record in told)
            return told
        if kind == "again":
            self.again[name] = 0
            return [*well, effect(name, at(start + self.random.choice((1, 4000))), "second")]
        if kind == "duplicate":
            return [*well, delivery(name, at(start + 4000), "suppressed")]
        return well

    def arrive(self, root: Path, hour: int) -> float:
        """Write an hour's files; until when all is there, by the heartbeats."""
        for stream in STREAMS:
            records = [one for one in self.arriving.get(hour, []) if one[0] == stream]
            stands = stream == STANDS_STILL[0] and hour in STANDS_STILL[1]
            if stream in HANDED and not stands:
                records.append(heartbeat(stream, at(hour * HOUR)))
            if not stands:
                file = root / stream / f"dt={DAY}" / f"{hour:02}.jsonl"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(f"{line_of(*one)}\n" for one in records))
        stands_since = STANDS_STILL[1].start - 1
        return (stands_since if hour in STANDS_STILL[1] else hour) * HOUR


def killed(spark: SparkSession, root: Path, out: Path, patch: pytest.MonkeyPatch) -> None:
    """An audit that ends before its last word."""
    write_summary = job._write_summary

    def dying(*told: Any) -> None:
        if "verdicts" in told[2]:
            raise Killed
        write_summary(*told)

    with patch.context() as dies:
        dies.setattr(job, "_write_summary", dying)
        with pytest.raises(Killed):
            audited(spark, root, out)


@pytest.mark.long
def test_no_hour_alarms_of_what_is_in_flight_and_each_of_what_is_lost(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day, root, out = Simulated(Random(11)), tmp_path / "records", tmp_path / "out"
    told: dict[str, int] = {}
    for hour in range(1, HOURS + 1):
        complete = day.arrive(root, hour)
        written_at(root, hour * HOUR + 60)
        if hour in (2, 5):
            killed(spark, root, out, monkeypatch)
        by = at((hour - 1) * HOUR)
        summary = audited(spark, root, out, complete_by=by)
        assert summary["complete_until"] == at(complete)
        found = {one: what for one, what in verdicts_of(out).items() if what in ALARMS}
        lost = {one: "lost" for one, last in day.lost.items() if last < complete - GRACE}
        again = {one: "performed_again" for one, when in day.again.items() if when <= hour}
        assert found == lost | again, hour
        stands = [one for one in summary["cannot_judge"] if "stands still" in one]
        assert bool(stands) == (complete < (hour - 1) * HOUR), hour
        told |= dict.fromkeys(found.values(), hour)
    assert told.keys() == {"lost", "performed_again"}, "the day had both"
    from_raw = audited(spark, root, tmp_path / "raw", complete_by=by, from_raw=True)
    assert said(from_raw) == said(summary)
    assert rows_of(tmp_path / "raw") == rows_of(out)


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(seed=st.integers(0, 10**6))
def test_whatever_arrives_in_whatever_order_what_is_well_is_no_alarm(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Each stream has what is below its own heartbeat at least; clocks differ by a second."""
    random = Random(seed)
    tops = {stream: 5 * HOUR + random.choice((0, 0, 1, 700, 4000)) for stream in HANDED}
    there = [heartbeat(stream, at(top)) for stream, top in tops.items()]
    lost: dict[str, float] = {}
    for n in range(300):
        name, start = f"m-{n}", random.uniform(4 * HOUR, 6.5 * HOUR)
        records = performed(name, start)
        if random.random() < 0.3:
            end = start + random.uniform(1, 2 * HOUR)
            last = [effect(name, at(end), "a"), execution(name, at(end), "SUCCEEDED", "performed")]
            records = [*records[:3], *last]
        if random.random() < 0.2:
            records = [one for one in records if one[0] != "effects"]
            lost[name] = seconds(records[-1])
        ahead = {stream: random.choice((-1, 0, 1)) for stream in STREAMS}
        for stream, record in records:
            clock = seconds((stream, record)) + ahead[stream]
            top = NEVER if stream == "sent" else tops[stream]
            if clock < top or random.random() < 0.3:
                there.append((stream, record | {"at": at(clock)}))
    random.shuffle(there)
    root = write(tmp_path_factory.mktemp("any") / "records", there)
    written_at(root, 23 * HOUR)
    audited(spark, root, f"{root}-out")
    found = {one: what for one, what in verdicts_of(Path(f"{root}-out")).items() if what in ALARMS}
    complete = min(tops.values())
    assert found.keys() <= lost.keys()
    assert set(found.values()) == {"lost"}
    assert {one for one, last in lost.items() if last < complete - GRACE - 2} <= found.keys()
    assert all(lost[one] < complete - GRACE + 2 for one in found)
