"""Strict JSON in, canonical JSON out.

Invariant: two texts of one value give the same canonical bytes, and a text that two parsers could
read differently is not read at all. Integers stay exact, so `1` and `1.0` are two values.

Whoever sends the text chooses its shape, so reading costs no more than its length accounts for: no
Python code runs for each value, and what a look at the text can refuse is refused before it is
parsed (`bench/hostile.py`).
"""

import json
import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from itertools import accumulate, compress
from typing import Any, NamedTuple

JsonValue = Any  # what json.loads returns; a recursive alias buys nothing a handler could use

MAX_DEPTH = 100
"""Arrays and objects inside one another. Some languages' parsers read no deeper, and where Python's
own gives up depends on its version."""

# The expressions never look at a character twice: quantifiers are possessive, and a number is only
# tried from its start.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)

_MAX_DIGITS = 309
"""Of the largest double before its point. `int` takes time that grows with the square of them."""

_MANY_DIGITS = re.compile(rb"(?<![.0-9])[0-9]{%d,}+" % _MAX_DIGITS)

# A fraction of more than 15 digits, or an exponent of three: perhaps no double has this value.
_MAY_BE_NO_DOUBLE = re.compile(
    rb"(?<![0-9.+eE])(?:[0-9]++(?:\.[0-9]++)?[eE][+-]?[0-9]{3,}+"
    rb"|(?=[0-9.]{16})[0-9]++(?:\.[0-9]++(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++))"
)

# In a canonical text: more digits than any reader of doubles keeps; so large that some would write
# it without an exponent, or nearly too small for one; a sign that only doubles keep.
_NOT_PLAIN = re.compile(rb"[0-9]{16}|[0-9.]{17}|e\+|e-[0-9]{3}|-0\.0(?![0-9])")

# Outside of what SQS takes (`#x9 | #xA | #xD | #x20-#xD7FF | #xE000-#xFFFD | #x10000-#x10FFFF`),
# and not always written as an escape, as control characters are.
_NONCHARACTERS = re.compile("[\ufffe\uffff]")
_NOT_TAKEN_BY_SQS = re.compile("[\ud800-\udfff\ufffe\uffff]")

# What any of the three needs, found without an expression in an outline of digits made 0.
_DIGITS_AND_DOTS_TO_0 = bytes.maketrans(b".123456789", b"0" * 10)
_LONG_NUMBERS = (b"0" * 16, b"0e000", b"0e+000", b"0e-000", b"0E000", b"0E+000", b"0E-000")

_BLANKS = b" \t\r\n"
_BRACKETS = b"[]{}"
_ALL_BUT_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_BRACKETS_TO_STEPS = bytes.maketrans(_BRACKETS, b"\x01\xff\x01\xff")  # as signed bytes: 1, -1

_NO_DOUBLE = "a number is too large for an IEEE 754 double, or has more digits than one keeps"


class NotJson(ValueError):
    """The text is not strict JSON; the message says where and what."""


class Read(NamedTuple):
    """What a text says.

    Attributes:
        value: its value.
        written: its canonical text.
        is_plain: whether the canonical text means the same to whatever reads its numbers as
            doubles. So does a number of at most 15 digits below 10^16, even where 15 are all that
            is written of a double (JSONata's `$string`). And it has no character that SQS does not
            take.
    """

    value: JsonValue
    written: str
    is_plain: bool


def parse(text: str) -> JsonValue:
    """Parse strict JSON; see `read`."""
    return read(text).value


def read(text: str) -> Read:
    """Parse strict JSON (RFC 8259, and RFC 7493 where that leaves a choice).

    Refused beyond what `json.loads` refuses: `NaN` and the infinities, numbers that no IEEE 754
    double holds (integers are held by their range, and stay exact), a name that stands twice in one
    object, lone surrogates, more than `MAX_DEPTH` arrays and objects inside one another. Each of
    them means different things to different parsers.

    Raises:
        NotJson: with one readable sentence, which never quotes the text: it is logged.
    """
    outline = outline_of(text)
    if _is_too_deep(outline):
        raise NotJson(f"nested deeper than {MAX_DEPTH} levels")
    has_long_numbers = _has_long_numbers(outline)
    if has_long_numbers:
        _refuse_endless_numbers(outline)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        written = canonical(value)
        written.encode("utf-8")
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        raise NotJson(f"{what} at line {error.lineno}, column {error.colno}") from None
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise NotJson(f"a lone surrogate U+{code:04X}, which UTF-8 cannot carry") from None
    except ValueError:  # it was read as an infinity, which has no canonical text
        raise NotJson(_NO_DOUBLE) from None
    outline_written = outline if written == text else outline_of(written)
    # Of a name that stands twice the parser keeps one.
    if outline.count(b":") != outline_written.count(b":"):
        raise NotJson("a name stands twice in one object")
    if has_long_numbers:
        _refuse_lost_digits(outline)
    return Read(value, written, _is_plain(written, outline_written))


def canonical(value: JsonValue) -> str:
    """Serialize with sorted names, no blanks and no needless escapes.

    One value gives one text, whatever the order of its names was.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def has_noncharacters(text: str) -> bool:
    """Whether there is a U+FFFE or U+FFFF, which SQS does not take, in a text."""
    return _NONCHARACTERS.search(text) is not None


def as_sqs_takes_it(text: str) -> str:
    """The same JSON text with what SQS does not take written as escapes.

    JSON may have U+FFFE, U+FFFF and, as Python reads it, lone surrogates raw (`SendMessage`, API
    reference, names the set that SQS takes).
    """
    return _NOT_TAKEN_BY_SQS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def outline_of(text: str) -> bytes:
    """A JSON text without blanks, every name and string empty: marks, numbers and words."""
    return _STRING.sub('""', text).encode("utf-8", "surrogatepass").translate(None, _BLANKS)


def _is_plain(written: str, outline: bytes) -> bool:
    may_be_none = b"-0.0" in outline or b"e+" in outline or _has_long_numbers(outline)
    return not (may_be_none and _NOT_PLAIN.search(outline)) and not has_noncharacters(written)


def _has_long_numbers(outline: bytes) -> bool:
    """Whether a number has more than 15 digits, or an exponent of three."""
    numbers = outline.translate(_DIGITS_AND_DOTS_TO_0)
    return any(long in numbers for long in _LONG_NUMBERS)


def _is_too_deep(outline: bytes) -> bool:
    if outline.count(b"[") + outline.count(b"{") <= MAX_DEPTH:
        return False
    steps = outline.translate(_BRACKETS_TO_STEPS, _ALL_BUT_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b"))) > MAX_DEPTH


def _refuse_constant(name: str) -> JsonValue:
    raise NotJson(f"{name} is not JSON")


def _refuse_endless_numbers(outline: bytes) -> None:
    for found in _MANY_DIGITS.finditer(outline):
        if len(found[0]) > _MAX_DIGITS or float(found[0]) == float("inf"):
            raise NotJson(_NO_DOUBLE)


def _refuse_lost_digits(outline: bytes) -> None:
    """Refuse a number whose digits a double does not keep.

    Writers give a double's shortest text, or 17 digits of it, or its exact value; whatever is none
    of these stands for another value than the nearest double.
    """
    numbers = [number.decode() for number in _MAY_BE_NO_DOUBLE.findall(outline)]
    doubles = list(map(float, numbers))
    try:
        given = list(map(Decimal, numbers))
        writers: tuple[Callable[[float], Any], ...] = (repr, "%.17g".__mod__, Decimal)
        for write in writers:
            lost = list(map(operator.ne, given, map(Decimal, map(write, doubles))))
            given, doubles = list(compress(given, lost)), list(compress(doubles, lost))
    except InvalidOperation:  # an exponent that not even a decimal has
        raise NotJson(_NO_DOUBLE) from None
    if given:
        raise NotJson(_NO_DOUBLE)
