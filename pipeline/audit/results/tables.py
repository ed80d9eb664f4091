"""Where results are put, so that a day run again replaces that day."""

import fcntl
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.types import StructType, TimestampType

from pipeline.audit.judging.verdicts import Interval
from pipeline.audit.reading.places import files_below, is_uri, place, readable
from pipeline.errors import CannotAudit

CACHE: Final = "cache"
_REPLACED: Final = ("messages", "quarantine", CACHE, "summary.json", "report.html")


def refuse_others(spark: SparkSession, out: str) -> None:
    """Make sure that what a run replaces is an audit's: its summary, or its cache, lies beside it.

    Raises:
        CannotAudit: it was not.
    """
    if '"exit_status"' in (place(spark, f"{out}/summary.json").read("") or ""):
        return
    cached = {one.below for one in files_below(spark, f"{out}/{CACHE}")}
    if any(name.endswith(".manifest") for name in cached):
        return
    for name in _REPLACED:
        there = f"{out}/{name}"
        if files_below(spark, there) or (not is_uri(there) and Path(readable(there)).is_file()):
            raise CannotAudit(
                f"{out} holds {name}, which no audit has written and this one would replace: name "
                "another folder with --out."
            )


@contextmanager
def alone_in(out: str) -> Iterator[None]:
    """Keep every other audit of this machine out of the results' folder, which is made.

    Two at once would leave both ones' rows of a day beside each other. The system itself lets go of
    it, whatever ends the process. What lies elsewhere, or on a file system that knows no locks, is
    for whoever starts audits to keep apart.

    Raises:
        CannotAudit: another audit writes there.
    """
    if is_uri(out) and not out.startswith("file:"):
        yield
        return
    folder = Path(readable(out))
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotAudit(
                f"Another audit writes into {out} just now: wait for its end, or name another "
                "folder with --out."
            ) from None
        except OSError:  # the file system knows no such locks
            pass
        yield
    finally:
        os.close(descriptor)


def parquet_writer(
    table: DataFrame, schema: StructType, unlike: Collection[str] = ()
) -> DataFrameWriter:
    """A writer that tries no dictionary where hardly a value repeats: ids, times, and `unlike`.

    The schema is given, because asking an observed table for it would be its first run on Spark
    Connect, and what is observed then is lost.
    """
    names = [
        field.name
        for field in schema
        if field.name in {"message_id", *unlike} or isinstance(field.dataType, TimestampType)
    ]
    return table.write.options(**{f"parquet.enable.dictionary#{name}": "false" for name in names})


def write_days(table: DataFrame, folder: str, schema: StructType, *, whole: bool) -> None:
    """Write a table partitioned by its `day`.

    Args:
        table: the rows.
        folder: of the table.
        schema: of the table, or of one with more columns.
        whole: the table is all there is: other days go. Otherwise they stay.
    """
    writer = parquet_writer(table, schema).mode("overwrite").partitionBy("day")
    writer.option("partitionOverwriteMode", "static" if whole else "dynamic").parquet(folder)


def empty_days(spark: SparkSession, folder: str, days: Interval, but: Collection[date]) -> None:
    """Empty the days of an interval that a table still holds, but those that have rows."""
    for one in files_below(spark, folder):
        found = re.match(r"day=([^/]+)/", one.below)
        if found and days[0] <= (day := date.fromisoformat(found[1])) <= days[1] and day not in but:
            place(spark, folder).delete(one.below)
