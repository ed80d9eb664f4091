"""The plan of a backfill: every row of an archive, and where it ends.

The first row of a message id, by file name and then by line, is the message. A later row with the
same content is a duplicate, one with another content a conflict, as the starter would decide if it
were sent. Rows that cannot be messages are quarantined.

messages/     what is to be sent, a body a line, in the archive's order
conflicts/    the conflicts, with file and line, and those of the row that is the message
quarantine/   what is no message: file, line, reason
counts.json   how many there are
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.reading.parquet import AS_JSON
from actonce_pipeline.audit.reading.storage import as_argument, first_line
from actonce_pipeline.backfill import archive as archives
from actonce_pipeline.backfill.archive import OPEN_QUOTE, OTHER_ORDER, REPEATED_HEADER, File
from actonce_pipeline.backfill.rows import BackfillFailed, BadRow, Selection, WrongRequest

_ROW = "name string, problem string, message_id string, body string"
_ENDS = ("messages", "duplicates", "conflicts", "quarantine")


@dataclass(frozen=True, slots=True)
class Counts:
    """Where an archive's rows ended; blank lines and each CSV file's own header are none.

    Invariant: rows = messages + duplicates + conflicts + quarantined.
    """

    rows: int
    messages: int
    duplicates: int
    conflicts: int
    quarantined: int


def make(
    make_session: Callable[[], SparkSession],
    archive: Path,
    selection: Selection,
    folder: Path,
    sync_folder: Callable[[Path], None],
) -> Counts:
    """Plan an archive into a new folder.

    Invariant: the folder is there only if all of the plan is in it, also after a crash of the
    machine. The same archive makes the same lines in the same order.

    Args:
        archive: a file or a folder.
        sync_folder: puts a file, or the names that a folder holds, on the disk.

    Raises:
        WrongRequest: the archive or the selection cannot be read, or the folder is not empty.
        BackfillFailed: the archive changed meanwhile, or the plan cannot be made.
    """
    folder = folder.absolute()
    try:
        if not archive.exists():
            raise WrongRequest(f"There is no file or folder {archive}.")
        if archive.absolute() in folder.parents:
            raise WrongRequest(f"{folder} lies in the archive: name another folder with --to.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise WrongRequest(f"{folder} is there already: send it, or name another with --to.")
        found = archives.listed(archive)
        files = [archives.file_of(one, selection) for one in found]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(
            ".draft", f"{folder.name}.", folder.parent, ignore_cleanup_errors=True
        ) as draft:
            spark = make_session()
            written = _read(spark, files, selection, f"{draft}/rows")
            counts = _write(_placed(written), Path(draft))
            if archives.listed(archive) != found:
                raise BackfillFailed(
                    "The archive changed while it was read: run this again when it is whole."
                )
            plan = Path(draft, "plan")
            for kept in (*plan.rglob("*"), plan):
                sync_folder(kept)
            plan.rename(folder)
        sync_folder(folder.parent)
    except (OSError, PySparkException, Py4JError) as error:
        raise BackfillFailed(f"The plan cannot be made: {first_line(error)}") from error
    return counts


def _read(spark: SparkSession, files: Sequence[File], selection: Selection, to: str) -> DataFrame:
    """Read the archive, once, and write what each of its lines is."""
    by_path = {f"file:{file.path}": file for file in files}

    def read(path: str, line: bytes) -> tuple[str, str | None, str | None, str | None]:
        file = by_path[unquote(path)]
        try:
            fields = archives.fields_of(line, file.header)
            message = (None, None) if fields is None else selection.message(fields)
        except BadRow as error:
            return file.name, str(error), None, None
        return file.name, None, *message

    row = F.udf(read, _ROW)("path", "line")
    rows = _lines(spark, files).select("block", "position", row.alias("row"))
    rows.select("block", "position", "row.*").write.parquet(f"file:{to}")
    return spark.read.parquet(f"file:{to}")


def _lines(spark: SparkSession, files: Sequence[File]) -> DataFrame:
    """Every line or Parquet row: path, block, position, line (bytes).

    A file's order is that of block and position; within a block positions have no gaps.
    """
    reader = spark.read.option("recursiveFileLookup", "true")
    found = []
    if text := [as_argument(f"file:{file.path}") for file in files if not file.is_parquet]:
        # Without the option a carriage return alone would end a line, too.
        table = reader.option("lineSep", "\n").text(text)
        block, within = F.col("_metadata.file_block_start"), F.monotonically_increasing_id()
        line = F.col("value").cast("binary")
        found.append(table.select("_metadata.file_path", block, within, line))
    if parquet := [as_argument(f"file:{file.path}") for file in files if file.is_parquet]:
        table = reader.option("mergeSchema", "true").parquet(*parquet)
        line = F.to_json(F.struct("*"), AS_JSON).cast("binary")
        found.append(table.select("_metadata.file_path", F.lit(0), "_metadata.row_index", line))
    return reduce(DataFrame.union, found).toDF("path", "block", "position", "line")


def _placed(written: DataFrame) -> DataFrame:
    """The rows, without what is none, by name (of the file) and line (from 1).

    Raises:
        WrongRequest: a line of CSV leaves open what follows it.
    """
    first, count = F.min("position").alias("first"), F.count("*").alias("count")
    blocks = written.groupBy("name", "block").agg(first, count)
    earlier = Window.partitionBy("name").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum("count").over(earlier), F.lit(0)) - F.col("first")
    places = F.broadcast(blocks.select("name", "block", before.alias("before")))
    line = (F.col("before") + F.col("position") + 1).alias("line")
    is_header = (line == 1) & F.col("problem").eqNullSafe(REPEATED_HEADER)  # a file's own
    rows = (
        written.where("problem is not null or message_id is not null")
        .join(places, ["name", "block"])
        .where(~is_header)
        .select("name", line, "problem", "message_id", "body")
    )
    open_ended = F.col("problem").isin(OPEN_QUOTE, OTHER_ORDER)
    for name, number, problem, *_ in rows.where(open_ended).take(1):
        raise WrongRequest(f"{name}, line {number}: {problem}")
    return rows


def add_ends(rows: DataFrame) -> DataFrame:
    """Each row's name and line, its end (a folder of the plan, or duplicates), and its text."""
    of_one_id = Window.partitionBy("message_id").orderBy("name", "line")
    first = [
        F.first(name).over(of_one_id).alias(f"first_{name}") for name in ("name", "line", "body")
    ]
    is_first = (F.col("name") == F.col("first_name")) & (F.col("line") == F.col("first_line"))
    here = (F.col("name").alias("file"), "line")
    wrong = F.to_json(F.struct(*here, F.col("problem").alias("reason")))
    there = (F.col("first_name").alias("first_file"), "first_line")
    conflict = F.to_json(F.struct(*here, "message_id", *there))
    conflict = F.concat(F.regexp_replace(conflict, "}$", ',"body":'), F.col("body"), F.lit("}"))
    end = (
        F.when(is_first, "messages")
        .when(F.col("body") == F.col("first_body"), "duplicates")
        .otherwise("conflicts")
    )
    text = F.when(is_first, F.col("body")).when(end == "conflicts", conflict).otherwise("")
    messages = rows.where("problem is null").select("*", *first)
    messages = messages.select("name", "line", end.alias("end"), text.alias("text"))
    quarantine = F.lit("quarantine").alias("end")
    return messages.union(
        rows.where("problem is not null").select("name", "line", quarantine, wrong.alias("text"))
    )


def _write(rows: DataFrame, work: Path) -> Counts:
    """Write the plan into `plan/`, and count what is in it."""
    total = rows.count()
    ends = add_ends(rows).orderBy("end", "name", "line").select("end", "text")
    ends.write.partitionBy("end").text(f"file:{work}/ends")
    plan = work / "plan"
    lines = [_moved(work / "ends" / f"end={end}", plan / end) for end in _ENDS]
    if total != sum(lines):
        raise BackfillFailed(f"Of {total:,} rows {sum(lines):,} were written: send nothing of it.")
    shutil.rmtree(plan / "duplicates")
    counts = Counts(total, *lines)
    (plan / "counts.json").write_text(f"{json.dumps(asdict(counts))}\n")
    return counts


def _moved(written: Path, folder: Path) -> int:
    """Move what Spark has written, and return its lines."""
    folder.mkdir(parents=True)
    lines = 0
    for number, part in enumerate(sorted(written.glob("part-*"))):
        with part.open("rb") as file:
            lines += sum(1 for _ in file)
        part.rename(folder / f"{number:05}.jsonl")
    return lines
