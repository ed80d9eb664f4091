"""Two contents side by side, with what differs marked: of messages that came with one id.

JSON is laid out before it is compared, one value a line and with sorted names: the order in which
names were sent says nothing about what was asked for. What cannot be laid out unchanged is compared
as it was sent: no JSON, a name that stands twice, a number that Python would write otherwise.

Others wrote the contents, so what they cost is bounded: no more than `MAX_LINES` lines of each are
compared, from the first that differs on. What was not compared is said.
"""

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from pipeline.visible import visible

MAX_LINES = 1_000
"""`difflib` takes a time that grows with the cube of the lines; of so many it is some seconds."""

CONTEXT = 3
"""Lines around what differs that are shown of those that are the same."""


class Line(NamedTuple):
    """A line of one content: what differs from the line beside it, and what stands around that.

    Codes stand in place of characters that act, hide or reorder; nothing is escaped for HTML.
    """

    before: str
    differs: str
    after: str


class Row(NamedTuple):
    """Two lines side by side.

    Attributes:
        left: the first content's; None: it has none here.
        right: the second's.
        left_out: so many lines that are the same stand here, and are not shown.
    """

    left: Line | None = None
    right: Line | None = None
    left_out: int = 0


class Difference(NamedTuple):
    """Rows side by side, and what a reader has to know, in sentences."""

    rows: list[Row]
    notes: list[str]

    def lines(self) -> Iterator[str]:
        """For a terminal: behind `-` what only the first has, behind `+` what only the second."""
        for row in self.rows:
            if row.left_out:
                yield f"  … {row.left_out:,} lines that are the same in both …"
            elif row.left == row.right:
                yield f"  {''.join(row.left or ())}"
            else:
                yield from (f"- {''.join(one)}" for one in [row.left] if one is not None)
                yield from (f"+ {''.join(one)}" for one in [row.right] if one is not None)


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
    start = max(0, _same(left, right) - CONTEXT)
    end = max(0, _same(left[start:][::-1], right[start:][::-1]) - CONTEXT)
    lefts, rights = left[start : len(left) - end], right[start : len(right) - end]
    rest = max(0, len(lefts) - MAX_LINES), max(0, len(rights) - MAX_LINES)
    if any(rest):
        notes.append(
            f"{rest[0]:,} more lines of the first and {rest[1]:,} more of the second were not "
            "compared."
        )
    rows = list(_rows(lefts[:MAX_LINES], rights[:MAX_LINES]))
    around = ([Row(left_out=number)] if number else [] for number in (start, end))
    return Difference([*next(around), *rows, *next(around)], notes)


def parsed_exactly(text: str) -> Any:
    """What JSON says, if it can be written again without a change but of blanks and order.

    Raises:
        ValueError: it is no JSON, a name stands twice, or Python would write a number otherwise.
        RecursionError: it is nested too deeply.
    """
    return json.loads(
        text, object_pairs_hook=_object, parse_int=_exact(int), parse_float=_exact(float)
    )


def _laid_out(text: str) -> list[str] | None:
    """JSON, one value a line; None: it would not be laid out unchanged."""
    try:
        value = parsed_exactly(text)
        lines = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True).split("\n")
        # What comes last has no comma after it: without them a line is the same wherever it stands.
        return [line.removesuffix(",") for line in lines]
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A name stands twice.")
    return found


def _exact(kind: type[int] | type[float]) -> Any:
    def parsed(text: str) -> int | float:
        value = kind(text)
        if str(value) != text:
            raise ValueError("It would be written otherwise.")
        return value

    return parsed


def _rows(lefts: list[str], rights: list[str]) -> Iterator[Row]:
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, lefts, rights).get_opcodes():
        if tag != "equal":
            yield from map(_marked, *zip(*zip_longest(lefts[i1:i2], rights[j1:j2]), strict=True))
            continue
        same = [Row(line, line) for line in (Line(visible(t), "", "") for t in lefts[i1:i2])]
        if len(same) > 2 * CONTEXT + 1:
            same[CONTEXT:-CONTEXT] = [Row(left_out=len(same) - 2 * CONTEXT)]
        yield from same


def _marked(left: str | None, right: str | None) -> Row:
    """Two lines that differ, or one that has none beside it."""
    one, other = left or "", right or ""
    begin = _same(one, other)
    end = _same(one[begin:][::-1], other[begin:][::-1])

    def line(text: str) -> Line:
        stop = len(text) - end
        return Line(visible(text[:begin]), visible(text[begin:stop]), visible(text[stop:]))

    return Row(None if left is None else line(left), None if right is None else line(right))


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many they have in common at their beginning."""
    both = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], both))
