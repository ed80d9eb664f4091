"""Where results are put, so that a day run again replaces that day."""

import fcntl
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.types import StructType, TimestampType
from pyspark.sql.utils import is_remote

from pipeline.audit.kept import FOLDER
from pipeline.audit.layout import RESULTS, as_argument, files_below, is_uri
from pipeline.errors import CannotAudit

_TABLES: Final = {
    "messages": {"message_id", "verdict", "judged"},
    "days": {"performed_once", "unjudged"},
    "quarantine": None,
    FOLDER: None,
}
"""Folders in which files are replaced, and columns by which a table is known to be an audit's."""
_TEXTS: Final = {"summary.json": '"exit_status"', "report.html": "ActOnce audit"}


def refuse_others(spark: SparkSession, out: str) -> None:
    """Make sure that whatever a run replaces was written by an audit.

    Raises:
        CannotAudit: it was not.
    """
    for name, columns in _TABLES.items():
        folder = f"{out}/{name}"
        here = None if is_uri(folder) else Path(re.sub(r"^file:/+", "/", folder))
        if here and (here.is_symlink() or (here.exists() and not here.is_dir())):
            raise CannotAudit(_others(out, name))
        below = [one.below for one in files_below(spark, folder)]
        for file in below:
            if not RESULTS.match(f"{name}/{file}"):
                raise CannotAudit(_others(out, f"{name}/{file}"))
        # What a run that was killed has begun, no reader sees: it tells no columns.
        seen = [file for file in below if not file.startswith(("_", "."))]
        if columns and any(file.endswith(".parquet") for file in seen):
            try:
                told = set(spark.read.parquet(as_argument(folder)).columns)
            except Exception as error:
                raise CannotAudit(_others(out, name)) from error
            if not columns <= told:
                raise CannotAudit(_others(out, name))
    for name, sign in _TEXTS.items():
        text = _text(spark, f"{out}/{name}")
        if text is not None and sign not in text:
            raise CannotAudit(_others(out, name))


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
    folder = Path(re.sub(r"^file:/+", "/", out))
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


def _others(out: str, name: str) -> str:
    return (
        f"{out} holds {name}, which no audit has written and this one would replace: name another "
        "folder with --out."
    )


def _text(spark: SparkSession, path: str) -> str | None:
    """A text file, or None if there is none."""
    if is_uri(path) and not path.startswith("file:"):
        try:
            return "\n".join(row.value for row in spark.read.text(as_argument(path)).collect())
        except AnalysisException:
            return None
    file = Path(re.sub(r"^file:/+", "/", path))
    return file.read_text("utf-8", "replace") if file.exists() else None


def texts(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """The text files that are there, in no order; those that are no UTF-8 with question marks."""
    if paths and is_uri(paths[0]) and not paths[0].startswith("file:"):
        try:
            rows = spark.read.text([as_argument(path) for path in paths], wholetext=True).collect()
        except PySparkException:  # one of them went meanwhile
            return [text for path in paths if (text := _text(spark, path)) is not None]
        return [row.value for row in rows]
    return [text for path in paths if (text := _text(spark, path)) is not None]


def forget(spark: SparkSession, path: str) -> None:
    """Delete a file, if it is there."""
    bucket = re.match(r"s3[an]?://([^/]+)/(.+)$", path)
    if is_uri(path) and not path.startswith("file:"):
        if is_remote():
            if bucket:
                import boto3

                boto3.client("s3").delete_object(Bucket=bucket[1], Key=bucket[2])
            return
        context: Any = spark.sparkContext
        place = context._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - as below
        settings = context._jsc.hadoopConfiguration()  # noqa: SLF001
        place.getFileSystem(settings).delete(place, False)
        return
    Path(re.sub(r"^file:/+", "/", path)).unlink(missing_ok=True)


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


def write_days(
    table: DataFrame, folder: str, *, whole: bool, schema: StructType | None = None
) -> None:
    """Write a table partitioned by its `day`.

    Args:
        table: the rows.
        folder: of the table.
        whole: the table is all there is: other days go. Otherwise they stay.
        schema: of the table, or of one with more columns, if the table is observed.
    """
    writer = parquet_writer(table, schema or table.schema).mode("overwrite").partitionBy("day")
    writer.option("partitionOverwriteMode", "static" if whole else "dynamic").parquet(folder)


def empty_days(folder: str, schema_of: DataFrame, days: Iterable[date]) -> None:
    """Empty days that a table still holds and that have no rows any more."""
    for day in days:
        nothing = schema_of.drop("day").limit(0)
        nothing.write.mode("overwrite").parquet(f"{folder}/day={day.isoformat()}")


def days_held(spark: SparkSession, folder: str) -> set[date]:
    """The days that a table holds files for; none if there is no table."""
    if not is_uri(folder):
        files = Path(folder).glob("day=*/[!._]*")
        return {date.fromisoformat(file.parent.name.removeprefix("day=")) for file in files}
    try:
        paths = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(as_argument(folder))
            .select(F.regexp_extract("path", r"/day=(\d{4}-\d\d-\d\d)/", 1).alias("day"))
            .distinct()
            .collect()
        )
    except AnalysisException:
        return set()
    return {date.fromisoformat(row["day"]) for row in paths if row["day"]}


def write_json(spark: SparkSession, path: str, value: Any) -> None:
    """Write a JSON file, here or wherever Spark can write."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    write_text(spark, path, text, "application/json")


def write_text(spark: SparkSession, path: str, text: str, content_type: str) -> None:
    """Write a file in UTF-8, here or wherever Spark can write.

    Here, who reads the file meanwhile sees the old one or the new one, and its folder is made.

    Classic Spark writes a URI by itself, so that spark-submit needs no other package. A Spark
    Connect server writes tables only, so there the client puts the file, into S3.
    """
    bucket = re.match(r"s3[an]?://([^/]+)/(.+)$", path)
    if is_uri(path) and not is_remote():
        _write_by_hadoop(spark, path, text)
        return
    if bucket:
        import boto3

        boto3.client("s3").put_object(
            Bucket=bucket[1],
            Key=bucket[2],
            Body=text.encode("utf-8"),
            ContentType=content_type,
        )
        return
    file = Path(re.sub(r"^file:/+", "/", path))
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{uuid4().hex}")  # another audit may write it, too
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)  # of a full disk it holds the last bytes
        raise


def _write_by_hadoop(spark: SparkSession, path: str, text: str) -> None:
    context = spark.sparkContext
    # Spark's own way to Hadoop's file systems has no public name in Python.
    hadoop = context._jvm.org.apache.hadoop  # type: ignore[union-attr]  # noqa: SLF001
    place = hadoop.fs.Path(path)
    settings = context._jsc.hadoopConfiguration()  # noqa: SLF001
    stream = place.getFileSystem(settings).create(place, True)
    try:
        stream.write(bytearray(text, "utf-8"))
    finally:
        stream.close()
