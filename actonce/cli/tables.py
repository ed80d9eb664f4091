"""Tables: on a terminal the last column is wrapped in the room left; elsewhere a row is a line.

The other columns are never wrapped, so that ids can be copied whole; nor is a word, such as an ARN.
Where they leave no room, the terminal breaks the lines itself, without a line feed.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from actonce.terminal import output as console
from actonce.terminal.visible import visible_whole

_WIDEST = 80
"""Columns; what is longer, as no name of an execution is, widens its own row and no other."""

_NARROWEST = 24
"""Columns that a text can be read in, line below line; where there are fewer it is one line."""

_GAP = 2


def print_rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headers; the last column is for texts, the others for short values."""
    _print(headers, [[visible_whole(value) for value in row] for row in rows])


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line."""
    texts = {
        name: "" if value is None else visible_whole(str(value)) for name, value in fields.items()
    }
    _print(None, list(texts.items()))


def _print(headers: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> None:
    lines = [*([headers] if headers else []), *rows]
    widths = [min(_WIDEST, max(map(cell_len, column))) for column in zip(*lines, strict=True)]
    before = sum(widths[:-1]) + _GAP * (len(widths) - 1)
    room = console.out.width - before
    for number, (*values, text) in enumerate(lines):
        shown = [text]
        if console.out.is_terminal and room >= _NARROWEST:
            shown = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        padded = "".join(
            value + " " * (max(0, width - cell_len(value)) + _GAP)
            for value, width in zip(values, widths[:-1], strict=True)
        )
        for begin, line in zip([padded, *[" " * before] * len(shown)], shown or [""], strict=False):
            style = "bold" if headers and not number else None
            console.out.print((begin + line).rstrip(), style=style)
