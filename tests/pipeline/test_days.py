"""A day run again replaces that day, and no other; what touches an earlier day is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.results.summary import known_by
from tests.pipeline.nights import audited, rows_of
from tests.pipeline.streams_on_disk import (
    DAY,
    at,
    effect,
    line_of,
    performed,
    put,
    write,
)

NEXT_DAY, DAY_AFTER = "2026-02-01", "2026-02-02"


def rows(root: Path) -> list[dict[str, Any]]:
    return rows_of(root / "audit")


def quarantined(root: Path) -> list[dict[str, Any]]:
    files = (root / "audit" / "quarantine").glob("*.json")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.long
def test_a_day_run_again_takes_the_place_of_that_day_and_leaves_others_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, [*performed("one"), *performed("two", 5, NEXT_DAY)])
    audited(spark, root)
    result = [(str(row["day"]), row["message_id"]) for row in rows(root)]
    assert result == [(DAY, "one"), (NEXT_DAY, "two")]

    spoiled = root / "sent" / f"dt={DAY}" / "spoiled.jsonl"
    spoiled.write_text("no record\n" * 101)  # of which the summary names a hundred
    assert audited(spark, root, day=DAY)["quarantine"]["by_reason"] == {"corrupt_line": 101}
    places = {(one["file"].removeprefix("file://"), one["line"]) for one in quarantined(root)}
    assert places == {(str(spoiled), number) for number in range(1, 102)}

    for file in root.glob(f"*/dt={DAY}/*"):  # the spoiled one with them
        file.unlink()
    summary = audited(spark, root, day=DAY)
    assert summary["messages"] == 0
    assert summary["sentence"] == (
        "There was no message. This is not the whole answer. 5 files are others since their days "
        f"were judged, dead_letters/dt={DAY}/records.jsonl (gone) first: look, and accept what is "
        "there with --from-raw. "
        f"{DAY}: no stream has a file, so nothing was looked at."
    )
    assert summary["exit_status"] == 3
    assert [row["message_id"] for row in rows(root)] == ["two"]
    assert quarantined(root) == []


def test_a_day_has_what_was_written_of_it_later_and_tells_what_came_late_to_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As Firehose puts a record into the folder of the day on which it arrived."""
    root = write(tmp_path, [*performed("old"), *performed("new", 5, NEXT_DAY)])
    last = [line_of(*one) + "\n" for one in performed("last", 86_399, NEXT_DAY)]
    for (stream, _), line in zip(performed("last"), last, strict=True):
        put(root, stream, f"{stream}.jsonl", line.encode(), DAY_AFTER)
    again = line_of(*effect("old", at(86_399), "appointment-again"))
    put(root, "effects", "late.jsonl", again.encode(), NEXT_DAY)
    put(root, "sent", "torn.jsonl", b"no record", NEXT_DAY)

    result = audited(spark, root, day=NEXT_DAY)

    assert {row["message_id"] for row in rows(root)} == {"new", "last"}
    assert result["verdicts"]["performed_once"] == 2
    assert (result["late_days"], result["late_alarms"]) == ([DAY], [DAY])
    assert result["exit_status"] == 1
    assert f"A message that began earlier has an alarm: audit {DAY} again." in result["sentence"]
    assert result["quarantine"]["by_reason"] == {"corrupt_line": 1}


def test_the_same_alarms_are_known_as_such_whatever_else_is_told_of_them() -> None:
    lost, again = ({"message_id": "m", "verdict": one} for one in ("lost", "performed_again"))
    result = known_by([lost, again], [])

    assert known_by([again | {"timeline": ["more"]}, lost], []) == result
    assert result not in (known_by([lost], []), known_by([lost, lost], []))
