"""Each planted folder is told right: never clean if it is not, never lost if it is well."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from pipeline.audit.job import audit
from pipeline.audit.request import requested
from pipeline.errors import CannotAudit
from tests.pipeline.adversary.planted import CASES
from tests.pipeline.nights import rows_of, said, settled


def verdicts_of(out: Path) -> dict[str, str]:
    if not list((out / "messages").rglob("*.parquet")):
        return {}
    table = ds.dataset(out / "messages", partitioning="hive").to_table(
        columns=["message_id", "verdict"]
    )
    return dict(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def told(spark: SparkSession, name: str, folder: Path) -> dict[str, Any]:
    """What is said of a planted folder, from its records, and by what was kept of them: one."""
    planted = CASES[name]
    root, out = folder / "records", folder / "out"
    root.mkdir()
    planted.plant(root)
    first = answer(spark, root, out, planted.asked)
    verdicts = rows_of(out)
    second = answer(spark, root, out, planted.asked)
    assert said(second) == said(first)
    assert rows_of(out) == verdicts
    return first


def answer(spark: SparkSession, root: Path, out: Path, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        return audit(spark, requested(str(settled(root)), out=str(out), **asked))
    except CannotAudit as error:
        return {"exit_status": 2, "sentence": str(error)}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_told_right(spark: SparkSession, tmp_path: Path, name: str) -> None:
    planted = CASES[name]
    summary = told(spark, name, tmp_path)
    assert summary["exit_status"] == planted.status, summary
    assert planted.says in summary["sentence"]
    if planted.status == 2:
        return
    verdicts = verdicts_of(tmp_path / "out")
    assert {key for key, verdict in verdicts.items() if verdict == "lost"} == planted.lost
    assert {key: verdicts[key] for key in planted.verdicts} == planted.verdicts
