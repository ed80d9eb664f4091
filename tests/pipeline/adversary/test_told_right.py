"""Each planted folder is told right: never clean if it is not, never lost if it is well."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.adversary.planted import CASES
from tests.pipeline.nights import rows_of, said


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_told_right_from_the_records_and_by_the_cache(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    planted = CASES[name]
    root, out = tmp_path / "records", tmp_path / "out"
    root.mkdir()
    planted.plant(root)
    summary = planted.audited(spark, root, out)
    rows = rows_of(out)
    assert planted.found(summary, out) == planted.right(), summary
    assert said(planted.audited(spark, root, out)) == said(summary)
    assert rows_of(out) == rows
