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
from pipeline.audit.job import audit
from pipeline.audit.reading.listing import File, Listing
from pipeline.audit.reading.records import COLUMNS, rows_of
from pipeline.audit.reading.streams import HANDED, Code
from pipeline.audit.request import requested
from pipeline.audit.results.summary import uncovered
from pipeline.audit.watermarks import Watermarks
from pipeline.errors import CannotAudit
from tests.pipeline.judge import Record
from tests.pipeline.nights import rows_of as rows_in
from tests.pipeline.nights import said, settled, verdicts_of
from tests.pipeline.streams_on_disk import (
    DAY,
    at,
    delivery,
    effect,
    heartbeat,
    line_of,
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


# --------------------------------------------------------------------------- a line


def told(path: Path, *lines: Any, stream: str = "deliveries") -> list[dict[str, Any]]:
    """The rows of a file of lines."""
    file = path / stream / f"dt={DAY}" / "f"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
    )
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(f"file://{file}")]


LINE = {"version": 1, "at": at(COMPLETE), "event": "heartbeat", "source": "arn:1"}


@pytest.mark.parametrize("stream", [*WITNESSES, "rows", "dead_letters"])
def test_a_heartbeat_is_a_row_of_no_message(tmp_path: Path, stream: str) -> None:
    (row,) = told(tmp_path, LINE | {"stream": stream}, stream=stream)
    assert (row["message_id"], row["at"]) == (None, DAY_MS + COMPLETE * 1000)
    assert (row["stream"], row["what"], row["problem"]) == (stream, "arn:1", None)


def test_it_comes_in_the_envelopes_of_logs_and_of_events(tmp_path: Path) -> None:
    line = LINE | {"stream": "deliveries"}
    batch = {"messageType": "DATA_MESSAGE", "logEvents": [{"message": json.dumps(line)}]}
    event: dict[str, Any] = {"source": "actonce", "detail-type": "Records Heartbeat"}
    event |= {"detail": LINE | {"stream": "executions"}}
    rows = [*told(tmp_path, batch), *told(tmp_path, event, stream="executions")]
    assert [(row["what"], row["problem"]) for row in rows] == [("arn:1", None)] * 2


@pytest.mark.parametrize(
    ("stream", "line", "problem"),
    [
        ("sent", LINE | {"stream": "sent"}, "missing_field"),  # of which nobody knows
        (
            "deliveries",
            LINE | {"stream": "deliveries", "at": at(2, "2026-02-02")},
            "impossible_time",
        ),
        ("deliveries", LINE | {"stream": "deliveries", "source": None}, "missing_field"),
        ("deliveries", LINE | {"stream": "deliveries", "version": 2}, "unknown_version"),
        ("deliveries", LINE | {"stream": "executions"}, "not_a_record"),
        (
            "executions",
            {
                "source": "actonce",
                "detail-type": "Records Heartbeat",
                "detail": {"status": "RUNNING"},
            },
            "not_a_record",
        ),
    ],
)
def test_one_that_cannot_be_is_told(
    tmp_path: Path, stream: str, line: dict[str, Any], problem: str
) -> None:
    assert [row["problem"] for row in told(tmp_path, line, stream=stream)] == [problem]


def test_no_message_is_taken_for_one(tmp_path: Path) -> None:
    """Whatever a producer puts into a body, an id or an effect, and others into their events."""
    forged = json.dumps(LINE | {"stream": "executions"})
    detail = LINE | {"stream": "executions", "name": "m", "status": "RUNNING", "startDate": DAY_MS}
    event = {"detail-type": "Records Heartbeat", "source": "mine", "detail": detail}
    status = {"detail-type": "Step Functions Execution Status Change", "source": "actonce"}
    ids = [f"}}{forged}", f'"}}\n{forged}', forged]
    item = {"event": {"S": "heartbeat"}, "stream": {"S": "effects"}, "booked_at": {"S": at(5)}}
    started = [line_of(*delivery(one, at(1))) for one in ids]
    events = [event | {"detail": detail | {"input": one}} for one in ids]
    item |= {"message_id": {"S": "m"}, "appointment_id": {"S": "a"}}
    rows = [
        *told(tmp_path, *started),
        *told(tmp_path, *[one[:-1] for one in started]),
        *told(tmp_path, *events, event, event | status, stream="executions"),
        *told(tmp_path, {"Item": item}, stream="effects"),
    ]
    assert [row["what"] for row in rows if row["code"] == Code.HEARTBEAT] == []
    bad = [row["problem"] for row in rows if row["problem"]]
    assert bad == ["corrupt_line"] * 5, "what was cut, and two inputs that are no JSON"
    assert len(rows) == 12


@pytest.mark.parametrize(
    ("content", "until"),
    [
        ('{"exportTime": "2026-01-31T14:00:00.000Z"}', COMPLETE),
        ('{"exportFromTime": "2026-01-31T13:00:00Z",\n"exportToTime": "2026-01-31T14:00:00Z"}',
         COMPLETE),
        ('{"exportTime": "2026-02-05T14:00:00.000Z"}', None),  # of later than its folder
        ('{"version": "2020-06-30"}', None),
        ('{"exportTime": "soon"}', None),
        ("[]", None),
        ("x", None),
    ],
)  # fmt: skip
def test_an_export_s_summary_is_one(content: str, until: float | None) -> None:
    path = f"s3://b/effects/dt={DAY}/AWSDynamoDB/1/manifest-summary.json"
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(path, content.encode())]
    assert [row["at"] for row in rows] == ([] if until is None else [DAY_MS + until * 1000])
    assert all(row["stream"] == "effects" and row["problem"] is None for row in rows)


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
    summary = audit(spark, requested(str(root), out=str(out)))
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
    by_cache = audit(spark, requested(str(root), out=str(out)))
    assert by_cache["read"]["days_read"] == 0
    assert said(by_cache) == said(summary)
    raw = audit(spark, requested(str(root), out=str(tmp_path / "raw"), from_raw=True))
    assert said(raw) == said(summary)
    assert rows_in(out) == rows_in(tmp_path / "raw")


@pytest.mark.long
def test_what_stands_still_is_not_whole_and_a_removed_heartbeat_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By the moment that is asked for, or by the end of a day that was over."""
    root = write(tmp_path / "records", [*beats(COMPLETE), *performed("m", HOUR)])
    out = tmp_path / "out"

    def status(written: float, **asked: Any) -> tuple[int, str]:
        written_at(root, written)
        summary = audit(spark, requested(str(root), out=str(out), **asked))
        return summary["exit_status"], " ".join(summary["cannot_judge"])

    assert status(COMPLETE - MINUTE)[0] == 0  # a clock that is a little wrong
    assert json.loads((out / "summary.json").read_text())["complete_until"] == at(COMPLETE - MINUTE)
    assert status(COMPLETE + HOUR)[0] == 0
    late = status(COMPLETE + HOUR, complete_by=at(COMPLETE + 1))
    assert late[0] == 3
    assert all(f"{stream} stands still since {at(COMPLETE)}" in late[1] for stream in WITNESSES)
    over = status(25 * HOUR)
    assert over == (3, late[1])

    file = root / "executions" / f"dt={DAY}" / "records.jsonl"
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
    summary = audit(spark, requested(str(root), complete_by=at(85_000), **asked))
    assert (summary["exit_status"], summary["cannot_judge"]) == (0, []), summary
    assert verdicts_of(out) == {"m": "performed_once", "new": "in_flight"}
    assert audit(spark, requested(str(root), **asked))["exit_status"] == 3, "the first day is over"
