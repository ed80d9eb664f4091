"""The files that hold a stream's records of one UTC day: JSON Lines, gzip."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

FILE_NAME = "collected.jsonl.gz"
"""Whoever gets records out of AWS's APIs writes this file first: no two hold the same line."""


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


def key_of_more(stream: str, day: date, content: bytes) -> str:
    """Where a further file of the day lies: named by what it holds, so that none is rewritten."""
    name, _, ending = FILE_NAME.partition(".")
    told = hashlib.sha256(content).hexdigest()[:16]
    return f"{folder_of(stream, day)}/{name}-{told}.{ending}"


def unpacked(file: bytes) -> set[bytes]:
    """The lines of a file, each with its line feed.

    Raises:
        EOFError, OSError, zlib.error: it is no whole gzip.
    """
    return {line + b"\n" for line in gzip.decompress(file).splitlines() if line.strip()}


def packed(lines: Iterable[bytes]) -> bytes:
    """A file of lines; the same lines make the same bytes."""
    return gzip.compress(b"".join(sorted(lines)), mtime=0)
