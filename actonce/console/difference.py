"""Two contents side by side, with what differs marked: of messages that came with one id.

JSON is laid out before it is compared, one value a line, without commas, and with the names of
each object sorted: in which order they were sent says nothing about what was asked for, and would
hide what does. Numbers stay as they were written, so that `1`, `1.0` and `1e0` differ. What is no
JSON is compared line by line as it was sent.

Others wrote the contents, so that what they cost is bounded: by steps, not by a clock, so that
the same contents always look the same. What was not compared or is not shown is said.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import Match, SequenceMatcher
from enum import StrEnum
from itertools import groupby, islice, repeat, takewhile, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from pipeline.visible import json_text, visible

STEPS = 2_000_000
"""Comparisons that one difference may take: a second or so."""

MAX_ROWS = 1_000
"""Rows that are shown; the others are counted."""

WHOLE = 200
"""Up to so many lines, what is the same is shown as well."""

CONTEXT = 3
"""Rows around what differs that are shown of more."""

MAX_PART = 2_000
"""Characters that are shown of one part of a line."""

_INDENTED = 20
"""Levels that are indented; what lies deeper stands below these."""

_TOKEN = re.compile(r"[\w\\]+|\s+|.")  # the code of a character is one with the word around it
_HEAD = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*+": ?)?')


class Kind(StrEnum):
    """What a row shows."""

    SAME = "same"
    CHANGED = "changed"
    FIRST_ONLY = "first_only"
    SECOND_ONLY = "second_only"
    LEFT_OUT = "left_out"


class Part(NamedTuple):
    """A part of a line.

    Attributes:
        text: without characters that act, hide or reorder; not escaped for HTML.
        differs: it is not in the other line.
        left_out: so many more characters follow, which are not shown.
    """

    text: str
    differs: bool
    left_out: int = 0


class Row(NamedTuple):
    """Two lines side by side.

    Attributes:
        kind: see there.
        left: the first's; empty: it has none here, or an empty one.
        right: the second's.
        left_number: of the first's line, from 1; None: it has none here.
        right_number: of the second's.
        left_out: of `Kind.LEFT_OUT`, so many lines that are the same are not shown here.
    """

    kind: Kind
    left: tuple[Part, ...] = ()
    right: tuple[Part, ...] = ()
    left_number: int | None = None
    right_number: int | None = None
    left_out: int = 0


@dataclass(slots=True)
class Difference:
    """What two contents differ in.

    Attributes:
        is_identical: they are the same, character for character.
        is_same: they are the same as they are laid out; of JSON, apart from how it is written.
        rows: side by side.
        notes: what a reader has to know, in sentences.
    """

    is_identical: bool
    is_same: bool
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def difference(first: str, second: str) -> Difference:
    """Compare two contents, whatever they are."""
    both = _lay_out(first, second)
    found = Difference(first == second, both.left == both.right, notes=both.notes)
    if found.is_same and not found.is_identical:
        found.notes.append(
            "They are the same but for how they are written: blanks, escapes, the order of names."
        )
    budget = _Budget(STEPS)
    pairs = _aligned(both, budget)
    if max(len(both.left), len(both.right)) > WHOLE:
        pairs = _with_context(pairs)
    found.rows = [_row(pair, both, budget) for pair in islice(pairs, MAX_ROWS)]
    rest = Counter(pair.kind in (Kind.SAME, Kind.LEFT_OUT) for pair in pairs)
    if budget.is_used_up:
        found.notes.append(
            "They differ in too much to be compared throughout: lines that stand side by side need "
            "not belong together, and more may be marked within them than differs."
        )
    if rest:
        found.notes.append(
            f"{rest.total()} more rows are not shown; in {rest[False]} of them the two differ."
        )
    return found


# ------------------------------------------------------------------- laid out


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Two contents as lines; two that look the same are the same.

    Attributes:
        heads: per line of both, what has to be the same for one to be the other's change; None:
            nothing has to.
    """

    left: list[str]
    right: list[str]
    heads: tuple[list[str], list[str]] | None
    notes: list[str]


class _Object(list[tuple[str, Any]]):
    """An object's names and values: a name may stand twice."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def _lay_out(first: str, second: str) -> _LaidOut:
    parsed: list[Any] = []
    notes = []
    for which, text in (("first", first), ("second", second)):
        try:
            parsed.append(_parse(text))
        except json.JSONDecodeError as error:
            what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
            notes.append(
                f"The {which} is not JSON: {what} at line {error.lineno}, column {error.colno}."
            )
        except RecursionError:
            notes.append(f"The {which} is nested too deeply to be laid out.")
    if notes:
        notes.append("Both are compared as they were sent.")
        return _as_sent(first, second, notes)
    notes.append("The names of each object are sorted; in which order they were sent is not shown.")
    for which, value in zip(("first", "second"), parsed, strict=True):
        twice = _name_that_stands_twice(value)
        if twice is not None:
            shown = json_text(twice)
            notes.append(
                f"In the {which} a name stands more than once in one object, such as "
                f"{shown if len(shown) <= 100 else shown[:99] + '…'}: which one is meant depends "
                "on who reads it."
            )
    left, right = (list(_lines(value)) for value in parsed)
    return _LaidOut(left, right, (_heads(left), _heads(right)), notes)


def _as_sent(first: str, second: str, notes: list[str]) -> _LaidOut:
    texts = [first, second]
    has_codes = any(visible(text, keep="\n") != text for text in texts)
    if has_codes and any("\\" in text for text in texts):
        texts = [text.replace("\\", "\\\\") for text in texts]
        notes.append(
            "Backslashes are doubled, to be told from the codes of characters that cannot be seen."
        )
    left, right = ([visible(line) for line in text.split("\n")] for text in texts)
    return _LaidOut(left, right, None, notes)


def _parse(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=_Object,
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=_Number,
    )


def _lines(value: Any) -> Iterator[str]:
    """A value, one line for each in it. Not recursive: it may be nested as deeply as it likes."""
    open_ones: list[tuple[Iterator[tuple[str, Any]], str]] = [(iter([("", value)]), "")]
    while open_ones:
        children, closing = open_ones[-1]
        indent = "  " * min(len(open_ones) - 1, _INDENTED)
        for head, child in children:
            if isinstance(child, list) and child:
                opening, end = "{}" if isinstance(child, _Object) else "[]"
                yield f"{indent}{head}{opening}"
                open_ones.append((_children(child), end))
                break
            yield f"{indent}{head}{_leaf(child)}"
        else:
            open_ones.pop()
            if closing:
                yield f"{'  ' * min(len(open_ones) - 1, _INDENTED)}{closing}"


def _children(value: list[Any]) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, _Object):
        return zip(repeat(""), value, strict=False)
    return ((f"{json_text(name)}: ", child) for name, child in sorted(value, key=itemgetter(0)))


def _leaf(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, list):
        return "{}" if isinstance(value, _Object) else "[]"
    return json_text(value)


def _name_that_stands_twice(value: Any) -> str | None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _Object):
            names = Counter(name for name, _ in one)
            if len(names) < len(one):
                return next(name for name, number in names.items() if number > 1)
            waiting += [child for _, child in one if isinstance(child, list)]
        elif isinstance(one, list):
            waiting += [child for child in one if isinstance(child, list)]
    return None


def _heads(lines: Sequence[str]) -> list[str]:
    """Blanks and name of each line."""
    return [found[0] if (found := _HEAD.match(line)) else "" for line in lines]


# -------------------------------------------------------------------- aligned


class _UsedUp(Exception):
    """The steps are used up."""


class _Budget:
    """Steps that are left.

    Attributes:
        is_used_up: there were too few to find what belongs together.
    """

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.is_used_up = False

    def take(self, steps: int) -> None:
        """Take steps before they are made.

        Raises:
            _UsedUp: there are not as many left.
        """
        if steps > self._left:
            self.is_used_up = True
            raise _UsedUp
        self._left -= steps


class _Matcher(SequenceMatcher[str]):
    """A matcher that ends: Python's own may take time that grows with the cube of the lines."""

    def __init__(self, left: Sequence[str], right: Sequence[str], budget: _Budget) -> None:
        super().__init__(None, left, right, autojunk=False)
        self._left = left
        self._places = Counter(right)
        self._budget = budget

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """See there; what it will look at is counted before.

        Raises:
            _UsedUp: there are too few steps left for it.
        """
        lefts = self._left[alo:ahi]
        self._budget.take(len(lefts))
        self._budget.take(sum(map(self._places.__getitem__, lefts)))
        return super().find_longest_match(alo, ahi, blo, bhi)


_Opcode = tuple[str, int, int, int, int]

_IN_ORDER = "in order"
"""Of what is put side by side as it comes."""


def _opcodes(left: Sequence[str], right: Sequence[str], budget: _Budget) -> list[_Opcode]:
    """difflib's; or one for all, where the steps do not suffice."""
    try:
        return list(_Matcher(left, right, budget).get_opcodes())
    except _UsedUp:
        return [(_IN_ORDER, 0, len(left), 0, len(right))]


class _Pair(NamedTuple):
    """A row without its texts: which lines it shows."""

    kind: Kind
    left: int | None = None
    right: int | None = None
    left_out: int = 0


def _aligned(both: _LaidOut, budget: _Budget) -> Iterator[_Pair]:
    left, right = both.left, both.right
    begin, end = _same_ends(left, right)
    for index in range(begin):
        yield _Pair(Kind.SAME, index, index)
    inner = left[begin : len(left) - end], right[begin : len(right) - end]
    for tag, i1, i2, j1, j2 in _opcodes(*inner, budget):
        lefts, rights = range(begin + i1, begin + i2), range(begin + j1, begin + j2)
        if tag == "equal":
            yield from map(_Pair, repeat(Kind.SAME), lefts, rights)
        else:
            yield from _changed(both, lefts, rights, budget)
    for back in range(-end, 0):
        yield _Pair(Kind.SAME, len(left) + back, len(right) + back)


def _changed(both: _LaidOut, lefts: range, rights: range, budget: _Budget) -> Iterator[_Pair]:
    """Lines that stand in the place of others; either may be none."""
    opcodes: list[_Opcode] = [(_IN_ORDER, 0, len(lefts), 0, len(rights))]
    if both.heads is not None:
        heads = both.heads[0][lefts.start : lefts.stop], both.heads[1][rights.start : rights.stop]
        if len({*heads[0], *heads[1]}) > 1:
            opcodes = _opcodes(*heads, budget)
    for tag, i1, i2, j1, j2 in opcodes:
        if tag in ("equal", _IN_ORDER):
            for left, right in zip_longest(lefts[i1:i2], rights[j1:j2]):
                yield _pair(both, left, right)
        else:
            yield from (_pair(both, left, None) for left in lefts[i1:i2])
            yield from (_pair(both, None, right) for right in rights[j1:j2])


def _pair(both: _LaidOut, left: int | None, right: int | None) -> _Pair:
    if left is None:
        return _Pair(Kind.SECOND_ONLY, right=right)
    if right is None:
        return _Pair(Kind.FIRST_ONLY, left)
    is_same = both.left[left] == both.right[right]
    return _Pair(Kind.SAME if is_same else Kind.CHANGED, left, right)


def _same_ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """How much is the same at the begin, and of the rest at the end."""
    begin = _length_of_same(left, right)
    end = _length_of_same(reversed(left), reversed(right))
    return begin, min(end, len(left) - begin, len(right) - begin)


def _length_of_same(left: Iterable[str], right: Iterable[str]) -> int:
    both = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], both))


def _with_context(pairs: Iterator[_Pair]) -> Iterator[_Pair]:
    """What differs and a few lines around it; of the others how many there are."""
    for is_same, group in groupby(pairs, key=lambda pair: pair.kind is Kind.SAME):
        if not is_same:
            yield from group
            continue
        run = list(group)
        left_out = len(run) - 2 * CONTEXT
        if left_out > 1:
            run[CONTEXT:-CONTEXT] = [_Pair(Kind.LEFT_OUT, left_out=left_out)]
        yield from run


# --------------------------------------------------------------------- marked


def _row(pair: _Pair, both: _LaidOut, budget: _Budget) -> Row:
    left = None if pair.left is None else both.left[pair.left]
    right = None if pair.right is None else both.right[pair.right]
    if left is not None and right is not None and pair.kind is Kind.CHANGED:
        lefts, rights = _marked(left, right, budget)
    else:
        differs = pair.kind in (Kind.FIRST_ONLY, Kind.SECOND_ONLY)
        lefts = [] if left is None else [Part(left, differs)]
        rights = [] if right is None else [Part(right, differs)]
    return Row(
        pair.kind,
        _shortened(lefts),
        _shortened(rights),
        None if pair.left is None else pair.left + 1,
        None if pair.right is None else pair.right + 1,
        pair.left_out,
    )


def _marked(left: str, right: str, budget: _Budget) -> tuple[list[Part], list[Part]]:
    """Both lines in parts, with what is not in the other marked."""
    begin, end = _same_ends(left, right)
    begin = _between_words(left, right, begin)
    end = _between_words(left[::-1], right[::-1], end)
    ours: list[str] = _TOKEN.findall(left[begin : len(left) - end])
    theirs: list[str] = _TOKEN.findall(right[begin : len(right) - end])
    opcodes = _opcodes(ours, theirs, budget)
    same = sum(len("".join(ours[i1:i2]).strip()) for tag, i1, i2, *_ in opcodes if tag == "equal")
    if same * 3 < max(sum(map(len, tokens)) for tokens in (ours, theirs)):
        # What little they share would be scattered over two texts that have nothing in common.
        opcodes = [("replace", 0, len(ours), 0, len(theirs))]
    lefts, rights = [Part(left[:begin], differs=False)], [Part(right[:begin], differs=False)]
    for tag, i1, i2, j1, j2 in opcodes:
        lefts.append(Part("".join(ours[i1:i2]), tag != "equal"))
        rights.append(Part("".join(theirs[j1:j2]), tag != "equal"))
    lefts.append(Part(left[len(left) - end :], differs=False))
    rights.append(Part(right[len(right) - end :], differs=False))
    return lefts, rights


def _between_words(left: str, right: str, length: int) -> int:
    """A length that cuts no word in two: half a number that differs says little."""
    if any(_is_in_word(text[length : length + 1]) for text in (left, right)):
        while length and _is_in_word(left[length - 1]):
            length -= 1
    return length


def _is_in_word(one: str) -> bool:
    return one.isalnum() or one in ("_", "\\")


def _shortened(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts that are not empty, none longer than a person reads."""
    shown = []
    for text, differs, _ in parts:
        left_out = len(text) - MAX_PART
        if left_out > 0:
            half = MAX_PART // 2
            shown += [Part(text[:half], differs, left_out), Part(text[-half:], differs)]
        elif text:
            shown.append(Part(text, differs))
    return tuple(shown)
