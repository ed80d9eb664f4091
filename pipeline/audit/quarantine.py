"""Lines that are no records: where each is, and why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from pipeline.audit.layout import File, Kind, Listing, as_argument, is_uri, readable
from pipeline.audit.reading import records
from pipeline.audit.sql import worked_out

MAX_EXAMPLES = 100
_SHOWN = 200  # characters of a line that are kept
_TABLE: Final = "file string, line long, reason string, text string"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The counts, and examples for the summary."""

    by_reason: dict[str, int]
    examples: list[dict[str, Any]]

    @property
    def lines(self) -> int:
        """How many there are."""
        return sum(self.by_reason.values())


def quarantine(
    spark: SparkSession, listing: Listing, files: tuple[File, ...], lines: int, folder: str
) -> Quarantine:
    """Find the lines that were counted, with their numbers, and write them to `folder`.

    Spark's own reader does not count lines, so the files that hold such lines are read once more,
    byte by byte. Without such lines nothing is read, and none of an earlier run stays behind.
    """
    by_reason: dict[str, int] = {}
    examples = [
        {"file": readable(path), "line": None, "reason": reason} for path, reason in listing.unread
    ]
    for _, reason in listing.unread:
        by_reason[reason] = by_reason.get(reason, 0) + 1
    if not lines:
        if is_uri(folder) or Path(folder).exists():
            spark.range(0).write.mode("overwrite").json(folder)
        return Quarantine(by_reason, examples[:MAX_EXAMPLES])

    def bad_lines(among: tuple[File, ...]) -> DataFrame:
        rows = worked_out(records(spark, among), "file", "line", "problem", "text")
        return rows.where("problem IS NOT NULL")

    named = {readable(row.file) for row in bad_lines(files).select("file").distinct().collect()}
    again = tuple(
        file if file.kind is Kind.PARQUET else File(file.path, file.stream, file.day, Kind.BYTES)
        for file in files
        if readable(file.path) in named
    )
    (
        bad_lines(again)
        .selectExpr("file", "line", "problem AS reason", f"substring(text, 1, {_SHOWN}) AS text")
        .write.mode("overwrite")
        .json(folder)
    )
    table = spark.read.schema(_TABLE).json(as_argument(folder))
    for row in table.groupBy("reason").count().collect():
        by_reason[row["reason"]] = by_reason.get(row["reason"], 0) + row["count"]
    examples += [
        {"file": readable(row["file"]), "line": row["line"], "reason": row["reason"]}
        for row in table.orderBy("file", "line").limit(MAX_EXAMPLES).collect()
    ]
    return Quarantine(by_reason, examples[:MAX_EXAMPLES])
