"""Each planted folder is told right: never clean if it is not, never lost if it is well."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import CannotAudit
from tests.pipeline.adversary.planted import CASES
from tests.pipeline.nights import audited, rows_of, said, settled, verdicts_of


def answer(spark: SparkSession, root: Path, out: Path, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        return audited(spark, settled(root), out, **asked)
    except CannotAudit as error:
        return {"exit_status": 2, "sentence": str(error)}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_told_right_from_the_records_and_by_the_cache(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    planted = CASES[name]
    root, out = tmp_path / "records", tmp_path / "out"
    root.mkdir()
    planted.plant(root)
    summary = answer(spark, root, out, planted.asked)
    rows = rows_of(out)
    assert summary["exit_status"] == planted.status, summary
    assert planted.says in summary["sentence"]
    verdicts = verdicts_of(out)
    assert {key for key, verdict in verdicts.items() if verdict == "lost"} == set(planted.lost)
    assert {key: verdicts[key] for key in planted.verdicts} == planted.verdicts
    assert said(answer(spark, root, out, planted.asked)) == said(summary)
    assert rows_of(out) == rows
