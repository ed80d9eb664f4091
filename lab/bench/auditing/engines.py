"""One engine in this process, timed: a line of JSON.

    python -m lab.bench.auditing.engines ENGINE ROOT OUT [--runs N]

CPU seconds are user and system time of this process and all below it, Spark's JVM included; peak
memory is the sum of what each of them had at most. Both are read from /proc, so this is for Linux.
"""

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import duckdb as duck
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from lab.bench.auditing import rules
from lab.bench.whole_cpu import status_of
from pipeline.audit.job import INTERNAL, message_rows
from pipeline.audit.reading.all_streams import records
from pipeline.audit.reading.listing import list_records
from pipeline.audit.request import Request
from pipeline.audit.results.tables import parquet_writer
from pipeline.spark.session import spark_session

STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")

_HEADER: Final = ("stream", "version", "at", "message_id")
_LINES: Final = {
    "sent": (*_HEADER, "sqs_message_id"),
    "deliveries": (*_HEADER, "sqs_message_id", "end", "reason", "fingerprint"),
    "executions": (*_HEADER, "status", "outcome", "error"),
    "dead_letters": (*_HEADER, "event", "decision", "reason"),
}
"""The fields of the lines, all texts; effects are items of a DynamoDB export."""
_ITEM: Final = ("message_id", "appointment_id", "booked_at")

HEAP = os.environ.get("ACTONCE_BENCH_HEAP", "1g")
"""Of the JVM that Spark runs in; Spark's own default."""


@dataclass(frozen=True, slots=True)
class Task:
    """The records to judge: under a root, as `lab.bench.records` writes them."""

    root: Path

    def files(self, stream: str) -> list[str]:
        """The files of a stream."""
        return sorted(str(file) for file in self.root.glob(f"{stream}/*/*.jsonl.gz"))

    @property
    def newest_ms(self) -> int:
        """The end of the last day: what silence is measured against, as in the audit."""
        last = max(path.name.removeprefix("dt=") for path in self.root.glob("*/dt=*"))
        day = date.fromisoformat(last) + timedelta(days=1)
        return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


Run = Callable[[Path], None]
"""Judges once: writes a row per message id, as Parquet, into a folder that does not exist yet."""


# ------------------------------------------------------------------ Spark


def _as_it_is(spark: SparkSession, task: Task, stream: str) -> DataFrame:
    """The fields that the audit reads, by Spark's own reader."""
    if stream == "effects":
        fields = f"Item struct<{', '.join(f'{name}: struct<S: string>' for name in _ITEM)}>"
    else:
        fields = ", ".join(f"`{name}` string" for name in _LINES[stream])
    return spark.read.schema(fields).json(task.files(stream))


def _table(spark: SparkSession, task: Task, stream: str) -> DataFrame:
    """The stream's columns, `at` a time."""
    rows = _as_it_is(spark, task, stream)
    if stream == "effects":
        rows = rows.selectExpr(*(f"Item.{name}.S AS {name}" for name in _ITEM))
        rows = rows.withColumnRenamed("booked_at", "at")
    return rows.withColumn("at", F.to_timestamp("at"))


def plain_read(spark: SparkSession, task: Task, _: Path) -> None:
    """Read every column of every file and do nothing with it."""
    for stream in STREAMS:
        _as_it_is(spark, task, stream).write.format("noop").mode("overwrite").save()


def audit(spark: SparkSession, task: Task, out: Path) -> None:
    """The audit's judgement, written."""
    listing = list_records(spark, str(task.root))
    request = Request(str(task.root), str(out))
    rows = message_rows(records(spark, listing.files), request, listing)
    written = rows.drop(*INTERNAL)
    parquet_writer(written, written.schema).parquet(str(out))


def naive(spark: SparkSession, task: Task, out: Path) -> None:
    """What comes to mind first: no duplicates, a table per stream, joins."""
    for stream in STREAMS:
        table = _table(spark, task, stream).dropDuplicates()
        table = table.withColumn("ms", F.unix_millis("at"))
        if stream == "deliveries":
            table = table.withColumnRenamed("end", "ended")
        table.createOrReplaceTempView(stream)
    spark.sql(rules.joined(task.newest_ms)).write.parquet(str(out))


SPARK: Final = {"plain_read": plain_read, "audit": audit, "naive": naive}


# ------------------------------------------------------------------ DuckDB


@contextmanager
def duckdb(task: Task) -> Iterator[Run]:
    """An aggregate per stream, joined; cheaper there than one aggregate over all streams.

    It is what one would write in Athena: a table per stream with the fields that
    are asked for, and the same SQL over them. Nothing is checked: a line that is no JSON ends it.
    """
    connection = duck.connect(config={"preserve_insertion_order": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        "CREATE MACRO timestamp_millis(ms) AS make_timestamp(CAST(ms AS BIGINT) * 1000)"
    )
    for stream in STREAMS:
        renamed = ', "end" AS ended' if stream == "deliveries" else ""
        connection.execute(
            f'CREATE VIEW {stream} AS SELECT *, epoch_ms("at") AS ms{renamed} '  # noqa: S608
            f"FROM {_rows(task, stream)}"
        )

    def run(out: Path) -> None:
        out.mkdir(parents=True)
        connection.execute(
            f"COPY ({rules.joined(task.newest_ms)}) TO '{out}/rows.parquet' (FORMAT parquet)"
        )

    with connection:
        yield run


def _rows(task: Task, stream: str) -> str:
    files = task.files(stream)
    if stream == "effects":
        item = ", ".join(f"{name} STRUCT(S VARCHAR)" for name in _ITEM)
        columns = {"Item": f"STRUCT({item})"}
        told = "Item.message_id.S AS message_id, Item.appointment_id.S AS appointment_id"
        at = "Item.booked_at.S"
    else:
        columns = dict.fromkeys(_LINES[stream], "VARCHAR")
        told, at = '* EXCLUDE ("at")', '"at"'
    return (
        f'(SELECT {told}, CAST({at} AS TIMESTAMPTZ) AS "at" '  # noqa: S608
        f"FROM read_json({files!r}, format = 'newline_delimited', columns = {columns!r}))"
    )


ENGINES: Final = (*SPARK, "duckdb")


@contextmanager
def ready(engine: str, task: Task) -> Iterator[Run]:
    """What is inside the context is ready: imported, started, connected."""
    if engine == "duckdb":
        with duckdb(task) as run:
            yield run
        return
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {HEAP} pyspark-shell"
    spark = spark_session("bench")
    try:
        yield lambda out: SPARK[engine](spark, task, out)
    finally:
        spark.stop()


# ------------------------------------------------------------------ measured


def cpu_seconds() -> float:
    """Of this process and all below it, those included that have ended and were waited for."""
    ticks = 0
    for process in _processes(os.getpid()):
        with contextlib.suppress(OSError):  # it has ended; its parent's count has it now
            # After the command, which may hold blanks.
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_mb() -> float:
    """The sum of each living process' peak of resident memory."""
    return sum(status_of(process, "VmHWM") for process in _processes(os.getpid())) / 1024**2


def _processes(root: int) -> Iterator[int]:
    yield root
    children: list[str] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{root}/task").iterdir():
            with contextlib.suppress(OSError):  # threads come and go
                children += (thread / "children").read_text().split()
    for child in children:
        yield from _processes(int(child))


def main(
    engine: str,
    root: Path,
    out: Path,
    runs: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Run the engine so often, and leave the last answer in OUT."""
    began = time.monotonic()
    measured = []
    with ready(engine, Task(root)) as judge:
        start = {"wall": time.monotonic() - began, "cpu": cpu_seconds()}
        for _ in range(runs):
            shutil.rmtree(out, ignore_errors=True)
            wall, cpu = time.monotonic(), cpu_seconds()
            judge(out)
            measured.append({"wall": time.monotonic() - wall, "cpu": cpu_seconds() - cpu})
        peak = peak_mb()
    sys.stdout.write(json.dumps({"ready": start, "runs": measured, "peak_mb": peak}) + "\n")


if __name__ == "__main__":
    typer.run(main)
