"""How far the records are complete, by their heartbeats, and what is said of messages by that."""

import json
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.audit.cache import DayCounts
from pipeline.audit.horizon import Horizon
from pipeline.audit.reading.listing import File, Listing
from pipeline.audit.reading.streams import HANDED
from pipeline.audit.results.summary import uncovered
from pipeline.audit.watermarks import Watermarks
from pipeline.errors import CannotAudit
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, rows_of, said, settled, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    at,
    delivery,
    effect,
    file_of,
    heartbeat,
    performed,
    sent,
    write,
)

WITNESSES = ("deliveries", "executions", "effects")
HOUR, MINUTE = 3600.0, 60.0
COMPLETE = 14 * HOUR
DAY_MS = int(datetime.fromisoformat(DAY).replace(tzinfo=UTC).timestamp() * 1000)


def beats(seconds: float, *streams: str, day: str = DAY) -> list[Record]:
    return [heartbeat(stream, at(seconds, day)) for stream in streams or WITNESSES]


def written_at(root: Path, seconds: float) -> Path:
    """As if the newest file had been written then."""
    for file in root.rglob("*.jsonl"):
        os.utime(file, (DAY_MS / 1000 + seconds,) * 2)
    return settled(root)


def without(stream: str, records: list[Record]) -> list[Record]:
    return [record for record in records if record[0] != stream]


# --------------------------------------------------------------------------- the watermarks


NOON = 12 * HOUR
DATE = date.fromisoformat(DAY)
FILES = tuple(
    File(f"/{stream}", stream, DATE + timedelta(days=n)) for stream in HANDED for n in (0, 1, 2)
)


def ms(seconds: float, day: int = 0) -> int:
    return DAY_MS + day * 86_400_000 + round(seconds * 1000)


def read(
    *days: dict[str, int], by_executions: bool = False, sources: tuple[str, ...] = ("arn:1",)
) -> Watermarks:
    """Out of what is told on each of three days."""
    counted = {
        DATE + timedelta(days=n): DayCounts(handed=handed, sources=sources if handed else [])
        for n, handed in enumerate([*days, {}, {}, {}][:3])
    }
    return Watermarks.read(Listing(FILES, (), ms(0, 3)), counted, by_executions=by_executions)


def of(at: int, *streams: str) -> dict[str, int]:
    return dict.fromkeys(streams or WITNESSES, at)


@pytest.mark.parametrize(
    ("marks", "until"),
    [
        (read(of(ms(NOON)), of(5), of(ms(HOUR, 2))), ms(HOUR, 2)),
        (read({}, {}, of(9) | of(7, "executions")), 7),
        (read({}, {}, of(9) | of(8, "dead_letters")), 8),
        (read({}, {}, of(9, "deliveries", "effects")), None),
        (read({}, {}, of(9, "deliveries", "effects", "rows")), 9),
        (read({}, {}, of(9) | of(6, "rows")), 6),
        (read({}, {}, of(9, "deliveries", "executions")), None),
        (read({}, {}, of(9, "deliveries", "executions"), by_executions=True), 9),
        (read({}, of(4, "effects"), of(9, "deliveries", "executions")), 4),
        # What came since came without one.
        (read(of(9)), None),
    ],
)
def test_the_records_are_complete_until_the_lowest_of_the_newest(
    marks: Watermarks, until: int | None
) -> None:
    assert marks.complete_until == until


def test_effects_are_missed_on_later_days_up_to_the_horizon() -> None:
    """On them, an effect may have been repeated."""
    files = tuple(one for one in FILES if one.stream != "effects" or one.day == DATE)
    listing = Listing(files, (), ms(0, 3))

    def caveats(known_until: int) -> list[str]:
        horizon = Horizon(known_until, known_until, known_until)
        return [said for _, said in uncovered(listing, (DATE, DATE), horizon)]

    assert caveats(ms(NOON)) == caveats(ms(0, 1)) == []
    (said,) = caveats(ms(NOON, 1))
    assert said.startswith("2026-02-01: effects is missing")


def test_a_stream_that_stands_still_is_named_and_since_when() -> None:
    marks = read({}, {}, of(ms(NOON)) | of(ms(HOUR), "effects"))
    assert marks.standing(ms(HOUR)) == []
    (said,) = marks.standing(ms(NOON))
    assert said.startswith(f"effects stands still since {at(HOUR)}:")
    assert [one.split()[0] for one in read(of(5)).standing(1)] == list(WITNESSES)
    with_letters = read({}, {}, of(ms(NOON)) | of(5, "dead_letters"))
    assert with_letters.standing(ms(NOON))[0].startswith("dead_letters stands still")


@pytest.mark.parametrize(
    ("marks", "before", "written", "said"),
    [
        (read({}, {}, of(ms(NOON))), {}, ms(NOON), None),
        (read({}, {}, of(ms(NOON))), {"effects": at(NOON), "rows": at(NOON)}, ms(NOON), None),
        (read({}, {}, of(ms(NOON))), {"effects": None, "rows": 7}, ms(NOON), None),
        (read({}, {}, of(ms(NOON)), sources=("arn:1", "arn:2")), {}, ms(NOON), "two stacks"),
        (read({}, {}, of(ms(NOON))), {}, ms(NOON - HOUR), None),
        (read({}, {}, of(ms(NOON))), {}, ms(NOON - HOUR) - 1, "clock"),
        (read({}, {}, of(ms(NOON))), {"effects": at(NOON + 1)}, ms(NOON), "removed"),
    ],
)
def test_what_cannot_be_believed_is_refused(
    marks: Watermarks, before: dict[str, Any], written: int, said: str | None
) -> None:
    if said is None:
        marks.check(before, written)
        return
    with pytest.raises(CannotAudit, match=said):
        marks.check(before, written)


# --------------------------------------------------------------------------- what they say together


def test_no_verdict_of_silence_is_said_above_the_watermark_and_a_second_effect_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    late, soon = COMPLETE - 10 * MINUTE, COMPLETE + 5 * MINUTE
    root = write(
        tmp_path / "records",
        [
            *beats(COMPLETE),
            *performed("well", HOUR),
            *without("effects", performed("no-effect", HOUR)),
            *without("effects", performed("no-effect-yet", late)),
            delivery("silent", at(13 * HOUR)),
            delivery("silent-yet", at(late)),
            effect("unasked", at(HOUR), "a"),
            effect("unasked-yet", at(late), "b"),
            *performed("again", HOUR),
            effect("again", at(soon), "second"),
            *performed("later", soon),
            *performed("duplicate", HOUR),
            delivery("duplicate", at(soon), "suppressed"),
            sent("sent-later", at(soon)),
            sent("sent-and-waits", at(HOUR)),
        ],
    )
    written_at(root, COMPLETE + 10 * MINUTE)
    out = tmp_path / "out"
    summary = audited(spark, root, out)
    assert verdicts_of(out) == {
        "well": "performed_once",
        "no-effect": "lost",
        "no-effect-yet": "in_flight",
        "silent": "lost",
        "silent-yet": "in_flight",
        "unasked": "contradiction",
        "unasked-yet": "in_flight",
        "again": "performed_again",
        "later": "in_flight",
        "duplicate": "in_flight",
        "sent-later": "in_flight",
        "sent-and-waits": "in_flight",
    }
    assert summary["complete_until"] == at(COMPLETE)
    assert summary["watermarks"] == dict.fromkeys(WITNESSES, at(COMPLETE)) | {
        "rows": None,
        "dead_letters": None,
    }
    assert summary["not_yet_judged"] == 3
    assert summary["sentence"].startswith(
        f"Complete until {DAY} 14:00:00 UTC; 3 messages after that are not yet judged. Of 9 mess"
    )
    assert "sent lacks 1 message" in str(summary["days"]), "and not yet the other one's"
    assert summary["digest"] is None, "the day is over, and was not handed over whole"
    by_cache = audited(spark, root, out)
    assert by_cache["read"]["days_read"] == 0
    assert said(by_cache) == said(summary)
    raw = audited(spark, root, tmp_path / "raw", from_raw=True)
    assert said(raw) == said(summary)
    assert rows_of(out) == rows_of(tmp_path / "raw")


@pytest.mark.long
def test_what_stands_still_is_not_whole_and_a_removed_heartbeat_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By the moment that is asked for, or by the end of a day that was over."""
    root = write(tmp_path / "records", [*beats(COMPLETE), *performed("m", HOUR)])
    out = tmp_path / "out"

    def status(written: float, **asked: Any) -> tuple[int, str]:
        written_at(root, written)
        summary = audited(spark, root, out, **asked)
        return summary["exit_status"], " ".join(summary["cannot_judge"])

    assert status(COMPLETE - MINUTE)[0] == 0  # a clock that is a little wrong
    assert json.loads((out / "summary.json").read_text())["complete_until"] == at(COMPLETE - MINUTE)
    assert status(COMPLETE + HOUR)[0] == 0
    late = status(COMPLETE + HOUR, complete_by=at(COMPLETE + 1))
    assert late[0] == 3
    assert all(f"{stream} stands still since {at(COMPLETE)}" in late[1] for stream in WITNESSES)
    over = status(25 * HOUR)
    assert over == (3, late[1])

    file = file_of(root, "executions")
    file.write_text(file.read_text().replace(at(COMPLETE), at(COMPLETE - 1)))
    for _ in range(2):  # and it stays so
        with pytest.raises(CannotAudit, match="executions was complete until"):
            status(COMPLETE + HOUR)
    assert status(COMPLETE + HOUR, as_of=at(COMPLETE))[0] == 0


def test_of_a_day_that_has_hardly_begun_nothing_is_missed_yet(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its files come one after the other; those that are there are read."""
    root = write(
        tmp_path / "records",
        [*beats(86_000), *performed("m", HOUR), delivery("new", at(10, "2026-02-01"))],
    )
    written_at(root, 24 * HOUR + 10 * MINUTE)
    out = tmp_path / "out"
    asked: dict[str, Any] = {"since": DAY, "until": "2026-02-01", "out": str(out)}
    summary = audited(spark, root, complete_by=at(85_000), **asked)
    assert (summary["exit_status"], summary["cannot_judge"]) == (0, []), summary
    assert verdicts_of(out) == {"m": "performed_once", "new": "in_flight"}
    assert audited(spark, root, **asked)["exit_status"] == 3, "the first day is over"
