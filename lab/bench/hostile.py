"""What a batch of hostile bodies costs the starter, beside a plain `json.loads` of the same texts.

    python -m lab.bench.hostile [--json]

Each shape is given twice: as ten bodies just small enough to be started, and as the largest bodies
that SQS carries, as many as Lambda hands over at once. The starter is the real one in a process
with the memory of its function. Exit status 1 if a batch ends it or takes it above half of that.
"""

import json
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Annotated, Any

import typer
from rich.table import Table

from lab.bench.limited import LARGEST_EVENT, MEMORY_SIZE, LimitedStarter, limited_starter, peak_mb
from lab.bench.report import figures, machine, tell

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


def _plain(bodies: list[str], connection: Connection) -> None:
    """A process that only parses the bodies, and keeps what it has parsed until the last."""
    before = peak_mb()
    begin = time.process_time()
    values = []
    for body in bodies:
        try:
            values.append(json.loads(body))
        except (ValueError, RecursionError) as error:
            values.append(type(error).__name__)
    cpu_ms = (time.process_time() - begin) * 1000
    connection.send((cpu_ms, peak_mb() - before))


def plainly(bodies: list[str]) -> tuple[float, float]:
    """CPU in milliseconds, and growth in MB, of a plain `json.loads` of the bodies."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_plain, args=(bodies, theirs), daemon=True)
    process.start()
    result: tuple[float, float] = ours.recv()
    process.join()
    return result


def measure(name: str, size: int) -> dict[str, Any]:
    """One shape in one size: a process of its own, so that its peak is its own."""
    bodies = batch(SHAPES[name], size)
    plain_cpu, plain_mb = plainly(bodies)
    row: dict[str, Any] = {
        "shape": name,
        "bodies": len(bodies),
        "bytes": len(bodies[0].encode()),
        "plain_cpu_ms": round(plain_cpu, 1),
        "plain_grown_mb": round(plain_mb, 1),
    }
    with limited_starter() as starter:
        return row | _of(starter, bodies)


def _of(starter: LimitedStarter, bodies: list[str]) -> dict[str, Any]:
    try:
        handled = starter.handle(bodies)
    except EOFError:
        return {"survived": False, "cpu_ms": None, "grown_mb": None, "peak_mb": None}
    return {
        "survived": handled.answer == {"batchItemFailures": []},
        "cpu_ms": round(handled.cpu_ms, 1),
        "grown_mb": round(handled.peak_mb - starter.peak_at_rest_mb, 1),
        "peak_mb": round(handled.peak_mb, 1),
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
    tell(report, _table(rows), as_json=as_json)
    half = MEMORY_SIZE / 1024**2 / 2
    good = all(row["survived"] and row["peak_mb"] <= half for row in rows)
    raise typer.Exit(0 if good else 1)


def _table(rows: list[dict[str, Any]]) -> Table:
    table = figures("shape", "bodies", "CPU, ms", "plain", "grown, MB", "plain", "peak, MB")
    for row in rows:
        table.add_row(
            row["shape"],
            f"{row['bodies']} x {row['bytes'] // 1024:,} KiB",
            f"{row['cpu_ms']:,.0f}" if row["survived"] else "ended",
            f"{row['plain_cpu_ms']:,.0f}",
            f"{row['grown_mb']:,.0f}" if row["survived"] else "",
            f"{row['plain_grown_mb']:,.0f}",
            f"{row['peak_mb']:,.0f}" if row["survived"] else "",
        )
    return table


if __name__ == "__main__":
    typer.run(main)
