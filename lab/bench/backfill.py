"""The CPU seconds of a backfill, beside a Spark job's that reads, counts and writes the same.

    python -m lab.bench.backfill [--rows 1000000]

Both in one run, each in its own process from its start, with all processes that it starts.
"""

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from lab.bench.machine import machine
from lab.bench.nights import cpu_of

_READ_COUNT_WRITE = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
rows = spark.read.json(sys.argv[1])
rows.count()
rows.write.json(sys.argv[2])
"""


def main(rows: Annotated[int, typer.Option(min=1)] = 1_000_000) -> None:
    """Write an archive, a tenth of it twice; plan it; print."""
    chosen = random.Random(1)  # so the same archive each time
    with tempfile.TemporaryDirectory(prefix="actonce-backfill-") as temporary:
        archive, plan = Path(temporary, "a.jsonl"), Path(temporary, "plan")
        with archive.open("w") as file:
            for number in range(rows):
                order = chosen.randrange(number) if number and chosen.random() < 0.1 else number
                patient = {"name": "Zoë", "age": order % 90}
                row = {"id": f"order-{order}", "cents": order % 9973, "patient": patient}
                row |= {"at": "2026-11-20T08:15:30Z", "practice": f"p{order % 50}"}
                file.write(f"{json.dumps(row)}\n")
        actonce = str(Path(sys.executable).with_name("actonce"))
        command = [actonce, "backfill", str(archive), "--message-id", "id", "--to", str(plan)]
        again = [sys.executable, "-c", _READ_COUNT_WRITE, str(archive), f"{temporary}/again"]
        found = {}
        for name, words in (("backfill", command), ("Spark reads, counts and writes", again)):
            ran, found[name] = cpu_of(words)
            if ran.returncode:
                raise SystemExit(ran.stderr)
        counts = json.loads((plan / "counts.json").read_text())
    ours, theirs = found.values()
    print(
        json.dumps({"machine": machine("pyspark"), **counts, "cpu": found, "times": ours / theirs})
    )


if __name__ == "__main__":
    typer.run(main)
