"""The rows that are kept of records: narrow, as Parquet, and quick to look through."""

from collections.abc import Collection, Sequence
from datetime import date
from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.kept import Counted
from pipeline.audit.layout import DAY, as_argument
from pipeline.audit.results import parquet_writer
from pipeline.audit.sql import columns
from pipeline.audit.streams import STREAM_OF, Code

COLUMNS: Final = {
    "id_hash": "bigint",
    "message_id": "string",
    "at": "bigint",
    "code": "int",
    "f1": "bigint",
    "f2": "bigint",
    "stream": "string",
    "what": "string",
    "sqs_message_id": "string",
    "sqs_hash": "bigint",
    "sha_hash": "bigint",
    "unknown_id": "string",
    "file": "string",
    "line": "bigint",
    "problem": "string",
    "text": "string",
}
"""Of a kept row: a record's columns (see `records.text_records`), and

- `id_hash`: 64 bits of `message_id`, `NAMELESS` without one: to look for it, never to tell it by;
- `sqs_hash`, `sha_hash`: the same of the names that stand for the id of a record by which a message
  becomes known, and `unknown_id`, an id that may be such a name; see `reading.with_known_ids`;
- `file`: of a line that could not be read where it is; else only as much as tells its day;
- `text`: of such a line, and no more of it than is shown.
"""
NAMELESS: Final = 42
"""What Spark's `xxhash64` makes of null: its seed."""
SHOWN: Final = 200
"""Characters of a line that could not be read."""
_UNLIKE: Final = frozenset(
    {"id_hash", "message_id", "at", "sqs_message_id", "sqs_hash", "sha_hash", "f1", "f2"}
)
_SENT, _FAILED = int(Code.SENT), int(Code.FAILED)
_FIRST_RUN, _LAST_RUN = map(int, STREAM_OF["executions"])
_SHOWS_LIFE: Final = (
    f"code BETWEEN {int(Code.STARTED)} AND {int(Code.REFUSED_OTHER_MEMORY)} "
    f"OR code BETWEEN {_FIRST_RUN} AND {_LAST_RUN}"
)
_MAKES_KNOWN: Final = (
    f"message_id IS NOT NULL AND code BETWEEN {_SENT} AND {_FAILED} "
    "AND NOT startswith(message_id, 'sqs:')"
)
_MAY_STAND_FOR_ANOTHER: Final = (
    "startswith(message_id, 'sqs:') OR startswith(message_id, 'sha256-')"
)


def of_records(records: DataFrame) -> DataFrame:
    """The rows to keep of records (see `records.text_records`), and the `day` of each."""
    row = {
        "id_hash": "xxhash64(message_id)",
        "sqs_hash": f"CASE WHEN {_MAKES_KNOWN} THEN xxhash64(concat('sqs:', sqs_message_id)) END",
        "sha_hash": f"CASE WHEN {_MAKES_KNOWN} "
        "THEN xxhash64(concat('sha256-', sha2(message_id, 256))) END",
        "unknown_id": f"CASE WHEN {_MAY_STAND_FOR_ANOTHER} THEN message_id END",
        "file": f"CASE WHEN problem IS NULL THEN concat('/dt=', {DAY}, '/') ELSE file END",
        "text": f"CASE WHEN problem IS NOT NULL THEN substring(text, 1, {SHOWN}) END",
    }
    return records.selectExpr(
        *(f"{row.get(name, name)} AS {name}" for name in COLUMNS), f"{DAY} AS day"
    )


def write(rows: DataFrame, folder: str, days: Collection[date]) -> int:
    """Write the rows of days, each into `<folder>/day=<day>/`, and tell how many they are."""
    seen = Observation()
    schema = rows.schema
    observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    if len(days) == 1:
        (day,) = days
        writer = parquet_writer(observed.drop("day"), schema, _UNLIKE)
        writer.parquet(f"{folder}/day={day}")
    else:
        parquet_writer(observed, schema, _UNLIKE).partitionBy("day").parquet(folder)
    return int(seen.get["rows"])


def read(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The rows in files; no rows if there is no file."""
    if paths:
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        return spark.read.schema(schema).parquet(*map(as_argument, paths))
    return spark.range(0).selectExpr(
        *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
    )


def counted(rows: DataFrame) -> dict[date, Counted]:
    """What there is of each day that has rows."""
    numbers = {
        "rows": "count(1)",
        "quarantined": f"count_if(code = {int(Code.QUARANTINED)})",
        "first_at": "min(at)",
        "last_at": "max(at)",
        "seen_at": f"max(CASE WHEN message_id IS NOT NULL AND ({_SHOWS_LIFE}) THEN at END)",
        "ids": "approx_count_distinct(id_hash)",
        "unknown_ids": "count_if(CASE WHEN startswith(unknown_id, 'sqs:') "
        f"THEN code IN ({_SENT}, {_FAILED}) "
        f"ELSE unknown_id IS NOT NULL AND code BETWEEN {_FIRST_RUN} AND {_LAST_RUN} END)",
    }
    by_day = rows.groupBy(columns({"day": DAY})[0]).agg(*columns(numbers))
    return {
        date.fromisoformat(row["day"]): Counted(**{name: row[name] for name in numbers})
        for row in by_day.collect()
    }
