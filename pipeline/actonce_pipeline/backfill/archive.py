"""The archive: which files it has, and what a line of one says."""

import csv
import gzip
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from actonce_core import strict_json
from actonce_pipeline.audit.reading.passed_over import HALF_COPIED, HIDDEN
from actonce_pipeline.audit.reading.storage import HERE, ListedFile, list_file, place
from actonce_pipeline.backfill.rows import BadRow, Selection, WrongRequest

OPEN_QUOTE: Final = "It ends within a quoted field, and a row has to be one line."
OTHER_ORDER: Final = "It is a header in another order, and what follows would be mistaken."
"""Of lines of CSV behind which nothing can be told apart."""
REPEATED_HEADER: Final = "It is a header, as of a file that was joined to another."

_LONGEST_LINE = 1024 * 1024  # bytes: what SQS takes as a message
_FIELD = r'(?:"[^"\r]*+(?:""[^"\r]*+)*+"|[^",\r]*+)'
_CSV_LINE = re.compile(rf"{_FIELD}(?:,{_FIELD})*+")

Header = tuple[str, ...] | None
"""The names of a CSV file's columns; None: it is no CSV."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the archive: Parquet, CSV with its header, or JSON Lines."""

    name: str
    path: Path
    is_parquet: bool
    header: Header = None


def listed(archive: Path) -> list[ListedFile]:
    """The archive's files that are not empty, in the order of their names.

    Names that begin with a dot or an underscore are no data, as everywhere in Spark.

    Raises:
        WrongRequest: there is none, or something cannot be read, which may hold rows.
    """
    archive = archive.absolute()
    if archive.is_file():
        there = [list_file(str(archive.parent), str(archive))]
    else:
        there = place(None, str(archive)).files()
    found = [one for one in there if not HIDDEN.search(one.below) and (one.size or one.problem)]
    for one in found:
        if one.problem or one.below.endswith(HALF_COPIED) or ":" in one.below:  # Hadoop's
            raise WrongRequest(f"{archive}/{one.below} cannot be read: mend, rename or remove it.")
    if not found:
        raise WrongRequest(f"{archive} holds no JSON Lines, CSV or Parquet file that is not empty.")
    return sorted(found, key=lambda one: one.below)


def file_of(one: ListedFile, selection: Selection) -> File:
    """Know a file by how it begins.

    Raises:
        WrongRequest: it could not be read row by row.
    """
    name, path = one.below, Path(one.path.removeprefix(HERE))
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return File(name, path, is_parquet=True)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            line = file.readline(_LONGEST_LINE + 1).removesuffix(b"\n")
        if name.lower().removesuffix(".gz").endswith(".csv"):
            header = tuple(_values(_text(line)))
            selection.check_columns(name, header)
            return File(name, path, is_parquet=False, header=header)
        if not isinstance(json.loads(_text(line)), dict):
            raise BadRow("It is no JSON object.")
    except (OSError, EOFError, zlib.error) as error:
        raise WrongRequest(f"{name} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise WrongRequest(
            f"{name}: the first line cannot be read: {str(error).removesuffix('.')}. Let the name "
            "of a gzip file end in .gz, and that of CSV, whose first line names its columns, in "
            ".csv. What else is not Parquet has to be JSON Lines, each an object in UTF-8, as "
            "jq -c . writes it (of an array: jq -c '.[]')."
        ) from None
    return File(name, path, is_parquet=False)


def fields_of(raw: bytes, header: Header) -> dict[str, Any] | None:
    """What a line says, without its line feed; None if it is blank.

    Python's CSV reader, and not Spark's, which takes an open quote for part of the value.

    Raises:
        BadRow: it cannot be read.
    """
    if header is not None and raw.count(b'"') % 2:
        raise BadRow(OPEN_QUOTE)
    text = _text(raw)
    if not text.strip(" \t\r"):
        return None
    if header is None:
        try:
            value = strict_json.parse(text)
        except strict_json.NotJson as error:
            raise BadRow(f"It is not JSON: {error}.") from None
        if not isinstance(value, dict):
            raise BadRow("It is no JSON object.")
        return value
    values = _values(text)
    if len(values) != len(header):
        raise BadRow(
            f"It has {len(values)} fields, and the first line names {len(header)} columns."
        )
    if sorted(values) == sorted(header):
        raise BadRow(REPEATED_HEADER if tuple(values) == header else OTHER_ORDER)
    return dict(zip(header, values, strict=True))


def _text(raw: bytes) -> str:
    if len(raw) > _LONGEST_LINE:
        raise BadRow(f"The line has more than {_LONGEST_LINE:,} bytes.")
    try:
        # A byte order mark is no part of it; in the middle it is that of a file that was joined.
        return raw.decode("utf-8").lstrip("\ufeff").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise BadRow(f"It is not UTF-8: byte {error.start + 1} cannot be read.") from None


def _values(text: str) -> list[str]:
    if not _CSV_LINE.fullmatch(text):
        raise BadRow("It is not CSV: a quote or a carriage return stands within a field.")
    csv.field_size_limit(_LONGEST_LINE)
    return next(csv.reader([text], strict=True))
