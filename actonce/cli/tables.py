"""Tables: on a terminal Rich's, elsewhere a line for each row.

On a terminal the last column, which is for texts, is wrapped in the room that is left; the others
are not, up to `_WIDEST`, so that ids can be copied whole. Where even they need more room than there
is, the terminal breaks the lines itself, without a line feed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.table import Table

from actonce.terminal import output as console
from pipeline.visible import visible

_WIDEST = 80
"""Columns on a terminal; what is longer, as no name of an execution is, is folded."""

_NARROWEST = 24
"""Columns that a text can be read in, line below line."""

_GAP = 2


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers; the last column is for texts, the others for short values."""
    _print(headers, [[visible(value) for value in row] for row in rows])


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line."""
    texts = {name: "" if value is None else visible(str(value)) for name, value in fields.items()}
    _print(None, list(texts.items()))


def _print(headers: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> None:
    lines = [*([headers] if headers else []), *rows]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    if not console.out.is_terminal:
        for line in lines:
            padded = (
                text + " " * (width - cell_len(text))
                for text, width in zip(line, widths, strict=True)
            )
            console.out.print((" " * _GAP).join(padded).rstrip())
        return
    widths = [min(width, _WIDEST) for width in widths]
    gaps = _GAP * (len(widths) - 1)
    room = console.out.width - sum(widths[:-1]) - gaps
    widths[-1] = min(widths[-1], max(room, _NARROWEST))
    table = Table(box=None, pad_edge=False, show_header=bool(headers), width=sum(widths) + gaps)
    for number, width in enumerate(widths):
        table.add_column(headers[number] if headers else "", width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.out.print(table)
