"""The audit beside other ways to the same verdicts: seconds of CPU, memory, and what is right.

    python -m lab.bench.audit [--events 10_000_000] [--engines audit,duckdb] [--json]

Generates seeded records, then runs each engine in a process of its own: once cold, from the start
of the process, and `--runs` times more, warm; the best of these counts. Every engine's verdicts are
compared with the planted truth, row by row, and its counts and times with the audit's. An engine
that cannot run is reported with its reason. Exit status 1 if any verdict or count is wrong; a
target that is missed is printed, not failed.

`job` is `actonce audit` as a person runs it, from its start to its page. CPU seconds are those of
the whole process tree, so other work on the machine disturbs them less than the wall's.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from lab.bench.auditing.engines import ENGINES
from lab.bench.auditing.rules import COUNTS, TIMES
from lab.bench.records import truth_of, write
from lab.bench.report import machine, tell
from lab.bench.whole_cpu import adopt_all, cost_of, wait_for_all

MOST_TIMES_A_READ = 2.5
"""At most so many times a plain read's warm CPU seconds may the audit take."""
LOSES_COUNTS = frozenset({"naive"})
"""Drops exact duplicates, so its counts are too low; its verdicts are to be right all the same."""
EVENTS_PER_MESSAGE = 6.5

Row = dict[str, Any]
"""One engine's run, by the names of `_HEADINGS`; `failed`, why there is no answer."""

_HEADINGS = {
    "engine": "engine",
    "cold_wall": "cold wall s",
    "cold_cpu": "cold CPU s",
    "warm_wall": "warm wall s",
    "warm_cpu": "warm CPU s",
    "peak_mb": "peak MB",
    "wrong_verdicts": "wrong verdicts",
    "differing": "other rows differ",
}
"""Cold is from the process' start to the first answer, warm the best later run; peak is resident
memory. Wrong are rows whose verdict is not the planted one, or that are missing or extra; of
differing ones counts or times are not the audit's."""


def run_engine(engine: str, root: Path, out: Path, runs: int) -> Row:
    """Run one engine in a process of its own; its rows are in `out`."""
    if engine == "job":
        return _job(root, out)
    command = [sys.executable, "-m", "lab.bench.auditing.engines", engine, str(root), str(out)]
    command += ["--runs", str(runs + 1)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    wait_for_all()
    if ran.returncode:
        return {"failed": _reason(ran.stderr)}
    told = json.loads(ran.stdout.splitlines()[-1])
    first, *later = told["runs"]
    row = {f"cold_{name}": round(told["ready"][name] + first[name], 1) for name in first}
    if later:
        warm = min(later, key=lambda one: float(one["cpu"]))
        row |= {f"warm_{name}": round(warm[name], 1) for name in warm}
    return row | {"peak_mb": round(told["peak_mb"])}


def _job(root: Path, out: Path) -> Row:
    """`actonce audit`, whose JVM outlives it and is waited for here."""
    place = out.with_name("job")
    command = [str(Path(sys.executable).with_name("actonce")), "audit", str(root), "--json"]
    ran = cost_of([*command, "--out", str(place)])
    if ran.status not in {0, 1}:  # 1: it has found the alarms that were planted
        return {"failed": _reason(ran.err)}
    if not (place / "report.html").exists():
        return {"failed": "there is no page"}
    shutil.move(place / "messages", out)
    return {"cold_wall": round(ran.wall, 1), "cold_cpu": round(ran.cpu, 1)}


def _reason(stderr: str) -> str:
    """The last line that says something, out of a trace."""
    lines = [line.strip(" │╭╰─╮╯") for line in stderr.splitlines()]
    said = [line for line in lines if "Error" in line or "Exception" in line]
    return (said or [line for line in lines if line] or ["no word"])[-1][:300]


def rows_that_differ(one: str, other: str, columns: list[str]) -> int:
    """Rows that two answers do not share, by message id; times are compared to the millisecond.

    Args:
        one, other: what DuckDB reads.
        columns: what has to be equal.
    """
    values = [
        f"epoch_ms({name})" if name in TIMES else f"CAST({name} AS VARCHAR)" for name in columns
    ]
    rows = [
        f"(SELECT message_id, {', '.join(values)} FROM {read})"  # noqa: S608
        for read in (one, other)
    ]
    counted = duckdb.execute(
        f"SELECT (SELECT count(*) FROM ({rows[0]} EXCEPT ALL {rows[1]})) "  # noqa: S608
        f"+ (SELECT count(*) FROM ({rows[1]} EXCEPT ALL {rows[0]}))"
    ).fetchone()
    return 0 if counted is None else -(-int(counted[0]) // 2)


def target(results: Mapping[str, Row]) -> list[str]:
    """A sentence on the audit's warm CPU beside a plain read's, where both were measured."""
    ours, read = (results.get(name, {}).get("warm_cpu") for name in ("audit", "plain_read"))
    if not ours or not read:
        return []
    word = "met" if ours <= MOST_TIMES_A_READ * read else "missed"
    return [f"audit / plain_read: {ours / read:.2f} of at most {MOST_TIMES_A_READ}, {word}"]


def main(
    events: Annotated[int, typer.Option(min=100)] = 1_000_000,
    engines: Annotated[str, typer.Option(help="Which, with commas between.")] = ",".join(
        (*ENGINES, "job")
    ),
    runs: Annotated[int, typer.Option(min=0, help="Warm runs.")] = 2,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Make the records, run the engines, check and print."""
    adopt_all()
    asked = engines.split(",")
    if unknown := set(asked) - {*ENGINES, "job"}:
        raise typer.BadParameter(f"No engine is named {', '.join(sorted(unknown))}.")
    results: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="actonce-audit-") as place:
        root = Path(place, "records")
        messages = max(15, round(events / EVENTS_PER_MESSAGE))
        made = write(root, messages)
        for engine in asked:
            sys.stderr.write(f"{engine} …\n")
            row = run_engine(engine, root, Path(place, f"out-{engine}"), runs)
            results[engine] = {"engine": engine} | row
            if "failed" not in row and engine != "plain_read":
                rows, ours = (
                    f"read_parquet('{place}/out-{name}/**/*.parquet', union_by_name = true)"
                    for name in (engine, "audit")
                )
                truth = f"read_json('{truth_of(root)}')"
                wrong = rows_that_differ(rows, truth, ["verdict"])
                results[engine]["wrong_verdicts"] = wrong
                if engine != "audit" and "failed" not in results.get("audit", {"failed": ""}):
                    compared = ["effects", *COUNTS, *TIMES]
                    results[engine]["differing"] = rows_that_differ(rows, ours, compared)
    report = {
        "inputs": {"events": made, "messages": messages},
        "machine": machine("pyspark", "duckdb", "pyarrow"),
        "rows": list(results.values()),
    }
    tell(report, _HEADINGS, as_json=json_, notes=target(results))
    raise typer.Exit(
        int(
            any(
                one.get("wrong_verdicts")
                or (one.get("differing") and one["engine"] not in LOSES_COUNTS)
                for one in results.values()
            )
        )
    )


if __name__ == "__main__":
    typer.run(main)
