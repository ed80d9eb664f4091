"""The plan of a backfill: every row of the archive, and where it ends.

The first row of a message id, by file name and then by line, is the message. A later row with the
same content is a duplicate, one with another content a conflict, as the starter would decide if it
were sent. Rows that cannot be messages are quarantined.
"""

import heapq
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.backfill import archive
from pipeline.backfill.rows import BadRow, Selection

ENDS = ("message", "duplicate", "conflict", "quarantined")

PART_BYTES = 128 * 1024 * 1024
"""Bytes of archive per part of the plan, about; a part is sorted and sent by one task at a time."""

_LEAST_PARTS = 8  # so that as many are sent side by side
_TASKS = 64  # that read files, at most
_BATCH_ROWS = 1000
_BATCH_BYTES = 4 * 1024 * 1024

_COLUMNS: dict[str, pa.DataType] = {
    "file": pa.string(),
    "line": pa.int64(),
    "message_id": pa.string(),
    "fingerprint": pa.string(),
    "body": pa.string(),
    "problem": pa.string(),
}
_ROWS = pa.schema(_COLUMNS)
_ROWS_DDL = (
    "file string, line bigint, message_id string, fingerprint string, body string, problem string"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan's folder, read without Spark: by senders, and for lists and counts."""

    folder: Path

    def of(self, end: str) -> list[Path]:
        """The Parquet files of rows with that end, one for each part that has any."""
        return sorted(self.folder.glob(f"end={end}/part=*/*.parquet"))

    def count(self, end: str) -> int:
        """How many rows have that end; reads no rows."""
        return sum(pq.read_metadata(file).num_rows for file in self.of(end))

    def rows(self, end: str) -> Iterator[dict[str, Any]]:
        """The rows with that end, by file name and line; holds a batch of each part."""
        return heapq.merge(
            *(_rows_of(file) for file in self.of(end)), key=lambda row: (row["file"], row["line"])
        )


def rows(spark: SparkSession, files: dict[str, Path], selection: Selection) -> DataFrame:
    """Every row of the files; each file is read by one task, in which a line has a number."""
    named = [(name, str(path.absolute())) for name, path in files.items()]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                name, path = named[row["id"]]
                yield from _batches(_planned_rows(name, Path(path), selection))

    indexes = spark.range(0, len(named), 1, min(len(named), _TASKS))
    return indexes.mapInArrow(read, _ROWS_DDL)


def judged(planned: DataFrame, parts: int) -> DataFrame:
    """Each row with its end and its part, in a part by file and line; one shuffle."""
    part = F.when(F.col("message_id").isNotNull(), F.xxhash64("message_id")).otherwise(
        F.xxhash64("file", "line")
    )
    of_one_id = Window.partitionBy("part", "message_id").orderBy("file", "line")
    first = planned.withColumn("part", F.pmod(part, F.lit(parts)).cast("int")).repartition(
        parts, "part"
    )
    first = first.select(
        *first.columns,
        F.row_number().over(of_one_id).alias("turn"),
        *(F.first(name).over(of_one_id).alias(f"first_{name}") for name in _FIRST),
    )
    end = (
        F.when(F.col("problem").isNotNull(), "quarantined")
        .when(F.col("turn") == 1, "message")
        .when(F.col("fingerprint") == F.col("first_fingerprint"), "duplicate")
        .otherwise("conflict")
    )
    return first.select(
        "file",
        "line",
        "message_id",
        F.when(end != "duplicate", F.col("body")).alias("body"),
        "problem",
        "first_file",
        "first_line",
        end.alias("end"),
        "part",
    ).sortWithinPartitions("end", "part", "file", "line")


_FIRST = ("file", "line", "fingerprint")


def write(spark: SparkSession, files: dict[str, Path], selection: Selection, work: Path) -> Plan:
    """Make the plan of an archive in a folder that is held."""
    parts = max(_LEAST_PARTS, sum(path.stat().st_size for path in files.values()) // PART_BYTES)
    draft, folder = work / "plan.draft", work / "plan"
    shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    (
        judged(rows(spark, files, selection), parts)
        .write.mode("overwrite")
        .partitionBy("end", "part")
        .option("compression", "zstd")
        .parquet(f"file://{draft.absolute()}")
    )
    draft.rename(folder)
    plan = Plan(folder)
    _write_lines(work / "conflicts.jsonl", map(_conflict, plan.rows("conflict")))
    _write_lines(work / "quarantine.jsonl", map(_quarantined, plan.rows("quarantined")))
    return plan


def _planned_rows(name: str, path: Path, selection: Selection) -> Iterator[dict[str, Any]]:
    """A file's rows: file, line, problem, and where it has none message_id, fingerprint, body."""
    for row in archive.rows_of(path):
        planned: dict[str, Any] = {"file": name, "line": row.line, "problem": row.problem}
        if row.fields is not None:
            try:
                message = selection.message(row.fields)
            except BadRow as error:
                planned["problem"] = str(error)
            else:
                planned["message_id"] = message.message_id
                planned["fingerprint"] = message.fingerprint
                planned["body"] = message.body
        yield planned


def _batches(planned: Iterator[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    batch: list[dict[str, Any]] = []
    size = 0
    for row in planned:
        batch.append(row)
        size += len(row.get("body") or "")
        if len(batch) == _BATCH_ROWS or size > _BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(batch, schema=_ROWS)
            batch, size = [], 0
    if batch:
        yield pa.RecordBatch.from_pylist(batch, schema=_ROWS)


def _rows_of(file: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(batch_size=_BATCH_ROWS):
            yield from batch.to_pylist()


def _conflict(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("file", "line", "message_id", "first_file", "first_line")
    return {name: row[name] for name in kept} | {"body": json.loads(row["body"])}


def _quarantined(row: dict[str, Any]) -> dict[str, Any]:
    return {"file": row["file"], "line": row["line"], "reason": row["problem"]}


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    draft.replace(path)
