"""All streams' records, out of all their files, and those of some messages or days."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from pyspark import RDD
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import File, is_parquet
from actonce_pipeline.audit.reading.parquet import lines_of
from actonce_pipeline.audit.reading.records import rows_of, rows_of_line
from actonce_pipeline.audit.reading.row import COLUMNS, Row
from actonce_pipeline.audit.reading.storage import HERE, as_argument
from actonce_pipeline.audit.times import Interval, end_of, midnight

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


def records(
    spark: SparkSession, files: tuple[File, ...], effects: Attributes | None = None
) -> DataFrame:
    """The records of the files, as `row.COLUMNS` has them; `effects`: see `rows_of`.

    A file here is read by the task that takes it apart, a piece at a time; one elsewhere is held in
    memory, by Spark's own reader, as Parquet is.
    """
    tables = [file.path for file in files if is_parquet(file.path)]
    paths = [file.path for file in files if not is_parquet(file.path)]
    found: list[RDD[Row]] = []
    if paths:
        found.append(_files(spark, paths).flatMap(lambda row: rows_of(*row, attributes=effects)))
    if tables:
        lines = lines_of(spark, tables, effects).rdd
        found.append(lines.flatMap(lambda row: rows_of_line(*row, attributes=effects)))
    frames = (spark.createDataFrame(rows, SCHEMA, verifySchema=False) for rows in found)
    return reduce(DataFrame.union, frames)


def _files(spark: SparkSession, paths: Sequence[str]) -> RDD[Any]:
    """Of each file the path, and the content of one that is not here; 64 tasks read those here."""
    if paths[0].startswith(HERE):
        return spark.sparkContext.parallelize([(path,) for path in paths], min(len(paths), 64))
    table = spark.read.format("binaryFile").load([as_argument(path) for path in paths])
    return table.select("path", "content").rdd


def narrow(rows: DataFrame, days: Interval | None) -> DataFrame:
    """What the aggregate needs, numbers but for the id.

    A record without a message id counts on the days asked for only. `late` says that a record of an
    earlier day lies in the folder of one of these.
    """
    needed = ("message_id", "at", "code", "identity")
    if days is None:
        return rows.select(*needed)
    (since, until), at, folder = days, F.col("at"), F.col("folder")
    in_folders = folder.between(since.isoformat(), until.isoformat())
    return rows.where(F.col("message_id").isNotNull() | is_of(days)).select(
        *needed, ((at < midnight(since)) & in_folders).alias("late")
    )


def is_of(days: Interval) -> Column:
    """Whether a record's time is of these days."""
    return F.col("at").between(midnight(days[0]), end_of(days[1]) - 1)


def of_messages(rows: DataFrame, touched: DataFrame) -> DataFrame:
    """The rows of every message that has one among the touched, and those of none.

    They are looked for by 64 bits of the id, which fit into every process: another message with the
    same ones comes along and changes nothing; none is passed over.
    """
    hashed = F.xxhash64("message_id")
    ids = touched.where("message_id IS NOT NULL").select(hashed.alias("asked")).distinct()
    found = rows.join(F.broadcast(ids), on=hashed == F.col("asked"), how="left_semi")
    return found.union(rows.where("message_id IS NULL"))
