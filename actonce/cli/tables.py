"""Tables that fit where they are read, and out of which ids can be copied whole.

No value is cut or broken but between words; what is longer than its room is left to the terminal,
which breaks it without a line feed. What does not fit beside the rest stands below it, and rows
that do not fit at all become blocks of one line per column.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from actonce.terminal import output as console
from pipeline.visible import visible

_WIDEST_IN_A_FILE = 200
"""Columns; there a row that is wider is a block as well, so that one long id pads no other row."""

_GAP = 2
_NARROWEST = 24
"""Columns that a text can be read in, line below line."""
_BELOW = "    "


class Line(NamedTuple):
    """A line to print: how many of its first characters are a heading, and its text."""

    bold: int
    text: str


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers; the last column is for texts, the others for short values."""
    _print(rows_as_lines(headers, list(rows), _width()))


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line."""
    values = {name: "" if value is None else str(value) for name, value in fields.items()}
    _print(fields_as_lines(values, _width()))


def rows_as_lines(
    headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> list[Line]:
    """Lay a table out.

    Args:
        headers: of the columns.
        rows: a value per column each.
        width: columns that there are; None: nobody reads it on a screen, so nothing is wrapped.
    """
    seen = [[visible(value) for value in row] for row in rows]
    widest = width or _WIDEST_IN_A_FILE
    fitting, columns = _table(headers, seen, widest)
    lines: list[Line] = []
    if fitting or not seen:
        lines += [Line(len(text), text) for text in _row(headers, columns, width)]
    for number, row in enumerate(seen):
        if number in fitting:
            lines += [Line(0, text) for text in _row(row, columns, width)]
        else:
            block = {name: value for name, value in zip(headers, row, strict=True) if value}
            lines += [Line(0, "")] if lines and lines[-1].text else []
            lines += [*fields_as_lines(block, width), Line(0, "")]
    return lines[:-1] if lines and not lines[-1].text else lines


def fields_as_lines(fields: Mapping[str, str], width: int | None) -> list[Line]:
    """Lay names and values out; arguments as of `rows_as_lines`."""
    names = [visible(name) for name in fields]
    wide = max(map(cell_len, names), default=0)
    lines = []
    for name, value in zip(names, fields.values(), strict=True):
        room = None if width is None else max(_NARROWEST, width - wide - _GAP)
        first, *more = _wrapped(visible(value), room)
        lines.append(Line(len(name), f"{_pad(name, wide + _GAP)}{first}".rstrip()))
        lines += [Line(0, " " * (wide + _GAP) + text) for text in more]
    return lines


def _table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], widest: int
) -> tuple[frozenset[int], list[int]]:
    """Which rows are a table together, by number, and how wide its columns are, but the last.

    The widest are left out until it fits; where more than half of them are, there is no table.
    """
    columns = [cell_len(header) for header in headers[:-1]]
    taken: list[int] = []
    for number in sorted(range(len(rows)), key=lambda number: _needs(rows[number])):
        wider = [
            max(wide, cell_len(value))
            for wide, value in zip(columns, rows[number][:-1], strict=True)
        ]
        if sum(wider) + _GAP * len(wider) > widest:
            break
        columns = wider
        taken.append(number)
    return frozenset(taken if 2 * len(taken) > len(rows) else ()), columns


def _needs(row: Sequence[str]) -> int:
    """Columns that a row takes at least; its last value can stand below it."""
    return sum(cell_len(value) + _GAP for value in row[:-1])


def _row(row: Sequence[str], columns: Sequence[int], width: int | None) -> list[str]:
    last = row[-1]
    begin = _padded([*row[:-1], ""], columns)
    if width is None:
        return [f"{_pad(begin, sum(columns) + _GAP * len(columns))}{last}".rstrip()]
    before = sum(columns) + _GAP * len(columns)
    room = width - before
    longest = max(map(cell_len, last.split(" ")))
    if cell_len(last) <= room or (longest <= room and room >= _NARROWEST):
        first, *more = _wrapped(last, room)
        return [f"{_pad(begin, before)}{first}".rstrip(), *(" " * before + text for text in more)]
    return [begin, *(_BELOW + text for text in _wrapped(last, width - len(_BELOW)))]


def _padded(values: Sequence[str], columns: Sequence[int]) -> str:
    *cells, last = values
    padded = [_pad(value, wide + _GAP) for value, wide in zip(cells, columns, strict=True)]
    return ("".join(padded) + last).rstrip()


def _pad(text: str, wide: int) -> str:
    return text + " " * (wide - cell_len(text))


def _wrapped(text: str, room: int | None) -> list[str]:
    """A text in lines, broken at blanks only; one line at least."""
    if room is None or cell_len(text) <= room:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _width() -> int | None:
    return console.out.width if console.out.is_terminal else None


def _print(lines: Iterable[Line]) -> None:
    for line in lines:
        text = Text(line.text)
        text.stylize("bold", 0, line.bold)
        console.out.print(text)
