"""Shapes of hostile bodies; tests/unit/test_hostile_bodies.py gives them to the real starter.

Each shape has two sizes: a body just small enough to be started, and the largest that SQS carries.
"""

from collections.abc import Callable

from lab.bench.limited import LARGEST_EVENT

STARTABLE = 261_000 - 50
"""Bytes of a body that can still be started."""

LARGEST = 1024 * 1024 - 2048
"""Bytes of the largest body that SQS carries and beside which a reason finds room."""


def _repeated(unit: str) -> Callable[[int], str]:
    """A body with an array of as many units as there is room for."""

    def body(size: int) -> str:
        start, end = '{"message_id":"m","a":[', "]}"
        return start + ",".join([unit] * ((size - len(start)) // (len(unit) + 1))) + end

    return body


def _around(start: str, unit: str, end: str = "") -> Callable[[int], str]:
    def body(size: int) -> str:
        times = (size - len(start) - len(end)) // len(unit)
        return start + unit * times + end

    return body


def _deep(opened: str, closed: str) -> Callable[[int], str]:
    def body(size: int) -> str:
        times = size // len(opened + closed)
        return opened * times + "1" + closed * times

    return body


SHAPES: dict[str, Callable[[int], str]] = {
    "one text": _around('{"message_id":"m","a":"', "x", '"}'),
    "escapes": _around('{"message_id":"m","a":"', "\\u00e9", '"}'),
    "backslashes": _around('{"message_id":"m","a":"', "\\\\", '"}'),
    "blanks": _around('{"message_id":"m"}', " "),
    "quotes": _around("", '"'),
    "arrays in arrays": _repeated("[[[[[]]]]]"),
    "arrays, 90 deep": _repeated("[" * 90 + "]" * 90),
    "empty arrays": _repeated("[]"),
    "empty objects": _repeated("{}"),
    "objects": _repeated('{"":0}'),
    "texts": _repeated('""'),
    "integers": _repeated("1"),
    "integers of 300 digits": _repeated("9" * 300),
    "integers of 10,000 digits": _repeated("9" * 10_000),
    "one integer": _around('{"a":', "9", "}"),
    "one fraction": _around('{"a":0.', "1", "}"),
    "fractions": _repeated("1.5"),
    "fractions of 17 digits": _repeated("0.10000000000000001"),
    "exponents": _repeated("1e5"),
    "exponents near zero": _repeated("3e-308"),
    "names": lambda size: (
        '{"message_id":"m",' + ",".join(f'"{n:x}":0' for n in range(size // 10)) + "}"
    ),
    "arrays without end": _deep("[", "]"),
    "objects without end": _deep('{"a":', "}"),
    "arrays never closed": _around("", "["),
}


def batch(shape: Callable[[int], str], size: int) -> list[str]:
    """As many bodies of a shape as a batch has, and as Lambda hands over at once."""
    return [shape(size)] * min(10, LARGEST_EVENT // size)
