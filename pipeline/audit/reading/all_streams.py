"""All streams' records, out of all their files."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.reading.lines import broken_files, careful_lines, is_packed, plain_lines
from pipeline.audit.reading.listing import DAY, File, Kind, Listing
from pipeline.audit.reading.places import as_argument, readable
from pipeline.audit.reading.records import text_records
from pipeline.audit.reading.streams import OPTIONAL, STREAMS, Code
from pipeline.audit.sql import worked_out
from pipeline.errors import CannotAudit


def records(spark: SparkSession, files: tuple[File, ...]) -> DataFrame:
    """The records of the files; see `records.text_records` for the columns."""
    readers = {Kind.TEXT: plain_lines, Kind.BYTES: careful_lines}
    lines = [
        read(spark, paths)
        for kind, read in readers.items()
        if (paths := [file.path for file in files if file.kind is kind])
    ]
    there = {file.stream for file in files}
    told = [stream for stream in STREAMS if stream not in OPTIONAL or stream in there]
    return text_records(reduce(DataFrame.union, lines), told)


def before(rows: DataFrame, moment: datetime) -> DataFrame:
    """The records that were there before a moment, and those without a time of their own.

    What arrived on an earlier day was there, whatever its own clock said. Later ones stay as rows
    that tell nothing. Spark would work out a filter's columns once more, below the projection that
    makes them; an aggregate passes such rows over.
    """
    arrived_before = f"coalesce({DAY} < '{moment.astimezone(UTC).date()}', false)"
    later = f"at >= {int(moment.timestamp() * 1000)} AND NOT {arrived_before}"
    return rows.withColumns(
        {
            name: F.expr(f"CASE WHEN {later} THEN NULL ELSE {name} END")
            for name in ("message_id", "code", "at")
        }
    )


def narrow(rows: DataFrame, since: date | None, until: date | None) -> DataFrame:
    """What the aggregate needs, numbers but for the id.

    Records that tell no message count on the days asked for only, and quarantined lines, which
    have no time, if they lie there or in a later folder: they may be late. Others tell nothing (see
    `before`). `late` says that a record of another day lies in the
    folder of one of these.
    """
    if since is None or until is None:
        return rows.selectExpr("message_id", "at", "code", "f1", "f2")
    first, last = (
        int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
        for day in (since, until + timedelta(days=1))
    )
    return rows.selectExpr(
        "message_id",
        "at",
        f"CASE WHEN code = {int(Code.QUARANTINED)} AND {DAY} < '{since}' THEN NULL "
        f"WHEN message_id IS NULL AND NOT at BETWEEN {first} AND {last - 1} THEN NULL "
        "ELSE code END AS code",
        "f1",
        "f2",
        f"at < {first} AND coalesce({DAY} BETWEEN '{since}' AND '{until}', false) AS late",
    )


def of_messages(rows: DataFrame, touched: DataFrame) -> DataFrame:
    """The rows of every message that has one among the touched, and those of none.

    They are looked for by 64 bits of the id, which fit into every process: another message with the
    same ones comes along and changes nothing; none is passed over.
    """
    ids = touched.where("message_id IS NOT NULL").selectExpr("xxhash64(message_id) AS asked")
    found = rows.join(
        F.broadcast(ids.distinct()), on=F.expr("xxhash64(message_id) = asked"), how="left_semi"
    )
    return found.union(rows.where("message_id IS NULL AND code IS NOT NULL"))


def with_known_ids(rows: DataFrame) -> DataFrame:
    """The records, each under the id by which the starter knew its message.

    A message is known by SQS's id where a record was written without its own, and by its hash
    where an execution's event came without its input; a delivery tells what both stand for.
    """
    known = worked_out(rows, "message_id", "sqs_message_id", "code").where(
        f"message_id IS NOT NULL AND code BETWEEN {int(Code.SENT)} AND {int(Code.FAILED)} "
        "AND NOT startswith(message_id, 'sqs:')"
    )
    names = known.selectExpr(
        "inline(array(struct(concat('sqs:', sqs_message_id) AS stands, message_id AS known), "
        "struct(concat('sha256-', sha2(message_id, 256)) AS stands, message_id AS known)))"
    )
    # Of two messages with one SQS id, which there cannot be, neither is taken for the other.
    names = (
        names.where("stands IS NOT NULL")
        .groupBy("stands")
        .agg(F.min("known").alias("known"), F.max("known").alias("other"))
        .where("known = other")
        .select("stands", "known")
    )
    columns = rows.columns
    joined = rows.join(names, on=rows["message_id"] == names["stands"], how="left")
    return joined.selectExpr(
        *(
            f"coalesce(known, {name}) AS {name}" if name == "message_id" else name
            for name in columns
        )
    )


def without_broken(
    spark: SparkSession, listing: Listing, files: Sequence[File], error: Exception
) -> Listing:
    """The listing without what broke a job over some of its files: a file costs itself only.

    A file that breaks a reader is marked to be read byte by byte. One that cannot be opened is
    unread: it went after it was listed, or its object is archived or forbidden. Looking for them
    costs a read of every file, so it is done after a failure only.

    Raises:
        Exception: `error`, if every file is well that can be held in memory.
    """
    held = [file for file in files if file.size <= _HELD_BYTES]
    packed = [file for file in held if file.kind is Kind.TEXT and is_packed(file.path)]
    try:
        broken = broken_files(spark, [file.path for file in packed]) if packed else []
    except CannotAudit as needed:
        broken, error = [], needed
    except PySparkException:  # one of them cannot be opened
        broken = []
    if broken:
        return listing.carefully({readable(path) for path in broken})
    closed = _unopened(spark, held)
    if not closed:
        raise error
    return listing.without(dict.fromkeys(closed, "unreadable_file"))


_HELD_BYTES: Final = 2**27


def _unopened(spark: SparkSession, files: Sequence[File]) -> set[str]:
    """Those of the files, as `readable` has them, that cannot be opened."""
    if not files:
        return set()
    try:
        read = (
            spark.read.format("binaryFile")
            .options(ignoreCorruptFiles="true", ignoreMissingFiles="true")
            .load([as_argument(file.path) for file in files])
            .where("length(content) >= 0")
            .select("path")
            .collect()
        )
    except PySparkException:
        # What went before a job began keeps Spark from reading any.
        if len(files) == 1:
            return {readable(files[0].path)}
        half = len(files) // 2
        return _unopened(spark, files[:half]) | _unopened(spark, files[half:])
    # Spark opens no empty file.
    asked = {readable(file.path) for file in files if file.size}
    return asked - {readable(row.path) for row in read}
