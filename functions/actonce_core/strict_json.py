"""Strict JSON in, canonical JSON out.

Invariant: two texts of the same value give the same canonical bytes, and a text that two parsers
could read differently is refused. Integers stay exact, so `1` and `1.0` are two values.

The sender chooses a text's shape. Callers bound its size (`execution.MAX_INPUT_BYTES`); within that
bound no shape costs more than a fraction of a second (`tests/functions/test_hostile_bodies.py`).
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

JsonValue = Any  # what json.loads returns; a recursive alias buys nothing a handler could use

MAX_DEPTH = 100
"""Nested arrays and objects. Some languages' parsers read no deeper, and the limit of Python's own
depends on its version."""

_MAX_DIGITS = 309
"""Of the largest double, before the point. The time that `int` takes grows with their square."""

_SURELY_KEPT = 15
"""Significant digits that a double always keeps (IEEE 754, DBL_DIG)."""

# Possessive, so that no character is matched twice.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^][{}]++")

_NO_DOUBLE = "a number is too large for an IEEE 754 double, or has more digits than one keeps"


class NotJson(ValueError):
    """The text is not strict JSON; the error says what and where, but never quotes the text."""


def parse(text: str) -> JsonValue:
    """Parse strict JSON (RFC 8259, and RFC 7493 where that leaves a choice).

    Parsers disagree about more than `json.loads` refuses. So this also refuses `NaN` and the
    infinities, numbers that no IEEE 754 double holds (for integers only the range counts; they stay
    exact), a name that occurs twice in an object, lone surrogates, and nesting deeper than
    `MAX_DEPTH`.

    Raises:
        NotJson: with a sentence that never quotes the text, because it is logged.
    """
    if _is_too_deep(text):
        raise NotJson(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
        # A lone surrogate is in the text itself, or in a value by an escape.
        (canonical(value) if "\\u" in text else text).encode("utf-8")
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        raise NotJson(f"{what} at line {error.lineno}, column {error.colno}") from None
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise NotJson(f"a lone surrogate U+{code:04X}, which UTF-8 cannot carry") from None
    return value


def canonical(value: JsonValue) -> str:
    """Serialize with sorted names, no blanks and no needless escapes: one text per value."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _NOT_BRACKETS.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _object(members: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(members)
    if len(value) != len(members):
        raise NotJson("a name stands twice in one object")
    return value


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS or float(digits) in (float("inf"), -float("inf")):
        raise NotJson(_NO_DOUBLE)
    return int(digits)


def _double(number: str) -> float:
    """Refuse a number whose digits a double does not keep.

    Writers give a double's shortest text, 17 of its digits, or its exact value; any other text
    means another value than the nearest double.
    """
    value = float(number)
    if len(number) <= _SURELY_KEPT and "e" not in number and "E" not in number:
        return value
    try:
        given = Decimal(number)
    except InvalidOperation:  # an exponent beyond even a Decimal
        raise NotJson(_NO_DOUBLE) from None
    # The cheapest first: short numbers, of which a body can hold the most, take one comparison.
    if (
        given == Decimal(repr(value))
        or given == Decimal(f"{value:.17g}")
        or given == Decimal(value)
    ):
        return value
    raise NotJson(_NO_DOUBLE)


def _refuse_constant(name: str) -> JsonValue:
    raise NotJson(f"{name} is not JSON")
