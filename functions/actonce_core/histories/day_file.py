"""The files with a stream's records of one UTC day: JSON Lines, gzip."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

FILE_NAME = "collected.jsonl.gz"
"""The first file of records collected from AWS's APIs; no further one repeats a line of it."""


def json_line(record: Mapping[str, Any]) -> bytes:
    """A record as its line, with the line feed; the same record is the same bytes."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    return text.encode("utf-8")


def folder_of(stream: str, day: date) -> str:
    """The folder of a stream's records of a day, below the root of the records."""
    return f"{stream}/dt={day.isoformat()}"


def prefix_of(stream: str, day: date) -> str:
    """How the keys of all those files begin; what Firehose writes beside them begins otherwise."""
    return f"{folder_of(stream, day)}/{FILE_NAME.partition('.')[0]}"


def key_of(stream: str, day: date) -> str:
    """The first file, below the root of the records."""
    return f"{folder_of(stream, day)}/{FILE_NAME}"


def key_of_more(stream: str, day: date, content: bytes) -> str:
    """A further file of the day, named by its content, so that none is overwritten."""
    name, _, ending = FILE_NAME.partition(".")
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f"{folder_of(stream, day)}/{name}-{digest}.{ending}"


def unpacked(file: bytes) -> set[bytes]:
    """The lines of a file, each with its line feed.

    Raises:
        EOFError, OSError, zlib.error: it is not a complete gzip file.
    """
    return {line + b"\n" for line in gzip.decompress(file).splitlines() if line.strip()}


def packed(lines: Iterable[bytes]) -> bytes:
    """A file of lines; the same lines make the same bytes."""
    return gzip.compress(b"".join(sorted(lines)), mtime=0)
