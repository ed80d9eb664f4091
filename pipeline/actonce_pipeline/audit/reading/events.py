"""All streams' records, out of all their files."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.listing import File, is_parquet
from actonce_pipeline.audit.reading.parquet import lines_of
from actonce_pipeline.audit.reading.records import rows_of, rows_of_line
from actonce_pipeline.audit.reading.row import COLUMNS, Row
from actonce_pipeline.audit.reading.storage import HERE, as_argument
from actonce_pipeline.audit.reading.streams import Code, codes_of
from actonce_pipeline.audit.times import Interval, end_of, midnight

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
_TASKS: Final = 64  # that read files here, at most
_BATCH: Final = 4096
_SQS_ID: Final = "sqs:"
_HASH: Final = "sha256-"


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
    """The rows that a function makes of each row's values.

    By Arrow, for half the CPU, where it is there: EMR Serverless may bring none.
    """
    if any(not importlib.util.find_spec(one) for one in ("pyarrow", "pandas")):
        return table.sparkSession.createDataFrame(
            table.rdd.flatMap(lambda row: read(*row)), SCHEMA, verifySchema=False
        )

    def by_arrow(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        arrow = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32()}
        types = [arrow[kind] for kind in COLUMNS.values()]
        for batch in batches:
            values: Any = zip(*batch.columns, strict=True)
            rows = chain.from_iterable(read(*(one.as_py() for one in row)) for row in values)
            while some := list(islice(rows, _BATCH)):
                columns = map(pa.array, zip(*some, strict=True), types)
                yield pa.RecordBatch.from_arrays(list(columns), names=list(COLUMNS))

    return table.mapInArrow(by_arrow, SCHEMA)


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


def is_sqs_id() -> Column:
    """Whether SQS's id stands for the message's; see `with_known_ids`."""
    return F.col("message_id").startswith(_SQS_ID)


def is_hash() -> Column:
    """Whether a hash may stand for the message's id; see `with_known_ids`."""
    return F.col("message_id").startswith(_HASH)


def may_stand_for_id() -> Column:
    """Whether a record's id may be such a name."""
    code = F.col("code")
    return (is_sqs_id() & code.isin(Code.SENT, Code.FAILED)) | (
        is_hash() & code.isin(*codes_of("executions"))
    )


def has_unresolved_ids(rows: DataFrame) -> bool:
    """Whether there is such a name that is no started message's own id."""
    unresolved = rows.where(is_sqs_id() | is_hash()).groupBy("message_id")
    started = F.col("code").isin(Code.STARTED, Code.SUPPRESSED)
    found = unresolved.agg(F.max(may_stand_for_id()).alias("name"), F.max(started).alias("own"))
    return not found.where("name AND NOT own").isEmpty()


def of_messages(rows: DataFrame, touched: DataFrame) -> DataFrame:
    """The rows of every message that has one among the touched, and those of none.

    They are looked for by 64 bits of the id, which fit into every process: another message with the
    same ones comes along and changes nothing; none is passed over.
    """
    hashed = F.xxhash64("message_id")
    ids = touched.where("message_id IS NOT NULL").select(hashed.alias("asked")).distinct()
    found = rows.join(F.broadcast(ids), on=hashed == F.col("asked"), how="left_semi")
    return found.union(rows.where("message_id IS NULL"))


def with_known_ids(rows: DataFrame) -> DataFrame:
    """The records, each under the id by which the starter knew its message.

    A message is known by SQS's id where a record was written without its own, and by its hash
    where an execution's event came without its input; a delivery tells what both stand for.
    """
    hashed = F.concat(F.lit(_HASH), F.sha2("message_id", 256))
    stands = F.explode(F.array(F.concat(F.lit(_SQS_ID), "sqs_message_id"), hashed))
    is_delivery = F.col("code").isin(*codes_of("sent", "deliveries"))
    names = rows.where(is_delivery & ~is_sqs_id()).select(
        stands.alias("stands"), F.col("message_id").alias("known")
    )
    # Of two messages with one SQS id, which there cannot be, neither is taken for the other.
    names = (
        names.where("stands IS NOT NULL")
        .groupBy("stands")
        .agg(F.min("known").alias("known"), F.max("known").alias("other"))
        .where("known = other")
        .select("stands", "known")
    )
    joined = rows.join(names, on=rows["message_id"] == names["stands"], how="left")
    known = joined.withColumn("message_id", F.coalesce("known", "message_id"))
    return known.select(*rows.columns)
