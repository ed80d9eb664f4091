"""All streams' records, out of all their files."""

from collections.abc import Sequence
from datetime import date
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.layout import PLACE, File, Kind, Listing, as_argument, readable
from pipeline.audit.lines import broken_files, careful_lines, plain_lines
from pipeline.audit.records import parquet_records, parquet_schema, text_records
from pipeline.audit.sql import literal
from pipeline.audit.streams import STREAMS, Code


def records(spark: SparkSession, files: tuple[File, ...], *, located: bool = True) -> DataFrame:
    """The records of the files; see `records.text_records` for the columns.

    Args:
        spark: the session.
        files: what to read.
        located: whether records out of Parquet say in which `file` they are.
    """

    def of(kind: Kind, streams: Sequence[str] = STREAMS) -> list[str]:
        return [file.path for file in files if file.kind is kind and file.stream in streams]

    parts = []
    for stream in STREAMS:
        if paths := of(Kind.PARQUET, [stream]):
            table = spark.read.schema(parquet_schema(stream)).parquet(*map(as_argument, paths))
            parts.append(parquet_records(table, stream, located=located))
    lines = []
    if paths := of(Kind.TEXT):
        lines.append(plain_lines(spark, paths))
    if paths := of(Kind.BYTES):
        lines.append(careful_lines(spark, paths))
    if lines:
        parts.append(text_records(reduce(DataFrame.union, lines)))
    return reduce(DataFrame.union, parts)


def before(rows: DataFrame, moment: int) -> DataFrame:
    """The records before a moment (ms), and those without a time of their own.

    Later ones stay as rows that tell nothing. Spark would work out a filter's columns once more,
    below the projection that makes them; an aggregate passes such rows over.
    """
    return rows.withColumns(
        {
            name: F.expr(f"CASE WHEN at >= {moment} THEN NULL ELSE {name} END")
            for name in ("message_id", "code", "at")
        }
    )


def narrow(rows: DataFrame, since: date | None, until: date | None) -> DataFrame:
    """What the aggregate needs, numbers but for the id.

    Records that tell no message count on the days asked for only, others tell nothing (see
    `before`); quarantined lines have no time of their own, so their folder's day counts.
    """
    code = "code"
    if since is not None and until is not None:
        day = f"""
            CASE code WHEN {int(Code.QUARANTINED)} THEN regexp_extract(file, {literal(PLACE)}, 2)
            ELSE date_format(timestamp_millis(at), 'yyyy-MM-dd') END
        """
        asked = f"message_id IS NOT NULL OR {day} BETWEEN '{since}' AND '{until}'"
        code = f"CASE WHEN {asked} THEN code END AS code"
    return rows.selectExpr("message_id", "at", code, "f1", "f2")


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
