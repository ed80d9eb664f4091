"""Where results are put, so that a day run again replaces that day."""

import re
from collections.abc import Collection
from datetime import date
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.types import TimestampType

from actonce_pipeline.audit.reading.storage import files_below, place
from actonce_pipeline.audit.times import Interval
from actonce_pipeline.errors import CannotAudit

CACHE: Final = "cache"


def refuse_others(spark: SparkSession, out: str) -> None:
    """Make sure that the results' folder is the audit's own: empty, or one that an audit wrote.

    Raises:
        CannotAudit: there is something, and neither a summary nor a cache of an audit.
    """
    here = place(spark, out)
    if '"exit_status"' in (here.read("summary.json") or ""):
        return  # and nothing has to be listed
    there = [file.below for file in files_below(here) if file.size]
    cached = (one for one in there if one.startswith(f"{CACHE}/") and one.endswith(".manifest"))
    if there and not any(cached):
        raise CannotAudit(
            f"{out} holds {there[0]}, and nothing that an audit has written: the results replace "
            "what lies there, so name an empty folder with --out."
        )


def parquet_writer(table: DataFrame, unlike: Collection[str] = ()) -> DataFrameWriter:
    """A writer that tries no dictionary where hardly a value repeats: ids, times, and `unlike`."""
    names = [
        field.name
        for field in table.schema
        if field.name in {"message_id", *unlike} or isinstance(field.dataType, TimestampType)
    ]
    return table.write.options(**{f"parquet.enable.dictionary#{name}": "false" for name in names})


def write_days(table: DataFrame, folder: str, *, whole: bool) -> None:
    """Write a table partitioned by its `day`; `whole`: it is all there is, and other days go."""
    writer = parquet_writer(table).mode("overwrite").partitionBy("day")
    writer.option("partitionOverwriteMode", "static" if whole else "dynamic").parquet(folder)


def empty_days(spark: SparkSession, folder: str, days: Interval, but: Collection[date]) -> None:
    """Empty the days of an interval that a table still holds, but those that have rows."""
    for one in files_below(place(spark, folder)):
        found = re.match(r"day=([^/]+)/", one.below)
        if found and days[0] <= (day := date.fromisoformat(found[1])) <= days[1] and day not in but:
            place(spark, folder).delete(one.below)
