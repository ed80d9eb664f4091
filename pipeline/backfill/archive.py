"""The archive: which files it has, and their rows, one at a time, each with its line."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pipeline.backfill.errors import WrongRequest
from pipeline.backfill.rows import BadRow, parse

JSON_LINES = frozenset({".jsonl", ".ndjson", ".json"})
CSV = ".csv"

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line, and of a CSV field, that are held; far more than a message can have."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file, or what is no row: then `fields` is None and `problem` says why.

    `line` is the line (from 1) on which it begins.
    """

    line: int
    fields: dict[str, Any] | None
    problem: str | None = None


def files_of(archive: Path) -> dict[str, Path]:
    """The archive's files by name, in the order in which the first of two rows is told.

    Names that begin with a dot or an underscore are not data, as everywhere in Spark.

    Raises:
        WrongRequest: there is none, or one that is neither JSON Lines nor CSV.
    """
    if archive.is_file():
        found = {archive.name: archive}
    elif archive.is_dir():
        found = {
            path.relative_to(archive).as_posix(): path
            for path in archive.rglob("*")
            if path.is_file()
            and not any(part.startswith((".", "_")) for part in path.relative_to(archive).parts)
        }
    else:
        raise WrongRequest(f"There is no file or folder {archive}.")
    for name in found:
        if not name.isprintable():
            raise WrongRequest(f"{archive}: the file name {name!r} cannot be printed; rename it.")
        if format_of(name) not in JSON_LINES | {CSV}:
            raise WrongRequest(
                f"{name} is neither JSON Lines (.jsonl, .ndjson, .json) nor CSV (.csv), nor one of "
                "them with .gz: name the right file, or move it out of the folder."
            )
    if not found:
        raise WrongRequest(f"{archive} holds no JSON Lines or CSV file.")
    return dict(sorted(found.items()))


def format_of(name: str) -> str:
    """The file name's suffix that says what is in it, without `.gz`."""
    return Path(name.lower().removesuffix(".gz")).suffix


def columns_of(path: Path) -> list[str] | None:
    """The columns that a CSV file's first row names; None for an empty file.

    Raises:
        WrongRequest: the first row cannot be read.
    """
    with _lines(path) as lines:
        try:
            return _header(csv.reader(lines, strict=True))
        except (BadRow, csv.Error) as error:
            raise WrongRequest(f"{path}: the first line cannot be read: {error}") from None


def rows_of(path: Path) -> Iterator[Row]:
    """Read a file's rows; whatever cannot be read becomes a row with a problem.

    Blank lines are no rows. Holds one row at a time.
    """
    with _lines(path) as lines:
        yield from _csv_rows(lines) if format_of(path.name) == CSV else _json_rows(lines)


def _json_rows(lines: "_Lines") -> Iterator[Row]:
    while True:
        try:
            text = next(lines)
            if not text.strip(" \t\r\n"):
                continue
            value = parse(text)
            if not isinstance(value, dict):
                raise BadRow("It is no JSON object.")
        except StopIteration:
            return
        except BadRow as error:
            yield Row(lines.number, None, str(error))
        else:
            yield Row(lines.number, value)


def _csv_rows(lines: "_Lines") -> Iterator[Row]:
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(lines, strict=True)
    header = _header(reader)
    if header is None:
        return
    while True:
        line = lines.number + 1
        try:
            values = next(reader)
            if not values:
                continue
            if len(values) != len(header):
                raise BadRow(
                    f"It has {len(values)} fields, and the first line names {len(header)} columns."
                )
        except StopIteration:
            return
        except (BadRow, csv.Error) as error:
            problem = str(error) if isinstance(error, BadRow) else f"It is not CSV: {error}."
            yield Row(line, None, problem)
            # An open quote takes in the lines behind it; each may have been a row.
            within = f"It is in the row that begins on line {line}, which cannot be read."
            for number in range(line + 1, lines.number + 1):
                yield Row(number, None, within)
        else:
            yield Row(line, dict(zip(header, values, strict=True)))


def _header(reader: Iterator[list[str]]) -> list[str] | None:
    return next((row for row in reader if row), None)


@contextmanager
def _lines(path: Path) -> Iterator["_Lines"]:
    with path.open("rb") as raw:
        if path.name.lower().endswith(".gz"):
            with gzip.open(raw) as unpacked:
                yield _Lines(io.BufferedReader(unpacked))
        else:
            yield _Lines(raw)


class _Lines:
    """A file's lines as text. After a line that cannot be read, the next one can.

    An iterator and no generator: a generator is over once it has raised.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self.number = 0
        self._source = source
        self._over = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        raw = b"" if self._over else self._read()
        if not raw:
            raise StopIteration
        if self.number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadRow(f"It is not UTF-8: byte {error.start + 1} cannot be read.") from None

    def _read(self) -> bytes:
        try:
            raw = self._source.readline(LONGEST_LINE)
            self.number += bool(raw)
            if len(raw) < LONGEST_LINE or raw.endswith(b"\n"):
                return raw
            while not raw.endswith(b"\n"):
                raw = self._source.readline(LONGEST_LINE)
                if not raw:
                    break
        except (OSError, EOFError, zlib.error) as error:
            self._over = True
            self.number += 1
            raise BadRow(f"From here on the file cannot be read: {error}.") from None
        raise BadRow(f"The line has more than {LONGEST_LINE:,} bytes.")
