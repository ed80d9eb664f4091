"""Records that are well, a file of any stream damaged: what it held makes nothing certain.

Many are judged by one audit, each on a day of its own; of the days between there is no file.
"""

import tempfile
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.adversary.planted import ASTRAY, CASES, DISGUISED, Planted
from tests.pipeline.judge import Record
from tests.pipeline.nights import audited, judgements_of, rows_of
from tests.pipeline.streams_on_disk import (
    STREAMS,
    at,
    dead_letter,
    delivery,
    effect,
    execution,
    line_of,
    performed,
    put,
    sent,
    write,
)

TOGETHER = 20
FIRST = date(2026, 1, 1)
BEGUN = performed("", 100)[:3]
HISTORIES: dict[str, tuple[str, list[Record]]] = {
    "well": ("performed_once", performed("", 100)),
    "suppressed": ("performed_once", [*performed("", 100), delivery("", at(200), "suppressed")]),
    "by delivery": ("performed_once", [delivery("", at(100)), effect("", at(101))]),
    "by execution": ("performed_once", [*performed("", 100)[2:]]),
    "runs": ("in_flight", BEGUN),
    "too large": ("refused", [sent("", at(1)), delivery("", at(2), "refused", "too_large")]),
    "waits": ("awaiting_decision", [*BEGUN, dead_letter("", at(200))]),
    "rejected": ("rejected", [
        *BEGUN, dead_letter("", at(200)), dead_letter("", at(300), "reject"),
        execution("", at(301), "FAILED", None, "RejectedByOperator")]),
    "resolved": ("performed_once", [
        *BEGUN, effect("", at(101)), dead_letter("", at(200)), dead_letter("", at(300), "resolve"),
        execution("", at(301), "SUCCEEDED", "resolved")]),
}  # fmt: skip
"""What a message's records say, and its verdict."""


def damage(root: Path, number: int, stream: str, name: str) -> Planted:
    """Write a day's records; of one stream all stand in a file to which a case does its worst."""
    day = (FIRST + timedelta(days=2 * number)).isoformat()
    lines: dict[str, list[str]] = {one: [] for one in STREAMS}
    for key, (_, history) in HISTORIES.items():
        for of_stream, record in history:
            told = {"message_id": f"c{number}-{key}", "at": day + record["at"][10:]}
            lines[of_stream].append(f"{line_of(of_stream, record | told)}\n")
    content = {one: "".join(of_one).encode() for one, of_one in lines.items()}
    case = Planted(root, number, stream, day, content[stream])
    for one in STREAMS:
        put(root, one, "records.jsonl", b"" if one == stream else content[one], day)
    (CASES | DISGUISED)[name][1](case)
    return case


def wrong_about(case: Planted, rows: list[dict[str, Any]], unread: list[str]) -> list[str]:
    """What is said of a case and is not so."""
    judged = {row["message_id"]: (row["verdict"], row["judged"]) for row in rows}
    of_case = {name: judged.get(case.id(name)) for name in HISTORIES}
    cries = {("lost", True), ("contradiction", True)}
    found = [f"{name} is said to be {one}" for name, one in of_case.items() if one in cries]
    is_right = of_case == {name: (verdict, True) for name, (verdict, _) in HISTORIES.items()}
    if not is_right and not any(case.id("files") in file for file in unread):
        found.append(f"it is not named, and {of_case}")
    return found


DRAWN = sorted(product(STREAMS, sorted((CASES | DISGUISED).keys() - ASTRAY.keys())))
Random(1).shuffle(DRAWN)
PARTS = [
    *(DRAWN[n : n + TOGETHER] for n in range(0, len(DRAWN), TOGETHER)),
    *([one] for one in product(STREAMS, ASTRAY)),
]
"""Apart, what is astray: because of it nothing of any day is certain."""


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(n, marks=pytest.mark.long if n == 0 else pytest.mark.table)
        for n in range(len(PARTS))
    ],
)
def test_damage_to_a_file_of_any_stream_makes_nothing_certain(
    spark: SparkSession, part: int
) -> None:
    wrong = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        root, out = Path(folder) / "records", Path(folder) / "out"
        last = (FIRST + timedelta(days=2 * len(PARTS[part]))).isoformat()
        write(root, performed("last", 86_000, last))
        cases = {one: damage(root, n, *one) for n, one in enumerate(PARTS[part])}
        patch.setattr("actonce_pipeline.audit.reading.quarantine.MAX_EXAMPLES", 10_000)
        summary, rows = audited(spark, root, out), rows_of(out)
        unread = [example["file"] for example in summary["quarantine"]["examples"]]
        for one, case in cases.items():
            if found := wrong_about(case, rows, unread):
                wrong[one] = found
    assert wrong == {}


def test_what_was_found(spark: SparkSession, tmp_path: Path) -> None:
    """Three worlds that were once judged wrongly, side by side."""
    root, out = tmp_path / "records", tmp_path / "out"
    before, gone, after, two_streams, colon, last = (
        (FIRST + timedelta(days=days)).isoformat() for days in (0, 1, 2, 4, 8, 10)
    )
    for stream in STREAMS:
        for day in (before, after, two_streams, colon):
            put(root, stream, "quiet.jsonl", day=day)
    # The day is gone, and with it everything that was wrong.
    # A path that names two streams: whatever the file is, nothing of its day is certain.
    ghost, odd = (line_of(*effect(name, at(9, day))).encode()
                  for name, day in (("ghost", two_streams), ("odd", colon)))  # fmt: skip
    put(root, "effects", f"executions/dt={two_streams}/hidden.jsonl", ghost, two_streams)
    started = line_of(*delivery("started", at(9, two_streams))).encode()
    put(root, "deliveries", "records.jsonl", started, two_streams)
    # An effect that nobody asked for, as a file with a colon in its name tells, which is read.
    put(root, "effects", "records.jsonl", odd, colon)
    asked = line_of(*delivery("another", at(9, colon), "refused", "too_large")).encode()
    put(root, "deliveries", "10:00.jsonl", asked, colon)
    write(root, [*performed("last", 86_000, last), delivery("old", at(9, after), "suppressed")])

    summary = audited(spark, root, out)
    assert f"{gone}: no stream has a file, so nothing was looked at." in summary["cannot_judge"]
    (unread,) = summary["quarantine"]["examples"]
    assert f"effects/dt={two_streams}/executions/" in unread["file"]
    assert judgements_of(out) == {
        "started": ("in_flight", False),
        "odd": ("contradiction", True),
        "another": ("refused", True),
        "old": ("in_flight", True),
        "last": ("performed_once", True),
    }
    assert summary["exit_status"] == 1
