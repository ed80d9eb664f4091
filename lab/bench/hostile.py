"""What a batch of hostile bodies costs the starter.

    python -m lab.bench.hostile [--json]

Each shape is given twice: as ten bodies just small enough to be started, and as the largest bodies
that SQS carries, as many as Lambda hands over at once. The starter is the real one in a process
with the memory of its function. Exit status 1 if a batch ends it or takes it above half of that.
"""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from lab.bench.limited import LARGEST_EVENT, MEMORY_SIZE, limited_starter
from lab.bench.report import machine, tell

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


def measure(name: str, size: int) -> dict[str, Any]:
    """One shape in one size: a process of its own, so that its peak is its own."""
    bodies = batch(SHAPES[name], size)
    kib = len(bodies[0].encode()) // 1024
    row: dict[str, Any] = {"shape": name, "bodies": f"{len(bodies)} x {kib:,} KiB", "good": False}
    with limited_starter() as starter:
        try:
            handled = starter.handle(bodies)
        except EOFError:
            return row
        is_within = handled.peak_mb <= MEMORY_SIZE / 1024**2 / 2
        return row | {
            "good": is_within and handled.answer == {"batchItemFailures": []},
            "cpu_ms": round(handled.cpu_ms),
            "grown_mb": round(handled.peak_mb - starter.peak_at_rest_mb),
            "peak_mb": round(handled.peak_mb),
        }


_HEADINGS = {
    "shape": "shape",
    "bodies": "bodies",
    "cpu_ms": "CPU, ms",
    "grown_mb": "grown, MB",
    "peak_mb": "peak, MB",
}


def main(
    *,
    shape: Annotated[
        list[str] | None, typer.Option("--shape", help="Only this one; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure every shape; exit 1 if one ends the starter or takes it above half of its memory."""
    names = shape or list(SHAPES)
    rows = [measure(name, size) for name in names for size in (STARTABLE, LARGEST)]
    inputs = {"memory_mb": MEMORY_SIZE // 1024**2, "shapes": len(names)}
    report = {"inputs": inputs, "machine": machine(), "rows": rows}
    tell(report, _HEADINGS, as_json=as_json)
    raise typer.Exit(int(not all(row["good"] for row in rows)))


if __name__ == "__main__":
    typer.run(main)
