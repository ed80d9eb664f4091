"""Tables: on a terminal Rich's, elsewhere a line for each row.

On a terminal the last column, which is for texts, is wrapped in the room that is left; the others
are not, up to `_WIDEST`, so that ids can be copied whole. Where they leave no room, the terminal
breaks the lines itself, without a line feed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from actonce.terminal import output as console
from pipeline.visible import visible_whole

_WIDEST = 80
"""Columns on a terminal; what is longer, as no name of an execution is, is folded."""

_NARROWEST = 24
"""Columns that a text can be read in, line below line; where there are fewer it is one line."""

_LONGEST_WORD = 256
"""Columns of a word in a text, such as an ARN, that is not broken either."""

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
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    if not console.out.is_terminal:
        for line in lines:
            padded = (
                text + " " * (width - cell_len(text))
                for text, width in zip(line, widths, strict=True)
            )
            console.out.print((" " * _GAP).join(padded).rstrip())
        return
    natural = widths[-1]
    widths = [min(width, _WIDEST) for width in widths]
    gaps = _GAP * (len(widths) - 1)
    room = console.out.width - sum(widths[:-1]) - gaps
    words = (word for line in lines for word in line[-1].split(" "))
    longest = min(_LONGEST_WORD, max(map(cell_len, words)))
    widths[-1] = min(natural, max(room, longest)) if room >= _NARROWEST else natural
    width = sum(widths) + gaps
    table = Table(box=None, pad_edge=False, show_header=bool(headers), width=width)
    for number, wide in enumerate(widths):
        table.add_column(headers[number] if headers else "", width=wide, overflow="fold")
    for row in rows:
        table.add_row(*row)
    for segments in console.out.render_lines(table, console.out.options.update(width=width)):
        text = Text.assemble(*((one.text, one.style or "") for one in segments))
        text.rstrip()  # or a terminal that is narrower would show blank lines
        console.out.print(text)
