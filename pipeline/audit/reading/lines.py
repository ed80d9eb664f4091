"""From files to lines, whatever a delivery did to them.

Most files are read by Spark itself. A file whose name says nothing (Firehose's objects), and one
that Spark could not read to its end, is taken apart here, byte by byte: what can be read of it is
read, and what cannot is said. A file so read is held in memory, at most 2 GB of it.
"""

import importlib.util
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.reading.listing import file_path
from pipeline.audit.reading.places import as_argument
from pipeline.errors import CannotAudit

if TYPE_CHECKING:
    import pyarrow as pa

LINES: Final = "file string, line long, text string, problem string"
_GZIP: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BATCH: Final = 4096
_PIECE: Final = 4096  # bytes; what a corrupt place costs at most

# Workers get these functions themselves, so that a server needs nothing of this project installed.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class Line(NamedTuple):
    """A line, counted from 1; with a `problem` it is none, and `text` says what is wrong."""

    number: int
    text: str
    problem: str | None


def plain_lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Lines of files that Spark reads itself; `line` is null, Spark does not count.

    A carriage return ends no line, as below: inside a record it is a blank.
    """
    lines = spark.read.option("lineSep", "\n").text([as_argument(path) for path in paths])
    return lines.select(
        file_path(),
        F.lit(None).cast("long").alias("line"),
        F.col("value").alias("text"),
        F.lit(None).cast("string").alias("problem"),
    )


def careful_lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Lines of files that are taken apart here.

    Raises:
        CannotAudit: what hands files to Python is not installed.
    """
    _require_arrow()
    return _bytes_of(spark, paths).mapInArrow(_lines_of_files, LINES)


def broken_files(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """Those of compressed files that cannot be unpacked to their end; reads every byte.

    Raises:
        CannotAudit: as `careful_lines`.
    """
    _require_arrow()
    return [
        row.file
        for row in _bytes_of(spark, paths).mapInArrow(_broken_of_files, "file string").collect()
    ]


def _require_arrow() -> None:
    # Spark's own words for it name one of the two, and not how they come here.
    missing = [name for name in ("pyarrow", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise CannotAudit(
            "Some of these files Spark cannot read by itself (Firehose's objects, a file that is "
            f"broken), and {' and '.join(missing)}, which it then needs, is not installed: run "
            "make everything, or pip install 'actonce[pipeline]'."
        )


def _bytes_of(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    return (
        spark.read.format("binaryFile")
        .load([as_argument(path) for path in paths])
        .select("path", "content")
    )


def _lines_of_files(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    columns = pa.schema(
        [
            ("file", pa.string()),
            ("line", pa.int64()),
            ("text", pa.string()),
            ("problem", pa.string()),
        ]
    )
    rows: list[tuple[str, int, str | None, str | None]] = []
    for batch in batches:
        for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            for line in lines_of(path, content.as_py()):
                rows.append((path, *line))
                if len(rows) == _BATCH:
                    yield _batch(rows, columns)
                    rows = []
    yield _batch(rows, columns)


def _batch(
    rows: list[tuple[str, int, str | None, str | None]], columns: "pa.Schema"
) -> "pa.RecordBatch":
    import pyarrow as pa

    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column), field.type) for column, field in zip(values, columns, strict=True)],
        schema=columns,
    )


def _broken_of_files(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in batches:
        broken = [
            path
            for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True)
            if _unpacked(content.as_py())[1] is not None
        ]
        yield pa.RecordBatch.from_arrays([pa.array(broken, pa.string())], ["file"])


def is_packed(path: str) -> bool:
    """Whether the file's name says that it is compressed."""
    return path.lower().endswith(".gz")


def lines_of(path: str, content: bytes) -> Iterator[Line]:
    """The lines of a file, and a problem for whatever of it cannot be read.

    A gzip file that ends too early gives every whole line before its end.
    """
    problem = None
    if content.startswith(_GZIP) or is_packed(path):
        content, problem = _unpacked(content)
        if content.startswith(_GZIP):  # Firehose has compressed what Logs had compressed before it
            content, inner = _unpacked(content)
            problem = problem or inner
    number = 0
    content = content.removeprefix(_BYTE_ORDER_MARK)
    pieces = content.split(b"\n")
    # What follows the last line feed of a broken file is not a line but the place of the break.
    last = pieces.pop() if problem else b""
    for number, piece in enumerate(pieces, 1):
        if not piece.strip():
            continue
        try:
            yield Line(number, piece.decode("utf-8"), None)
        except UnicodeDecodeError:
            yield Line(number, piece.decode("utf-8", "replace"), "not_utf8")
    if problem:
        place = number + 1
        yield Line(place, last.decode("utf-8", "replace"), problem)


def _unpacked(content: bytes) -> tuple[bytes, str | None]:
    """The contents of all gzip members (RFC 1952, section 2.2), and what ended them too early."""
    if not content:
        return b"", "truncated_gzip"
    parts: list[bytes] = []
    view, at = memoryview(content), 0
    while at < len(view):
        if bytes(view[at : at + 2]) != _GZIP:
            return b"".join(parts), "not_gzip"
        member = zlib.decompressobj(wbits=31)
        try:
            # In pieces, so that a broken member gives what came before the break.
            while at < len(view) and not member.eof:
                piece = view[at : at + _PIECE]
                parts.append(member.decompress(piece))
                at += len(piece) - len(member.unused_data)
        except zlib.error:
            return b"".join(parts), "corrupt_gzip"
        if not member.eof:
            return b"".join(parts), "truncated_gzip"
    return b"".join(parts), None
