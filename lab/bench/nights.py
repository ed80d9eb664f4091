"""A night's audit of one day among many: seconds of CPU, compared with that day alone.

    python -m lab.bench.nights [--messages 3000] [--days 1,30,100]

Makes seeded days of JSON Lines and audits the last of them: alone in its folder, and with the
cached days before it. Each time `actonce audit` runs from its start to its page, in its own
process; the CPU seconds are those of all its processes. Beside it a PySpark session starts, counts
the lines of the day alone, and ends.
"""

import contextlib
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.bench.machine import machine
from lab.bench.records import EFFECTS, FIRST_DAY, write

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


def cpu_of(command: Sequence[str]) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a command, wait for all its descendants, and return the CPU seconds of all of them."""
    # A JVM that outlives the command becomes this process's child, so that it can be waited for.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ran, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def audited(root: Path, out: Path, day: str) -> dict[str, Any]:
    """Measure one audit: how many days' records it read, and its seconds of CPU.

    Raises:
        SystemExit: it failed.
    """
    actonce = str(Path(sys.executable).with_name("actonce"))
    where = [str(root), "--day", day, "--out", str(out), "--effects", EFFECTS]
    command = [actonce, "audit", *where, "--json"]
    ran, cpu = cpu_of(command)
    if ran.returncode == 2:
        raise SystemExit(ran.stderr)
    return {"read": json.loads(ran.stdout)["read"]["days_read"], "cpu": round(cpu, 1)}


_COUNT_LINES = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
print(spark.read.option("recursiveFileLookup", "true").text(sys.argv[1]).count())
"""


def counted(root: Path) -> dict[str, Any]:
    """Measure what Spark takes to count the lines of records.

    Raises:
        SystemExit: it failed.
    """
    ran, cpu = cpu_of([sys.executable, "-c", _COUNT_LINES, str(root)])
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return {"lines": int(ran.stdout), "cpu": round(cpu, 1)}


def forget(root: Path, cache: Path, since: date) -> None:
    """Remove the days before one, and what is cached of them."""
    for day in root.glob("*/dt=*"):
        if day.name < f"dt={since}":
            shutil.rmtree(day)
    for manifest in cache.glob("*.manifest"):
        if manifest.stem < since.isoformat():
            manifest.unlink()


def main(
    messages: Annotated[int, typer.Option(min=15, help="A day.")] = 3_000,
    days: Annotated[str, typer.Option(help="How many, with commas between.")] = "1,30,100",
    runs: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Make the records, judge and print."""
    counts = sorted(int(count) for count in days.split(","))
    last = (FIRST_DAY + timedelta(days=counts[-1] - 1)).date().isoformat()
    with tempfile.TemporaryDirectory(prefix="actonce-nights-") as temporary:
        place = Path(temporary)
        root, alone, out = place / "records", place / "alone", place / "out"
        write(root, messages, counts[-1])
        for stream in root.iterdir():
            shutil.copytree(stream / f"dt={last}", alone / stream.name / f"dt={last}")
        nights: list[dict[str, Any]] = []
        audited(root, out, last)  # all days are cached from here on
        size = sum(file.stat().st_size for file in (out / "cache").rglob("*") if file.is_file())
        for _ in range(runs):
            only = place / "out-alone"
            shutil.rmtree(only, ignore_errors=True)
            nights.append({"days": 1, "way": "lines counted"} | counted(alone))
            nights.append({"days": 1, "way": "alone"} | audited(alone, only, last))
        # From the most days on, for of the others the earlier days go.
        for count in reversed(counts):
            forget(root, out / "cache", (FIRST_DAY + timedelta(days=counts[-1] - count)).date())
            for _ in range(runs):
                (out / "cache" / f"{last}.manifest").unlink()  # as on the evening before
                nights.append({"days": count, "way": "cached"} | audited(root, out, last))
    inputs = {
        "messages_a_day": messages,
        "kept_megabytes_a_day": round(size / 1e6 / counts[-1], 2),
    }
    best = min(night["cpu"] for night in nights if night["way"] == "alone")
    rows = [night | {"beside": round(night["cpu"] / best, 2)} for night in nights]
    print(json.dumps({"inputs": inputs, "machine": machine("pyspark"), "rows": rows}, indent=1))


if __name__ == "__main__":
    typer.run(main)
