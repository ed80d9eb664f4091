"""No second effect hides, and no message that is well is lost."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.records import rows_of
from actonce_pipeline.audit.reading.row import COLUMNS
from tests.pipeline.adversary.planted import CASES, GROUPS, audited_cases, planted
from tests.pipeline.streams_on_disk import EFFECTS


def test_each_file_is_read_or_named() -> None:
    """Without Spark, which reads the lines by the same functions."""
    with planted(CASES) as cases:
        listing = list_records(None, str(next(iter(cases.values())).root))
        rows: list[dict[str, Any]] = [
            {"path": file.path} | dict(zip(COLUMNS, row, strict=True))
            for file in listing.files
            for row in rows_of(file.path, named=Attributes.of_output(EFFECTS))
        ]
    found = {}
    for name, case in cases.items():
        lines = [row for row in rows if case.id("files") in row["path"]]
        read = {row["message_id"] for row in lines if not row["problem"]}
        unread = any(row["problem"] for row in lines)
        unread |= any(case.id("files") in str(file) for file in listing.unread)
        assert case.id("late") in read or unread, name
        found[name] = {*["alarm"] * (case.id("twice") in read), *["unread"] * unread}
    assert {name: words for name, words in found.items() if words != CASES[name][0]} == {}


@pytest.mark.long
@pytest.mark.parametrize("group", GROUPS)
def test_told_right_from_the_records_and_by_the_cache(spark: SparkSession, group: str) -> None:
    cases = GROUPS[group]
    found = audited_cases(spark, cases)
    assert {name: found[name] for name in cases if found[name] != cases[name][0]} == {}
