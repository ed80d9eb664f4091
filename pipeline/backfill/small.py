"""The plan of a small archive, made in this process: to start a JVM would take longer.

It is the plan that `pipeline.backfill.plan` makes: the same rows have the same ends, in the same
files' form, and senders cannot tell them apart.
"""

import os
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.backfill.plan import (
    ENDS,
    Plan,
    finished,
    number_of_parts,
    planned_rows,
)
from pipeline.backfill.rows import Selection

MOST_BYTES = 32 * 1024 * 1024
"""Of an archive that is planned here, which is held in memory."""

_UNPACKED = 8
"""Times as large as its file that a packed one may be."""

_COLUMNS: dict[str, pa.DataType] = {
    "file": pa.string(),
    "line": pa.int64(),
    "message_id": pa.string(),
    "body": pa.string(),
    "problem": pa.string(),
    "first_file": pa.string(),
    "first_line": pa.int64(),
}
_ROWS = pa.schema(_COLUMNS)


@dataclass(frozen=True, slots=True)
class _First:
    """The first row of a message id."""

    file: str
    line: int
    fingerprint: str | None


def is_small(files: dict[str, Path]) -> bool:
    """Whether the archive is planned here; not where a Spark Connect server is to do the work."""
    if os.environ.get("SPARK_REMOTE"):
        return False
    sizes = (
        path.stat().st_size * (_UNPACKED if name.lower().endswith(".gz") else 1)
        for name, path in files.items()
    )
    return sum(sizes) <= MOST_BYTES


def write(files: dict[str, Path], selection: Selection, work: Path) -> Plan:
    """Make the plan of an archive in a folder that is held."""
    side_by_side = os.cpu_count() or 1
    parts = number_of_parts(sum(path.stat().st_size for path in files.values()), side_by_side)
    draft, folder = work / "plan.draft", work / "plan"
    for one in (draft, folder):
        shutil.rmtree(one, ignore_errors=True)
    draft.mkdir(parents=True)
    places: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for end, row in _judged(files, selection):
        key = row["message_id"] or f"{row['file']}:{row['line']}"
        part = zlib.crc32(key.encode("utf-8", "surrogatepass")) % parts
        places.setdefault((end, part), []).append(row)
    for (end, part), rows in places.items():
        place = draft / f"end={end}" / f"part={part}"
        place.mkdir(parents=True)
        table = pa.Table.from_pylist(rows, schema=_ROWS)
        pq.write_table(table, place / "part.zstd.parquet", compression="zstd")
    draft.rename(folder)
    return finished(work, parts, side_by_side)


def _judged(files: dict[str, Path], selection: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its end, one of `ENDS`, in the order of files and lines."""
    message, duplicate, conflict, quarantined = ENDS
    first: dict[str, _First] = {}
    for name, path in files.items():
        for planned in planned_rows(name, path, selection):
            row = {column: planned.get(column) for column in _COLUMNS}
            message_id = row["message_id"]
            if row["problem"] is not None or message_id is None:
                yield quarantined, row
                continue
            here = _First(name, planned["line"], planned["fingerprint"])
            known = first.setdefault(message_id, here)
            row |= {"first_file": known.file, "first_line": known.line}
            if known is here:
                yield message, row
            elif known.fingerprint == here.fingerprint:
                yield duplicate, row | {"body": None}
            else:
                yield conflict, row
