"""Effects in Parquet, as a warehouse unloads them: each row as the line that a team would write."""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.types import BinaryType

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.reading.storage import as_argument, readable

LINES: Final = "path string, line string, problem string"
AS_JSON: Final = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""How a row becomes a line: as Spark has it no null, and no microsecond, would be in it."""


def lines_of(spark: SparkSession, paths: Sequence[str], attributes: Attributes | None) -> DataFrame:
    """The rows of files as lines of JSON, or why a file was not read: the columns are `LINES`.

    Each file is read by itself, and whole before anything is made of it, so that one that is broken
    costs no other its rows.
    """
    return reduce(DataFrame.union, (_lines(spark, path, attributes) for path in paths))


def _lines(spark: SparkSession, path: str, attributes: Attributes | None) -> DataFrame:
    problem = "attributes_unknown"
    if attributes is not None and attributes.time is not None:
        try:
            table = spark.read.parquet(as_argument(readable(path)))
            there = {one.name: one.dataType for one in table.schema}
            named = dict.fromkeys((attributes.key, attributes.time, attributes.own_id))
            wanted = [name for name in named if name in there]
            problem = (
                "missing_column" if not {attributes.key, attributes.time} <= there.keys()
                else "wrong_type" if any(isinstance(there[name], BinaryType) for name in wanted)
                else ""
            )  # fmt: skip
            if not problem:
                columns = [F.col(f"`{name.replace('`', '``')}`") for name in wanted]
                text = F.to_json(F.struct(*columns), AS_JSON)
                lines = table.select(F.lit(path), text.alias("line"), F.lit(None).cast("string"))
                lines.agg(F.sum(F.length("line"))).collect()
                return lines.toDF("path", "line", "problem")
        except (PySparkException, Py4JError):
            problem = "unreadable_parquet"
    return spark.createDataFrame([(path, None, problem)], LINES)
