"""Of a small audit the files are read once, whatever its page asks for."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import requested
from pipeline.audit.results import tables
from tests.pipeline.streams_on_disk import at, dead_letter, delivery, effect, performed, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An alarm, a message that came five times, and one that asked for somebody."""
    often = [delivery("often", at(100 + n), "suppressed") for n in range(4)]
    return write(tmp_path / "records", [
        *performed("m"), effect("m", at(9), "second"), *performed("often", 90), *often,
        *performed("asks", 200)[:3], dead_letter("asks", at(210), reason="outcome_unknown"),
        *performed("last", 80_000),
    ])  # fmt: skip


def told(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name != "generated_at"}


def test_once_judged_the_files_are_not_asked_again(
    spark: SparkSession, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = requested(str(root), out=str(tmp_path / "out"))
    read_again = audit(spark, request)
    shutil.rmtree(tmp_path / "out")

    def written_and_files_gone(*arguments: Any, **named: Any) -> None:
        tables.write_days(*arguments, **named)
        for file in root.rglob("*.jsonl"):
            file.unlink()

    monkeypatch.setattr("pipeline.audit.job.write_days", written_and_files_gone)
    read_once = audit(spark, request)
    assert told(read_once) == told(read_again)
    assert list(root.rglob("*.jsonl")) == []
    assert [len(alarm["timeline"]) for alarm in read_once["alarms"]] == [6]
    assert read_once["gaps"]["duplicates"] == 4
    assert read_once["asked_for"] == {"outcome_unknown": 1}
    if not os.environ.get("SPARK_REMOTE"):
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
