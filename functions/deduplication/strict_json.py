"""Strict JSON in, canonical JSON out.

Invariant: two texts of one value give the same canonical bytes, and a text that two parsers could
read differently is not read at all. Integers stay exact, so `1` and `1.0` are two values.
"""

import json
import math
from typing import Any

JsonValue = Any  # what json.loads returns; a recursive alias buys nothing a handler could use


class NotJson(ValueError):
    """The text is not strict JSON; the message says where and what."""


def parse(text: str) -> JsonValue:
    """Parse strict JSON (RFC 8259, and RFC 7493 where that leaves a choice).

    Refused beyond what `json.loads` refuses: `NaN` and the infinities, numbers too large for an
    IEEE 754 double, a name that stands twice in one object, lone surrogates, nesting too deep to
    walk. Each of them means different things to different parsers.

    Raises:
        NotJson: with one readable sentence, which never quotes the text: it is logged.
    """
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_int=_finite_int,
            parse_float=_finite_float,
            object_pairs_hook=_unique_names,
        )
        # Two levels deeper than the value: what wraps it later must not be what fails.
        canonical([[value]]).encode("utf-8")
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise NotJson(f"a lone surrogate U+{code:04X}, which UTF-8 cannot carry") from None
    except RecursionError:
        raise NotJson("nested too deeply to read") from None
    return value


def canonical(value: JsonValue) -> str:
    """Serialize with sorted names, no blanks and no needless escapes.

    One value gives one text, whatever the order of its names was.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _refuse_constant(name: str) -> JsonValue:
    raise NotJson(f"{name} is not JSON")


def _finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJson("a number is too large for an IEEE 754 double")
    return number


def _finite_int(text: str) -> int:
    _finite_float(text)  # before int(), which refuses more than 4,300 digits in words of its own
    return int(text)


def _unique_names(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise NotJson("a name stands twice in one object")
    return value
