"""Where results are put, so that a day run again replaces that day."""

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.types import TimestampType

from actonce_pipeline.audit.reading.passed_over import is_file_passed_over
from actonce_pipeline.audit.reading.storage import (
    ListedFile,
    files_below,
    is_uri,
    place,
    readable,
)
from actonce_pipeline.audit.times import Interval
from actonce_pipeline.errors import CannotAudit

CACHE: Final = "cache"
_FOLDERS: Final = ("messages", "quarantine", CACHE)
_TEXTS: Final = {"summary.json": '"exit_status"', "report.html": "ActOnce audit"}
"""Files that are replaced, and what they hold if an audit wrote them."""


def refuse_others(spark: SparkSession, out: str) -> None:
    """Make sure that an audit wrote what a run replaces: by its name, beside a summary or cache.

    Raises:
        CannotAudit: somebody else did.
    """
    here = place(spark, out)
    texts = {name: here.read(name) for name in _TEXTS}
    others = [name for name, sign in _TEXTS.items() if sign not in (texts[name] or sign)]
    files: list[ListedFile] = []
    for name in _FOLDERS:
        folder = readable(f"{out}/{name}")
        if not is_uri(folder) and (Path(folder).is_symlink() or Path(folder).is_file()):
            others.append(name)
        of_folder = files_below(place(spark, folder))
        files += [replace(file, below=f"{name}/{file.below}") for file in of_folder]
    others += [file.below for file in files if not is_file_passed_over(file, "")]
    if not texts["summary.json"] and not any(file.below.endswith(".manifest") for file in files):
        others += [file.below for file in files]
    if others:
        raise CannotAudit(
            f"{out} holds {others[0]}, which no audit has written and this one would replace: name "
            "another folder with --out."
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
