"""All streams' records, out of all their files."""

from collections.abc import Iterator
from datetime import date
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.layout import File, Kind, Listing, as_argument, readable
from pipeline.lines import broken_files, careful_lines, plain_lines
from pipeline.records import parquet_records, parquet_schema, text_records
from pipeline.streams import STREAMS, Code


def records(spark: SparkSession, files: tuple[File, ...], *, located: bool = True) -> DataFrame:
    """The records of the files; see `records.text_records` for the columns.

    Args:
        spark: the session.
        files: what to read.
        located: whether records out of Parquet say in which `file` they are.
    """
    parts = [part for stream in STREAMS for part in _parts(spark, stream, files, located=located)]
    return reduce(DataFrame.union, parts)


def _parts(
    spark: SparkSession, stream: str, files: tuple[File, ...], *, located: bool
) -> Iterator[DataFrame]:
    def of(kind: Kind) -> list[str]:
        return [file.path for file in files if file.stream == stream and file.kind is kind]

    if paths := of(Kind.PARQUET):
        reader = spark.read.schema(parquet_schema(stream))
        table = reader.parquet(*(as_argument(path) for path in paths))
        yield parquet_records(table, stream, located=located)
    lines = []
    if paths := of(Kind.TEXT):
        lines.append(plain_lines(spark, paths))
    if paths := of(Kind.BYTES):
        lines.append(careful_lines(spark, paths))
    if lines:
        yield text_records(reduce(DataFrame.union, lines), stream)


def narrow(rows: DataFrame, since: date | None, until: date | None) -> DataFrame:
    """What the aggregate needs, numbers but for the id.

    Records that tell no message are those of the days asked for only; quarantined lines have no
    time of their own, so their folder's day counts.
    """
    if since is not None and until is not None:
        folder = F.regexp_extract("file", r"/dt=(\d{4}-\d\d-\d\d)/", 1)
        day = F.when(F.col("code") == int(Code.QUARANTINED), folder).otherwise(
            F.date_format(F.timestamp_millis(F.col("at")), "yyyy-MM-dd")
        )
        rows = rows.where(
            F.col("message_id").isNotNull() | day.between(since.isoformat(), until.isoformat())
        )
    return rows.select("message_id", "at", "code", "f1", "f2", "f3", "f4")


def without_broken(spark: SparkSession, listing: Listing, error: Exception) -> Listing:
    """The listing with the files that broke a job marked to be read byte by byte.

    Looking for them costs a read of every compressed file, so it is done after a failure only.

    Raises:
        Exception: `error`, if no file is broken; it was something else.
    """
    suspects = [
        file.path
        for file in listing.files
        if file.kind is not Kind.BYTES and file.path.lower().endswith((".gz", ".parquet"))
    ]
    broken = {readable(path) for path in broken_files(spark, suspects)} if suspects else set()
    if not broken:
        raise error
    return Listing(
        tuple(
            File(file.path, file.stream, file.day, Kind.BYTES)
            if readable(file.path) in broken
            else file
            for file in listing.files
        ),
        listing.unread,
        listing.modified,
    )


def is_unreadable(error: Exception) -> bool:
    """Whether a job failed over a file."""
    text = str(error)
    return any(
        sign in text
        for sign in (
            "FAILED_READ_FILE",
            "CANNOT_READ_FILE",
            "EOFException",
            "not a Parquet",
            "CANNOT_READ",
        )
    )
