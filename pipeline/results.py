"""Where results are put, so that a day run again replaces that day."""

import json
import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark


def write_days(table: DataFrame, folder: str, *, whole: bool) -> None:
    """Write a table partitioned by its `day`.

    Args:
        table: the rows.
        folder: of the table.
        whole: the table is all there is: other days go. Otherwise they stay.
    """
    writer = table.write.mode("overwrite").partitionBy("day")
    writer.option("partitionOverwriteMode", "static" if whole else "dynamic").parquet(folder)


def empty_days(folder: str, schema_of: DataFrame, days: Iterable[date]) -> None:
    """Empty days that a table still holds and that have no rows any more."""
    for day in days:
        nothing = schema_of.drop("day").limit(0)
        nothing.write.mode("overwrite").parquet(f"{folder}/day={day.isoformat()}")


def days_held(spark: SparkSession, folder: str) -> set[date]:
    """The days that a table holds files for; none if there is no table."""
    try:
        paths = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(folder)
            .select(F.regexp_extract("path", r"/day=(\d{4}-\d\d-\d\d)/", 1).alias("day"))
            .distinct()
            .collect()
        )
    except AnalysisException:
        return set()
    return {date.fromisoformat(row["day"]) for row in paths if row["day"]}


def write_json(path: str, value: Any) -> None:
    """Write a JSON file, here or in S3."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    bucket = re.match(r"s3[an]?://([^/]+)/(.+)$", path)
    if bucket:
        import boto3

        boto3.client("s3").put_object(
            Bucket=bucket[1],
            Key=bucket[2],
            Body=text.encode("utf-8"),
            ContentType="application/json",
        )
        return
    file = Path(re.sub(r"^file:/+", "/", path))
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
