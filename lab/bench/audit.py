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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.table import Table

from lab.bench.auditing.engines import ENGINES
from lab.bench.auditing.rules import COUNTS, TIMES
from lab.bench.records import truth_of, write
from lab.bench.report import figures, machine, tell
from lab.bench.whole_cpu import adopt_all, cost_of, wait_for_all

TARGETS = {"plain_read": 2.5}
"""At most so many times the other's warm CPU seconds may the audit take."""
LOSES_COUNTS = frozenset({"naive"})
"""Drops exact duplicates, so its counts are too low; its verdicts are to be right all the same."""
EVENTS_PER_MESSAGE = 6.5

Seconds = dict[str, float]
"""`wall` and `cpu`."""


@dataclass
class Measured:
    """One engine's run: seconds, megabytes, and rows that differ.

    Attributes:
        cold: from the process' start to the first answer.
        warm: of the best later run; None: there was none.
        peak_mb: resident memory at most.
        wrong_verdicts: rows whose verdict is not the planted one, or that are missing or extra.
        differing: rows whose counts or times are not the audit's; None: not compared.
        failed: why there is no answer.
    """

    engine: str
    cold: Seconds | None = None
    warm: Seconds | None = None
    peak_mb: float | None = None
    wrong_verdicts: int | None = None
    differing: int | None = None
    failed: str | None = None


def run_engine(engine: str, root: Path, out: Path, runs: int) -> Measured:
    """Run one engine in a process of its own; its rows are in `out`."""
    if engine == "job":
        return _job(root, out)
    command = [sys.executable, "-m", "lab.bench.auditing.engines", engine, str(root), str(out)]
    command += ["--runs", str(runs + 1)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    wait_for_all()
    if ran.returncode:
        return Measured(engine, failed=_reason(ran.stderr))
    told = json.loads(ran.stdout.splitlines()[-1])
    first, *later = told["runs"]
    return Measured(
        engine,
        cold={name: told["ready"][name] + first[name] for name in first},
        warm=min(later, key=lambda one: float(one["cpu"])) if later else None,
        peak_mb=told["peak_mb"],
    )


def _job(root: Path, out: Path) -> Measured:
    """`actonce audit`, whose JVM outlives it and is waited for here."""
    place = out.with_name("job")
    command = [str(Path(sys.executable).with_name("actonce")), "audit", str(root), "--json"]
    ran = cost_of([*command, "--out", str(place)])
    if ran.status not in {0, 1}:  # 1: it has found the alarms that were planted
        return Measured("job", failed=_reason(ran.err))
    if not (place / "report.html").exists():
        return Measured("job", failed="there is no page")
    shutil.move(place / "messages", out)
    return Measured("job", cold={"wall": ran.wall, "cpu": ran.cpu})


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


def targets(results: dict[str, Measured]) -> list[dict[str, Any]]:
    """The audit's warm CPU beside each rival's, and what was to be reached."""
    ours = results.get("audit")
    if ours is None or ours.warm is None:
        return []
    return [
        {
            "beside": name,
            "ratio": round(ours.warm["cpu"] / other.warm["cpu"], 2),
            "at_most": limit,
            "met": ours.warm["cpu"] <= limit * other.warm["cpu"],
        }
        for name, limit in TARGETS.items()
        if (other := results.get(name)) is not None and other.warm is not None
    ]


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
    results: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(prefix="actonce-audit-") as place:
        root = Path(place, "records")
        messages = max(15, round(events / EVENTS_PER_MESSAGE))
        made = write(root, messages)
        for engine in asked:
            sys.stderr.write(f"{engine} …\n")
            measured = run_engine(engine, root, Path(place, f"out-{engine}"), runs)
            results[engine] = measured
            if measured.failed is None and engine != "plain_read":
                rows, ours = (
                    f"read_parquet('{place}/out-{name}/**/*.parquet', union_by_name = true)"
                    for name in (engine, "audit")
                )
                truth = f"read_json('{truth_of(root)}')"
                measured.wrong_verdicts = rows_that_differ(rows, truth, ["verdict"])
                audited = results.get("audit")
                if engine != "audit" and audited is not None and audited.failed is None:
                    compared = ["effects", *COUNTS, *TIMES]
                    measured.differing = rows_that_differ(rows, ours, compared)
            sys.stderr.write(f"  {json.dumps(asdict(measured))}\n")
    met = targets(results)
    report = {
        "inputs": {"events": made, "messages": messages},
        "machine": machine("pyspark", "duckdb", "pyarrow"),
        "engines": [asdict(one) for one in results.values()],
        "targets": met,
    }
    tell(report, _table(results), as_json=json_, notes=map(_said, met))
    wrong = any(
        one.wrong_verdicts or (one.differing and one.engine not in LOSES_COUNTS)
        for one in results.values()
    )
    raise typer.Exit(int(wrong))


def _said(target: dict[str, Any]) -> str:
    word = "met" if target["met"] else f"missed by {target['ratio'] / target['at_most']:.2f}x"
    return f"audit / {target['beside']}: {target['ratio']} of at most {target['at_most']}, {word}"


def _table(results: dict[str, Measured]) -> Table:
    table = figures(
        "engine", "cold wall s", "cold CPU s", "warm wall s", "warm CPU s", "peak MB",
        "wrong verdicts", "other rows differ",
    )  # fmt: skip
    for one in results.values():
        if one.failed:
            table.add_row(one.engine, f"FAILED: {one.failed}", style="red")
            continue
        times = [
            "" if times is None else f"{times[name]:.1f}"
            for times in (one.cold, one.warm)
            for name in ("wall", "cpu")
        ]
        peak = "" if one.peak_mb is None else f"{one.peak_mb:,.0f}"
        wrong = ["" if n is None else str(n) for n in (one.wrong_verdicts, one.differing)]
        table.add_row(one.engine, *times, peak, *wrong)
    return table


if __name__ == "__main__":
    typer.run(main)
