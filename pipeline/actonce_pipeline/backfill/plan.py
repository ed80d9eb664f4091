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
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import unquote

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.reading.storage import as_argument, first_line
from actonce_pipeline.backfill import archive as archives
from actonce_pipeline.backfill.archive import CSV, OPEN_QUOTE, PARQUET, TOO_LONG, File
from actonce_pipeline.backfill.errors import BackfillFailed, WrongRequest
from actonce_pipeline.backfill.rows import BadRow, Selection

_PART_CHARACTERS = 32 * 1024 * 1024

_ROW = "file bigint, problem string, message_id string, body string"
_PLACES = "file bigint, block bigint, before bigint, name string, header bigint"

_ENDS = ("messages", "duplicates", "conflicts", "quarantine")
_FIRST = ("name", "line", "body")


@dataclass(frozen=True, slots=True)
class Counts:
    """Where the rows ended. Invariant: rows = messages + duplicates + conflicts + quarantined.

    Attributes:
        rows: of the archive; blank lines and each CSV file's own header are none.
        messages: distinct message ids.
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
        WrongRequest: the archive or the selection cannot be read, or there is something in the
            folder, or in the one beside it that is written first.
        BackfillFailed: the archive changed meanwhile, or the plan cannot be made.
    """
    if not archive.exists():
        raise WrongRequest(f"There is no file or folder {archive}.")
    draft = folder.absolute().with_name(f"{folder.absolute().name}.draft")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise WrongRequest(
                f"{folder} is there already: send what was planned in it, or name another folder "
                "with --to."
            )
        draft.mkdir(parents=True)
    except FileExistsError:
        raise WrongRequest(
            f"{draft} is there: another backfill plans in it, or was killed; then remove it."
        ) from None
    except OSError as error:
        raise WrongRequest(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        files = archives.files_of(archive, selection)
        spark = make_session()
        written = _read(spark, files, selection, draft)
        counts = _write(_placed(spark, written, files), draft)
        for made in ("rows", "links", "ends"):
            shutil.rmtree(draft / made, ignore_errors=True)
        was = {file.name: (file.path, file.stamp) for file in files}
        if archives.listed(archive) != was:
            raise BackfillFailed(
                "The archive changed while it was read: run this again when it is whole."
            )
        for kept in draft.iterdir():
            sync_folder(kept)
        sync_folder(draft)
        draft.rename(folder)
        sync_folder(folder.absolute().parent)
    except (OSError, PySparkException, Py4JError) as error:
        raise BackfillFailed(f"The plan cannot be made: {_reason(error)}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return counts


def _read(
    spark: SparkSession, files: Sequence[File], selection: Selection, draft: Path
) -> DataFrame:
    """Read the archive, once, and write what each of its lines is into the draft."""
    paths = [_readable(file, draft) for file in files]
    numbers = {path: number for number, path in enumerate(paths)}
    headers = [file.header if file.kind == CSV else None for file in files]

    def read(path: str, line: bytes | None) -> tuple[int, str | None, str | None, str | None]:
        number = numbers[unquote(path)]
        try:
            fields = archives.fields_of(line, headers[number])
            message = (None, None) if fields is None else selection.message(fields)
        except BadRow as error:
            return number, str(error), None, None
        return number, None, *message

    row = F.udf(read, _ROW)("path", "line")
    rows = _lines(spark, files, paths).select("block", "position", row.alias("row"))
    rows.select("block", "position", "row.*").write.parquet(f"file:{draft}/rows")
    return spark.read.parquet(f"file:{draft}/rows")


def _readable(file: File, draft: Path) -> str:
    """Where Spark reads a file, to which the name says whether it is gzip: if it lies, a link."""
    path = file.path
    if file.packed != (path.suffix == ".gz"):
        (links := draft / "links").mkdir(exist_ok=True)
        path = links / f"{len(list(links.iterdir()))}{'.gz' * file.packed}"
        path.symlink_to(file.path)
    return f"file:{path}"


def _lines(spark: SparkSession, files: Sequence[File], paths: Sequence[str]) -> DataFrame:
    """Every line or Parquet row: path, block, position, line (bytes; null: it is too long).

    A file's order is that of block and position; within a block positions have no gaps.
    """
    reader = spark.read.option("recursiveFileLookup", "true")
    kinds = [(as_argument(path), file.kind) for path, file in zip(paths, files, strict=True)]
    found = []
    if text := [path for path, kind in kinds if kind != PARQUET]:
        value = F.when(F.octet_length("value") <= archives.LONGEST_LINE, F.col("value"))
        within = F.monotonically_increasing_id()
        # Without the option a carriage return alone would end a line, too.
        table = reader.option("lineSep", "\n").text(text)
        block = F.col("_metadata.file_block_start")
        found.append(table.select("_metadata.file_path", block, within, value.cast("binary")))
    if parquet := [path for path, kind in kinds if kind == PARQUET]:
        table = reader.option("mergeSchema", "true").parquet(*parquet)
        row = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
        within = F.col("_metadata.row_index")
        found.append(table.select("_metadata.file_path", F.lit(0), within, row.cast("binary")))
    return reduce(DataFrame.union, found).toDF("path", "block", "position", "line")


def _placed(spark: SparkSession, written: DataFrame, files: Sequence[File]) -> DataFrame:
    """The rows, without what is none, by name (of the file) and line (from 1).

    Raises:
        WrongRequest: a line of CSV ends, or may end, within a quoted field.
    """
    blocks = written.groupBy("file", "block").agg(F.min("position"), F.count("*"))
    places = []
    for number, group in groupby(blocks.orderBy("file", "block").collect(), itemgetter(0)):
        file, line = files[number], 1
        for _, block, first, count in group:
            places.append((number, block, line - first, file.name, file.header_line))
            line += count
    table = F.broadcast(spark.createDataFrame(places, _PLACES))
    its_line = (F.col("position") + F.col("before")).alias("line")
    rows = (
        written.where("problem is not null or message_id is not null")
        .join(table, ["file", "block"])
        .where(its_line != F.col("header"))
        .select("name", its_line, "problem", "message_id", "body", "header")
    )
    open_ended = rows.where(F.col("problem").isin(OPEN_QUOTE, TOO_LONG) & (F.col("header") > 0))
    for name, line, problem, *_ in open_ended.take(1):
        raise WrongRequest(f"{name}, line {line}: {problem}")
    return rows


def add_ends(rows: DataFrame) -> DataFrame:
    """Each row's name and line, its end (a folder of the plan, or duplicates), and its text."""
    of_one_id = Window.partitionBy("message_id").orderBy("name", "line")
    first = [F.first(name).over(of_one_id).alias(f"first_{name}") for name in _FIRST]
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
    text = F.when(end == "messages", F.col("body")).when(end == "conflicts", conflict)
    messages = rows.where("problem is null").select("*", *first)
    messages = messages.select(
        "name", "line", end.alias("end"), F.coalesce(text, F.lit("")).alias("text")
    )
    quarantine = F.lit("quarantine").alias("end")
    return messages.union(
        rows.where("problem is not null").select("name", "line", quarantine, wrong.alias("text"))
    )


def _write(rows: DataFrame, to: Path) -> Counts:
    """Write the plan's folders, and count what is in them."""
    total, size = rows.agg(F.count("*"), F.sum(F.length("body"))).collect()[0]
    parts = add_ends(rows).repartitionByRange(1 + (size or 0) // _PART_CHARACTERS, "name", "line")
    parts = parts.sortWithinPartitions("end", "name", "line").select("end", "text")
    parts.write.partitionBy("end").text(f"file:{to}/ends")
    lines = [_moved(to / "ends" / f"end={end}", to / end) for end in _ENDS]
    if total != sum(lines):
        raise BackfillFailed(f"Of {total:,} rows {sum(lines):,} were written: send nothing of it.")
    shutil.rmtree(to / "duplicates")
    counts = Counts(total, *lines)
    (to / "counts.json").write_text(f"{json.dumps(asdict(counts))}\n")
    return counts


def _moved(written: Path, folder: Path) -> int:
    """Move what Spark has written, which is then on the disk, and return its lines."""
    folder.mkdir()
    lines = 0
    for number, part in enumerate(sorted(written.glob("part-*"))):
        with part.open("rb") as file:
            while some := file.read(1024 * 1024):
                lines += some.count(b"\n")
            os.fsync(file.fileno())
        part.rename(folder / f"{number:05}.jsonl")
    return lines


def _reason(error: Exception) -> str:
    text = first_line(error)
    unread = re.search(r"reading file (\S+?)\.? ", text)
    return f"{unquote(unread[1])} cannot be read." if unread else text
