"""Where results are put, so that a day run again replaces that day."""

import re
from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.types import StructType, TimestampType

from pipeline.audit.reading.passed_over import RESULTS
from pipeline.audit.reading.places import files_below, is_uri, place, readable
from pipeline.audit.times import Interval
from pipeline.errors import CannotAudit

CACHE: Final = "cache"
_FOLDERS: Final = ("messages", "quarantine", CACHE)
"""Folders in which an audit writes files."""
_TEXTS: Final = {"summary.json": '"exit_status"', "report.html": "ActOnce audit"}
"""Files that are replaced, and what they hold if an audit wrote them."""


def refuse_others(spark: SparkSession, out: str) -> None:
    """Make sure that whatever a run replaces was written by an audit.

    Raises:
        CannotAudit: it was not.
    """
    texts = {name: place(spark, f"{out}/{name}").read("") for name in _TEXTS}
    for name, sign in _TEXTS.items():
        if sign not in (texts[name] or sign):
            raise CannotAudit(_others(out, name))
    tables: list[str] = []
    is_of_audit = texts["summary.json"] is not None
    for name in _FOLDERS:
        folder = f"{out}/{name}"
        here = None if is_uri(folder) else Path(readable(folder))
        if here and (here.is_symlink() or (here.exists() and not here.is_dir())):
            raise CannotAudit(_others(out, name))
        for file in files_below(place(spark, folder)):
            if not RESULTS.match(f"{name}/{file.below}"):
                raise CannotAudit(_others(out, f"{name}/{file.below}"))
            is_of_audit |= name == CACHE and file.below.endswith(".manifest")
            if file.below.endswith(".parquet") and name != CACHE:
                tables.append(name)
    if tables and not is_of_audit:
        raise CannotAudit(_others(out, tables[0]))


def _others(out: str, name: str) -> str:
    return (
        f"{out} holds {name}, which no audit has written and this one would replace: name another "
        "folder with --out."
    )


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
        schema: of the table, or of one with more columns.
        whole: the table is all there is: other days go. Otherwise they stay.
    """
    writer = parquet_writer(table, schema).mode("overwrite").partitionBy("day")
    writer.option("partitionOverwriteMode", "static" if whole else "dynamic").parquet(folder)


def empty_days(spark: SparkSession, folder: str, days: Interval, but: Collection[date]) -> None:
    """Empty the days of an interval that a table still holds, but those that have rows."""
    for one in files_below(place(spark, folder)):
        found = re.match(r"day=([^/]+)/", one.below)
        if found and days[0] <= (day := date.fromisoformat(found[1])) <= days[1] and day not in but:
            place(spark, folder).delete(one.below)
