"""The archive: which files it has, what is in each, and what a line of it says."""

import csv
import os
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecoder
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

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


class HeaderAgain(BadRow):
    """A line that is the header: the file's own, or a joined file's."""


class OpenQuote(BadRow):
    """A line that ends within a quoted field, so what stands behind it may be none of its own."""


Header = tuple[str, ...] | None
"""The names of a CSV file's columns; None: it is no CSV."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the archive.

    Attributes:
        name: its path below the archive.
        path: where Spark finds it.
        stamp: its size, and when it was written.
        kind: `JSON` (lines), `CSV` or `PARQUET`.
        packed: whether it is gzip.
    """

    name: str
    path: str
    stamp: list[Any]
    kind: str
    packed: bool
    header: Header


def listed(spark: SparkSession, archive: str) -> dict[str, tuple[str, list[Any]]]:
    """Path and stamp of the files that are not empty, by name.

    Names that begin with a dot or an underscore are no data, as everywhere in Spark.
    """
    root = archive if "://" in archive else f"file:{os.path.abspath(archive)}"  # noqa: PTH100
    table = (
        spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(escaped(root))
    )
    base = root.rstrip("/")
    return {
        path.removeprefix(f"{base}/") if path != base else path.rpartition("/")[2]: (path, stamp)
        for path, *stamp in table.select("path", "length", "modificationTime").collect()
    }


def files_of(spark: SparkSession, archive: str, selection: Selection) -> list[File]:
    """The archive's files in the order of their names, each known by its first bytes.

    Raises:
        WrongRequest: there is none, or one that could not be read row by row.
    """
    found, there = [], sorted(listed(spark, archive).items())
    with ThreadPoolExecutor() as pool:
        heads = list(pool.map(lambda one: _head(spark, one[1][0]), there))
    for (name, (path, stamp)), head in zip(there, heads, strict=True):
        if not name.isprintable():
            raise WrongRequest(f"{archive}: the file name {name!r} cannot be printed; rename it.")
        packed = head.startswith(_GZIP)
        text = zlib.decompressobj(wbits=31).decompress(head, _HEAD) if packed else head
        kind = _kind(name, text, packed=packed)
        header = None if kind == PARQUET else _checked_first_line(name, kind, text)
        if header:
            selection.check_columns(name, header)
        found.append(File(name, path, stamp, kind, packed, header))
    if not found:
        raise WrongRequest(f"{archive} holds no JSON Lines, CSV or Parquet file that is not empty.")
    return found


def fields_of(raw: bytes | None, header: Header) -> dict[str, Any] | None:
    """What a line says, without its line feed; None if it is blank.

    Python's CSV reader, and not Spark's, which takes an open quote for part of the value.

    Raises:
        BadRow: it cannot be read, or is None, for it is longer than `LONGEST_LINE`.
    """
    if raw is None:  # of CSV nobody has looked how it ends
        kind = BadRow if header is None else OpenQuote
        raise kind(f"The line has more than {LONGEST_LINE:,} bytes.")
    if header is not None and raw.count(b'"') % 2:
        raise OpenQuote("It ends within a quoted field, and a row has to be one line.")
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
        raise HeaderAgain("It is a header, as of a file that was joined to another.")
    return dict(zip(header, values, strict=True))


def escaped(path: str) -> str:
    """A path as an argument of Spark's readers, which would take it for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


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


def _checked_first_line(name: str, kind: str, head: bytes) -> Header:
    """The names of a CSV file's columns; none if it is blank."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WrongRequest(f"{name} is UTF-16: write it anew as UTF-8.")
    lines = head.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    line = next((one for one in lines if one.strip(b" \t\r")), b"").removesuffix(b"\r")
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
        return header
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
    return None


def _head(spark: SparkSession, path: str) -> bytes:
    if path.startswith("file:"):
        with Path(path.removeprefix("file:")).open("rb") as file:
            return file.read(_HEAD)
    if is_remote():
        raise WrongRequest(f"{path}: with Spark Connect only a folder here can be named.")
    context: Any = spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - it has no public name
    stream = place.getFileSystem(context._jsc.hadoopConfiguration()).open(place)  # noqa: SLF001
    try:
        return bytes(stream.readNBytes(_HEAD))
    finally:
        stream.close()
