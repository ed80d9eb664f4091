"""The plan of a backfill: every row of an archive, and where it ends.

The first row of a message id, by file name and then by line, is the message. A later row with the
same content is a duplicate, one with another content a conflict, as the starter would decide if it
were sent. Rows that cannot be messages are quarantined.

messages.jsonl    what is to be sent, a body a line, in the archive's order
conflicts.jsonl   the conflicts, with file and line, and those of the row that is the message
quarantine.jsonl  what is no message: file, line, reason
counts.json       how many there are
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.backfill import archive as archives
from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.rows import BadRow, Selection

_TASKS = 64  # that read files, at most
_BATCH_ROWS = 1000
_BATCH_BYTES = 4 * 1024 * 1024

_COLUMNS: dict[str, pa.DataType] = {
    "file": pa.string(),
    "line": pa.int64(),
    "message_id": pa.string(),
    "fingerprint": pa.string(),
    "body": pa.string(),
    "problem": pa.string(),
}
_ROWS = pa.schema(_COLUMNS)
_ROWS_DDL = (
    "file string, line bigint, message_id string, fingerprint string, body string, problem string"
)

_MESSAGE, _DUPLICATE, _CONFLICT, _QUARANTINED = "mdcq"
_FILES = {
    _MESSAGE: "messages.jsonl",
    _CONFLICT: "conflicts.jsonl",
    _QUARANTINED: "quarantine.jsonl",
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Where the rows ended. Invariant: rows = messages + duplicates + conflicts + quarantined.

    Attributes:
        rows: of the archive, blank lines left out.
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
    machine. The same archive makes the same files, byte for byte.

    Args:
        sync_folder: puts what a folder holds on the disk.

    Raises:
        WrongRequest: the archive or the selection cannot be read, or there is something in the
            folder, or in the one beside it that is written first.
        BackfillFailed: the archive changed meanwhile, or the plan cannot be written.
    """
    files = archives.files_of(archive)
    for name, path in files.items():
        if archives.format_of(name) == archives.CSV and (columns := archives.columns_of(path)):
            selection.check_columns(name, columns)
    draft = folder.with_name(f"{folder.name}.draft")
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
        was = _stamps(files)
        rows, lines = judged(_rows(make_session(), files, selection)), draft / "lines"
        rows.write.text(f"file://{lines.absolute()}")
        counts = _sorted_out(lines, draft)
        shutil.rmtree(lines)
        if _stamps(files) != was:
            raise BackfillFailed(
                "The archive changed while it was read: run this again when it is whole."
            )
        sync_folder(draft)
        draft.rename(folder)
        sync_folder(folder.absolute().parent)
    except OSError as error:
        raise BackfillFailed(f"The plan cannot be made: {error}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return counts


def judged(rows: DataFrame) -> DataFrame:
    """Each row as a line, in the archive's order: a letter for its end, and what is kept of it."""
    # What has no id is alone, and not all of it in one task.
    alone = F.when(F.col("message_id").isNull(), F.xxhash64("file", "line"))
    of_one_id = Window.partitionBy("message_id", "alone").orderBy("file", "line")
    first = rows.withColumn("alone", alone)
    first = first.select(
        "*",
        F.row_number().over(of_one_id).alias("turn"),
        *(F.first(name).over(of_one_id).alias(f"first_{name}") for name in _FIRST),
    )
    reason = F.col("problem").alias("reason")
    conflict = F.to_json(F.struct("file", "line", "message_id", "first_file", "first_line"))
    with_body = F.concat(F.regexp_replace(conflict, "}$", ',"body":'), F.col("body"), F.lit("}"))
    line = (
        F.when(
            F.col("problem").isNotNull(),
            F.concat(F.lit(_QUARANTINED), F.to_json(F.struct("file", "line", reason))),
        )
        .when(F.col("turn") == 1, F.concat(F.lit(_MESSAGE), "body"))
        .when(F.col("fingerprint") == F.col("first_fingerprint"), F.lit(_DUPLICATE))
        .otherwise(F.concat(F.lit(_CONFLICT), with_body))
    )
    return first.select("file", "line", line.alias("text")).orderBy("file", "line").select("text")


_FIRST = ("file", "line", "fingerprint")


def _rows(spark: SparkSession, files: dict[str, Path], selection: Selection) -> DataFrame:
    """Every row of the files; each file is read by one task, in which a line has a number."""
    named = [(name, str(path.absolute())) for name, path in files.items()]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                name, path = named[row["id"]]
                yield from _batches(_planned_rows(name, Path(path), selection))

    indexes = spark.range(0, len(named), 1, min(len(named), _TASKS))
    return indexes.mapInArrow(read, _ROWS_DDL)


def _planned_rows(name: str, path: Path, selection: Selection) -> Iterator[dict[str, Any]]:
    """A file's rows: file, line, problem, and where it has none message_id, fingerprint, body."""
    for row in archives.rows_of(path):
        planned: dict[str, Any] = {"file": name, "line": row.line, "problem": row.problem}
        if row.fields is not None:
            try:
                message = selection.message(row.fields)
            except BadRow as error:
                planned["problem"] = str(error)
            else:
                planned["message_id"] = message.message_id
                planned["fingerprint"] = message.fingerprint
                planned["body"] = message.body
        yield planned


def _batches(planned: Iterator[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    batch: list[dict[str, Any]] = []
    size = 0
    for row in planned:
        batch.append(row)
        size += len(row.get("body") or "")
        if len(batch) == _BATCH_ROWS or size > _BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(batch, schema=_ROWS)
            batch, size = [], 0
    if batch:
        yield pa.RecordBatch.from_pylist(batch, schema=_ROWS)


def _sorted_out(lines: Path, folder: Path) -> Counts:
    """Put the lines that Spark has written into the plan's files, and count them."""
    ends: Counter[str] = Counter()
    with ExitStack() as opened:
        files = {
            end: opened.enter_context((folder / name).open("wb")) for end, name in _FILES.items()
        }
        for part in sorted(lines.glob("part-*")):
            with part.open("rb") as some:
                for line in some:
                    end = chr(line[0])
                    ends[end] += 1
                    if end in files:
                        files[end].write(line[1:])
        counts = Counts(
            ends.total(), ends[_MESSAGE], ends[_DUPLICATE], ends[_CONFLICT], ends[_QUARANTINED]
        )
        last = opened.enter_context((folder / "counts.json").open("wb"))
        last.write(f"{json.dumps(asdict(counts))}\n".encode())
        for file in (*files.values(), last):
            file.flush()
            os.fsync(file.fileno())
    return counts


def _stamps(files: dict[str, Path]) -> dict[str, tuple[int, int]]:
    """By name, what changes with a file: its size, and when it was written."""
    return {name: (path.stat().st_size, path.stat().st_mtime_ns) for name, path in files.items()}
