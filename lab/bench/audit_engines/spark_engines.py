"""What runs as PySpark: the plain read, the audit, the naive way, and the audit on Sail."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from lab.bench.audit_engines import rules
from lab.bench.audit_engines.task import ITEM, LINES, STREAMS, Run, Task
from pipeline.audit.job import INTERNAL, Request, message_rows
from pipeline.audit.layout import list_records
from pipeline.audit.reading import records
from pipeline.audit.records import parquet_schema
from pipeline.audit.results import parquet_writer
from pipeline.session import configured, spark_session

HEAP = os.environ.get("ACTONCE_BENCH_HEAP", "1g")
"""Of the JVM that Spark runs in; Spark's own default."""


@contextmanager
def _classic() -> Iterator[SparkSession]:
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {HEAP} pyspark-shell"
    spark = spark_session("bench")
    try:
        yield spark
    finally:
        spark.stop()


def _as_it_is(spark: SparkSession, task: Task, stream: str) -> DataFrame:
    """The fields that the audit reads, by Spark's own reader."""
    if task.form == "parquet":
        return spark.read.schema(parquet_schema(stream)).parquet(*task.files(stream))
    if stream == "effects":
        fields = f"Item struct<{', '.join(f'{name}: struct<S: string>' for name in ITEM)}>"
    else:
        fields = ", ".join(f"`{name}` string" for name in LINES[stream])
    return spark.read.schema(fields).json(task.files(stream))


def _table(spark: SparkSession, task: Task, stream: str) -> DataFrame:
    """The stream's columns, `at` a time."""
    rows = _as_it_is(spark, task, stream)
    if task.form == "parquet":
        return rows
    if stream == "effects":
        rows = rows.selectExpr(*(f"Item.{name}.S AS {name}" for name in ITEM))
        rows = rows.withColumnRenamed("booked_at", "at")
    return rows.withColumn("at", F.to_timestamp("at"))


@contextmanager
def plain_read(task: Task) -> Iterator[Run]:
    """Read every column of every file and do nothing with it."""
    with _classic() as spark:

        def run(_: Path) -> None:
            for stream in STREAMS:
                _as_it_is(spark, task, stream).write.format("noop").mode("overwrite").save()

        yield run


@contextmanager
def audit(task: Task) -> Iterator[Run]:
    """The audit's judgement, written."""
    with _classic() as spark:
        yield _judging(spark, task)


@contextmanager
def sail(task: Task) -> Iterator[Run]:
    """The same code on Sail, over Spark Connect."""
    # Not everybody has it.
    server = import_module("pysail.spark").SparkConnectServer()
    server.start(background=True)
    address = server.listening_address
    if address is None:
        raise RuntimeError("Sail's server has started and listens nowhere.")
    host, port = address
    spark = configured(SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate())
    try:
        yield _judging(spark, task)
    finally:
        spark.stop()
        server.stop()


def _judging(spark: SparkSession, task: Task) -> Run:
    root = str(task.root)

    def run(out: Path) -> None:
        listing = list_records(spark, root)
        request = Request(root, str(out))
        rows = message_rows(records(spark, listing.files, located=False), request, listing)
        written = rows.drop(*INTERNAL)
        parquet_writer(written, written.schema).parquet(str(out))

    return run


@contextmanager
def naive(task: Task) -> Iterator[Run]:
    """What comes to mind first: no duplicates, a table per stream, joins."""
    with _classic() as spark:

        def run(out: Path) -> None:
            for stream in STREAMS:
                table = _table(spark, task, stream).dropDuplicates()
                table = table.withColumn("ms", F.unix_millis("at"))
                if stream == "deliveries":
                    table = table.withColumnRenamed("end", "ended")
                table.createOrReplaceTempView(stream)
            spark.sql(rules.joined(task.newest_ms)).write.parquet(str(out))

        yield run
