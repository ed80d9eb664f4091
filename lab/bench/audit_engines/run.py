"""One engine in this process, timed: a line of JSON.

    python -m lab.bench.audit_engines.run ENGINE ROOT OUT [--runs N] [--form parquet|jsonl]

CPU seconds are user and system time of this process and all below it, Spark's JVM included; peak
memory is the sum of what each of them had at most. Both are read from /proc, so this is for Linux.
"""

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lab.bench.audit_engines.duckdb_engine import duckdb
from lab.bench.audit_engines.polars_engine import polars
from lab.bench.audit_engines.spark_engines import audit, naive, plain_read, sail
from lab.bench.audit_engines.task import Engine, Form, Task

ENGINES: dict[str, Engine] = {
    "plain_read": plain_read,
    "audit": audit,
    "naive": naive,
    "duckdb": duckdb,
    "polars": polars,
    "sail": sail,
}


def cpu_seconds() -> float:
    """Of this process and all below it, those included that have ended and were waited for."""
    ticks = 0
    for process in _processes(os.getpid()):
        with contextlib.suppress(OSError):  # it has ended; its parent's count has it now
            ticks += sum(map(int, _stat(process)[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_mb() -> float:
    """The sum of each living process' peak of resident memory."""
    return sum(_peak_kb(process) for process in _processes(os.getpid())) / 1024


def _processes(root: int) -> Iterator[int]:
    yield root
    children: list[str] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{root}/task").iterdir():
            with contextlib.suppress(OSError):  # threads come and go
                children += (thread / "children").read_text().split()
    for child in children:
        yield from _processes(int(child))


def _stat(process: int) -> list[str]:
    """The fields after the command, which may hold blanks."""
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()


def _peak_kb(process: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def main(
    engine: str,
    root: Path,
    out: Path,
    runs: Annotated[int, typer.Option(min=1)] = 1,
    form: Form = "parquet",
) -> None:
    """Run the engine so often, and leave the last answer in OUT."""
    began = time.monotonic()
    task = Task(root, os.cpu_count() or 1, form)
    measured = []
    with ENGINES[engine](task) as judge:
        ready = {"wall": time.monotonic() - began, "cpu": cpu_seconds()}
        for _ in range(runs):
            shutil.rmtree(out, ignore_errors=True)
            wall, cpu = time.monotonic(), cpu_seconds()
            judge(out)
            measured.append({"wall": time.monotonic() - wall, "cpu": cpu_seconds() - cpu})
        peak = peak_mb()
    sys.stdout.write(json.dumps({"ready": ready, "runs": measured, "peak_mb": peak}) + "\n")


if __name__ == "__main__":
    typer.run(main)
