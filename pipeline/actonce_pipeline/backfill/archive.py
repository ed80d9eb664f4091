"""The archive: which files it has, what is in each, and what a line of it says."""

import csv
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecoder
from pathlib import Path
from typing import Any, Final

from actonce_pipeline.audit.reading.passed_over import HIDDEN
from actonce_pipeline.audit.reading.storage import HERE, ListedFile, place
from actonce_pipeline.backfill.errors import WrongRequest
from actonce_pipeline.backfill.rows import BadRow, Selection, parse

JSON, CSV, PARQUET = "json", "csv", "parquet"
LONGEST_LINE: Final = 1024 * 1024
"""Bytes of a line that are looked at: what SQS takes as a message."""

_HEAD = 64 * 1024
_GZIP, _BYTE_ORDER_MARK = b"\x1f\x8b", b"\xef\xbb\xbf"
_JSON_NAMES = frozenset({".jsonl", ".ndjson", ".json"})
_FIELD = r'(?:"[^"]*+(?:""[^"]*+)*+"|[^",]*+)'
_CSV_LINE = re.compile(rf"{_FIELD}(?:,{_FIELD})*+")


OPEN_QUOTE: Final = "It ends within a quoted field, and a row has to be one line."
TOO_LONG: Final = f"The line has more than {LONGEST_LINE:,} bytes."
"""Of lines of CSV behind which nothing can be told apart, for nobody knows how they end."""

Header = tuple[str, ...] | None
"""The names of a CSV file's columns; None: it is no CSV."""


Stamp = tuple[int, int]
"""A file's size, and when it was written (ms)."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the archive.

    Attributes:
        name: its path below the archive.
        stamp: its size, and when it was written.
        kind: `JSON` (lines), `CSV` or `PARQUET`.
        packed: whether it is gzip.
        header_line: where the header is; 0: there is none.
    """

    name: str
    path: Path
    stamp: Stamp
    kind: str
    packed: bool
    header: Header = None
    header_line: int = 0


def listed(archive: Path) -> dict[str, tuple[Path, Stamp]]:
    """Path and stamp of the files that are not empty, by name.

    Names that begin with a dot or an underscore are no data, as everywhere in Spark.

    Raises:
        WrongRequest: something in it cannot be read, which may hold rows.
    """
    archive = archive.absolute()
    if archive.is_file():
        status = archive.stat()
        here = f"{HERE}{archive}"
        there = [ListedFile(here, archive.name, status.st_size, status.st_mtime_ns // 1_000_000)]
    else:
        there = place(None, str(archive)).files()
    there = [one for one in there if not HIDDEN.search(one.below)]
    for one in there:
        if one.problem:
            raise WrongRequest(f"{archive}/{one.below} cannot be read: mend it, or take it away.")
    return {
        one.below: (Path(one.path.removeprefix(HERE)), (one.size, one.modified))
        for one in there
        if one.size
    }


def files_of(archive: Path, selection: Selection) -> list[File]:
    """The archive's files in the order of their names, each known by its first bytes.

    Raises:
        WrongRequest: there is none, or one that could not be read row by row.
    """
    found = []
    for name, (path, stamp) in sorted(listed(archive).items()):
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not name.isprintable():
            raise WrongRequest(f"{archive}: the file name {name!r} cannot be printed; rename it.")
        packed = head.startswith(_GZIP)
        text = zlib.decompressobj(wbits=31).decompress(head, _HEAD) if packed else head
        kind = _kind(name, text, packed=packed)
        number, header = (0, None) if kind == PARQUET else _checked_first_line(name, kind, text)
        if header:
            selection.check_columns(name, header)
        found.append(File(name, path, stamp, kind, packed, header, number))
    if not found:
        raise WrongRequest(f"{archive} holds no JSON Lines, CSV or Parquet file that is not empty.")
    return found


def fields_of(raw: bytes | None, header: Header) -> dict[str, Any] | None:
    """What a line says, without its line feed; None if it is blank.

    Python's CSV reader, and not Spark's, which takes an open quote for part of the value.

    Raises:
        BadRow: it cannot be read, or is None, for it is longer than `LONGEST_LINE`.
    """
    if raw is None:
        raise BadRow(TOO_LONG)
    if header is not None and raw.count(b'"') % 2:
        raise BadRow(OPEN_QUOTE)
    try:
        text = raw.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise BadRow(f"It is not UTF-8: byte {error.start + 1} cannot be read.") from None
    if not text.strip(" \t\r"):
        return None
    if text.startswith("\ufeff"):
        raise BadRow("It begins with a byte order mark, as a file that was joined to another.")
    if header is None:
        value = parse(text)
        if not isinstance(value, dict):
            raise BadRow("It is no JSON object.")
        return value
    values = _values(text)
    if len(values) != len(header):
        raise BadRow(
            f"It has {len(values)} fields, and the first line names {len(header)} columns."
        )
    if sorted(values) == sorted(header):
        raise BadRow("It is a header, as of a file that was joined to another.")
    return dict(zip(header, values, strict=True))


def _values(text: str) -> list[str]:
    if "\r" in text:
        raise BadRow("It has a carriage return in it, which may end a row.")
    if '"' not in text:
        return text.split(",")
    if not _CSV_LINE.fullmatch(text):
        raise BadRow("It is not CSV: a quote stands alone within a field.")
    csv.field_size_limit(LONGEST_LINE)
    return next(csv.reader([text], strict=True))


def _kind(name: str, head: bytes, *, packed: bool) -> str:
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if head.startswith(b"PAR1") and not packed:
        return PARQUET
    if suffix == ".csv":
        return CSV
    if suffix in _JSON_NAMES or head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return JSON
    raise WrongRequest(
        f"{name} is neither Parquet nor JSON Lines (.jsonl, .ndjson, .json) nor CSV (.csv), nor "
        "one of them as gzip: name the right file, or move it out of the folder."
    )


def _checked_first_line(name: str, kind: str, head: bytes) -> tuple[int, Header]:
    """The line and the names of a CSV file's columns; none if it is blank."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WrongRequest(f"{name} is UTF-16: write it anew as UTF-8.")
    lines = head.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    filled = (one for one in enumerate(lines, 1) if one[1].strip(b" \t\r"))
    number, line = next(filled, (0, b""))
    line = line.removesuffix(b"\r")
    if b"\r" in line:
        raise WrongRequest(
            f"{name} ends lines by a carriage return alone: let each end by a line feed, as "
            "tr '\\r' '\\n' does."
        )
    if kind == CSV:
        try:
            header = tuple(_values(line.decode("utf-8"))) if line else ()
        except (BadRow, UnicodeDecodeError) as error:
            raise WrongRequest(f"{name}: the first line cannot be read: {error}") from None
        if "" in header or len(line) >= _HEAD:
            raise WrongRequest(
                f"{name} has a column without a name, as row numbers have: write it without "
                "(pandas: index=False; R: row.names=FALSE), or give it one."
            )
        return number, header
    text = line.decode("utf-8", "ignore").strip()
    if text.startswith("[") or text == "{":
        raise WrongRequest(
            f"{name} is JSON that takes several lines, or an array: put each object on a line of "
            "its own, as jq -c . does, or for an array jq -c '.[]'."
        )
    with suppress(ValueError, RecursionError):  # it is no object, or longer than the head
        if text[JSONDecoder().raw_decode(text)[1] :].lstrip().startswith("{"):
            raise WrongRequest(
                f"{name} joins its objects without line feeds, as Firehose does: put each on a "
                "line of its own, as jq -c . does."
            )
    return 0, None
