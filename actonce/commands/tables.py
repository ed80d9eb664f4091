"""Tables whose ids can be copied: only the last column is folded when there is too little room."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from actonce import console
from pipeline.visible import visible

_WIDTH_IN_A_FILE = 200


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers[:-1]:
        table.add_column(header, no_wrap=True)
    table.add_column(headers[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(value)) for value in row))
    _print(table)


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in fields.items():
        table.add_row(Text(visible(name)), Text("" if value is None else visible(str(value))))
    _print(table)


def _print(table: Table) -> None:
    wide = console.SafeConsole(width=_WIDTH_IN_A_FILE)
    (console.out if console.out.is_terminal else wide).print(table)
