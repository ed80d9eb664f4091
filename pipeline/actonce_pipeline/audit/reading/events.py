"""All streams' records, out of all their files, and those of some messages or days."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Final

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
_TASKS: Final = 64  # that read files here, at most


def records(
    spark: SparkSession, files: tuple[File, ...], effects: Attributes | None = None
) -> DataFrame:
    """The records of the files, as `row.COLUMNS` has them; `effects`: see `rows_of`.

    A file here is read by the task that takes it apart, a piece at a time; one elsewhere is held in
    memory, by Spark's own reader, as Parquet is.
    """
    tables = [file.path for file in files if is_parquet(file.path)]
    paths = [file.path for file in files if not is_parquet(file.path)]
    read = [_records_of_lines(spark, paths, effects)] if paths else []
    if tables:
        read.append(
            _read(lines_of(spark, tables, effects), partial(rows_of_line, attributes=effects))
        )
    return reduce(DataFrame.union, read)


def _records_of_lines(
    spark: SparkSession, paths: Sequence[str], effects: Attributes | None
) -> DataFrame:
    if paths[0].startswith(HERE):
        table = spark.range(0, len(paths), 1, min(len(paths), _TASKS))

        def read(number: int) -> Iterator[Row]:
            return rows_of(paths[number], attributes=effects)

        return _read(table, read)
    table = spark.read.format("binaryFile").load([as_argument(path) for path in paths])
    return _read(table.select("path", "content"), partial(rows_of, attributes=effects))


def _read(table: DataFrame, read: Callable[..., Iterator[Row]]) -> DataFrame:
    """The rows that a function makes of each row's values."""
    rows = table.rdd.flatMap(lambda row: read(*row))
    return table.sparkSession.createDataFrame(rows, SCHEMA, verifySchema=False)


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
