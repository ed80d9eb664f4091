"""The table of Athena in audit.yaml, held against the Parquet that the audit writes."""

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.audit.reading.listing import _EARLIEST
from tests.pipeline.nights import audited
from tests.pipeline.streams_on_disk import at, dead_letter, delivery, effect, performed, write
from tests.support import template

TABLE: dict[str, Any] = template.properties(
    template.load(PROJECT / "templates" / "audit.yaml")["Resources"], "MessagesTable"
)["TableInput"]
STORED: dict[str, Any] = TABLE["StorageDescriptor"]
COLUMNS = [(one["Name"], one["Type"]) for one in STORED["Columns"]]
PAGE = (PROJECT / "docs" / "results.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
DAY = "2026-01-31"


@pytest.fixture(scope="module")
def messages(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that an audit wrote: one done, one done twice, one that waits for a decision."""
    root = tmp_path_factory.mktemp("records")
    waits = [delivery("waits", at(7)), dead_letter("waits", at(8))]
    again = [*performed("again", 3), effect("again", at(90), "appointment-2")]
    write(root, [*performed("once", 1), *again, *waits])
    audited(spark, root)
    return root / "audit" / "messages"


def test_its_columns_are_those_that_the_audit_writes_in_their_order(
    spark: SparkSession, messages: Path
) -> None:
    files = [str(file) for file in messages.glob(f"day={DAY}/*.parquet")]
    assert files
    # Athena finds a Parquet column by its name. The partition's is in no file.
    assert spark.read.parquet(*files).dtypes == COLUMNS
    assert TABLE["PartitionKeys"] == [{"Name": "day", "Type": "string"}]


def test_it_projects_each_day_that_the_audit_can_write_onto_that_days_folder(
    messages: Path,
) -> None:
    parameters = TABLE["Parameters"]
    first, last = parameters["projection.day.range"].split(",")
    where = parameters["storage.location.template"]["Fn::Sub"]
    location = STORED["Location"]["Fn::Sub"]
    (written,) = messages.glob("day=*")

    assert parameters["projection.enabled"] == "true"
    assert (parameters["projection.day.type"], parameters["projection.day.format"]) == (
        "date",
        "yyyy-MM-dd",
    )
    assert (date.fromisoformat(first), last) == (_EARLIEST, "NOW")
    assert where == f"{location}day=${{!day}}/"  # ${day}, once CloudFormation has read it
    assert where.endswith(f"/audit/messages/{written.name.replace(DAY, '${!day}')}/")


def answers(spark: SparkSession, messages: Path, query: str) -> list[Row]:
    """Of the page's query, by the table's own columns, over what was written."""
    schema = ", ".join(f"{name} {kind}" for name, kind in [*COLUMNS, ("day", "string")])
    reader = spark.read.schema(schema).option("basePath", str(messages))
    reader.parquet(str(messages)).createOrReplaceTempView("messages")
    return spark.sql(query).collect()


def test_the_pages_queries_say_what_was_planted(spark: SparkSession, messages: Path) -> None:
    again, latency, waits = (answers(spark, messages, one) for one in QUERIES)

    ((day, message_id, effects, effect_at),) = again
    assert (day, message_id, effects) == (DAY, "again", 2)
    assert effect_at.astimezone() == datetime.fromisoformat(at(3.4))
    assert [one.asDict() for one in latency] == [
        {
            "day": DAY,
            "messages": 2,
            "mean": timedelta(seconds=0.3),
            "longest": timedelta(seconds=0.3),
            "slow": 0,
        }
    ]
    assert [(one["day"], one["message_id"]) for one in waits] == [(DAY, "waits")]
