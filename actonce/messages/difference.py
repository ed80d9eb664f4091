"""Two contents side by side, line by line: of messages that came with one id.

JSON is laid out before it is compared, one value a line and with sorted names: the order in which
names were sent says nothing about what was asked for. What is not strict JSON, and two texts of one
value, are compared as they were sent.

Others wrote the contents, so what they cost is bounded: none of more than `MAX_LINES` lines is.
"""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from actonce.terminal.visible import visible
from actonce_core import strict_json

MAX_LINES = 1_000
"""`difflib` takes a time that grows with the cube of the lines; of so many it is some seconds."""

CONTEXT = 3
"""Lines that are the same, shown on either side of lines that differ."""


class Row(NamedTuple):
    """Two lines side by side, or lines that are the same and not shown.

    Codes stand in place of characters that act, hide or reorder; nothing is escaped for HTML.

    Attributes:
        left: the first content's line; None: it has none here.
        right: the second's.
        left_out: how many lines that are the same are left out here.
    """

    left: str | None = None
    right: str | None = None
    left_out: int = 0


class Difference(NamedTuple):
    """Rows side by side, and what a reader has to know, in sentences."""

    rows: list[Row]
    notes: list[str]

    def lines(self) -> Iterator[str]:
        """For a terminal: behind `-` what only the first has, behind `+` what only the second."""
        for left, right, left_out in self.rows:
            if left_out:
                yield f"  … {left_out:,} more, the same in both …"
            elif left == right:
                yield f"  {left}"
            else:
                yield from (f"- {line}" for line in [left] if line is not None)
                yield from (f"+ {line}" for line in [right] if line is not None)


@lru_cache(maxsize=8)
def difference(first: str, second: str) -> Difference:
    """Compare two contents, whatever they are; kept for a page that is drawn again and again."""
    notes = ["Names are sorted to compare them; the order they were sent in is not shown."]
    left, right = _laid_out(first), _laid_out(second)
    if left is None or right is None or left == right:
        notes = ["Compared line by line, as they were sent."]
        if any(visible(text, keep="\n") != text for text in (first, second)):
            notes.append(
                "Each backslash is shown twice, to tell it from the codes of unseen characters."
            )
            first, second = (text.replace("\\", "\\\\") for text in (first, second))
        left, right = first.split("\n"), second.split("\n")
    if left == right:
        notes.append("They are the same.")
    elif max(len(left), len(right)) > MAX_LINES:
        return Difference([], [f"They differ, and have too many lines to compare ({MAX_LINES:,})."])
    return Difference(list(_rows(left, right)), notes)


def _laid_out(text: str) -> list[str] | None:
    """JSON, one value a line; None: it is not strict JSON."""
    try:
        value = strict_json.parse(text)
    except strict_json.NotJson:
        return None
    lines = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True).split("\n")
    # What comes last has no comma after it: without them a line is the same wherever it stands.
    return [line.removesuffix(",") for line in lines]


def _rows(lefts: list[str], rights: list[str]) -> Iterator[Row]:
    """Rows of what differs, and its context."""
    shown = 0
    for group in SequenceMatcher(None, lefts, rights).get_grouped_opcodes(CONTEXT):
        if begin := group[0][1] - shown:
            yield Row(left_out=begin)
        for _, i1, i2, j1, j2 in group:
            for left, right in zip_longest(lefts[i1:i2], rights[j1:j2]):
                yield Row(left and visible(left), right and visible(right))
        shown = group[-1][2]
    if end := len(lefts) - shown:
        yield Row(left_out=end)
