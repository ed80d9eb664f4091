"""The file that holds a stream's records of one UTC day: JSON Lines, gzip."""

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

FILE_NAME = "collected.jsonl.gz"
"""Whoever gets records out of AWS's APIs writes this file, so that no two hold the same line."""


def json_line(record: Mapping[str, Any]) -> bytes:
    """A record as its line, with the line feed; the same record is the same bytes."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    return text.encode("utf-8")


def folder_of(stream: str, day: date) -> str:
    """Where a stream's records of a day lie, below the root of the records."""
    return f"{stream}/dt={day.isoformat()}"


def key_of(stream: str, day: date) -> str:
    """Where the file lies below the root of the records."""
    return f"{folder_of(stream, day)}/{FILE_NAME}"


def added_to(earlier: bytes | None, records: Iterable[Mapping[str, Any]]) -> bytes:
    """The file with the records added that it does not have.

    Invariant: no line is lost and none stands twice, however often the same is added; the same
    lines make the same bytes.

    Args:
        earlier: the file as it is; None: there is none.
        records: to add, possibly some that it has.

    Raises:
        EOFError, OSError, zlib.error: the earlier file is no whole gzip.
    """
    lines = {json_line(record) for record in records}
    if earlier is not None:
        lines |= {line + b"\n" for line in gzip.decompress(earlier).splitlines() if line.strip()}
    return gzip.compress(b"".join(sorted(lines)), mtime=0)
