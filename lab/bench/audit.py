"""The audit beside other ways to the same verdicts: seconds of CPU, memory, and what is right.

    python -m lab.bench.audit [--events 10_000_000] [--form jsonl] [--engines audit,duckdb] [--json]

Generates seeded records, as Parquet or as JSON Lines, then runs each engine in a process of its
own: once cold, from the start of the process, and `--runs` times more, warm; the best of these
counts. Every engine's verdicts are compared with the planted truth, row by row, and its counts and
times with the audit's. An engine that cannot run is reported with its reason. Exit status 1 if any
verdict or count is wrong; a target that is missed is printed, not failed.

`job` is `actonce audit` as a person runs it, from its start to its page. CPU seconds are those of
the whole process tree, so other work on the machine disturbs them less than the wall's.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import typer
from rich.table import Table

from lab.bench.audit_engines.rules import COUNTS, TIMES
from lab.bench.audit_engines.task import ENDINGS, Form
from lab.bench.records import generate, truth_of, write_jsonl, write_parquet
from lab.bench.report import figures, machine, tell
from lab.bench.whole_cpu import adopt_all, cost_of, wait_for_all

ENGINES = ("plain_read", "audit", "naive", "duckdb", "polars", "sail", "job")
NOT_OF_LINES = ("polars", "sail")
"""Engines that read Parquet only."""
TARGETS: dict[Form, dict[str, float]] = {
    "parquet": {"plain_read": 4.5, "naive": 0.25, "duckdb": 1.8},
    "jsonl": {"plain_read": 2.5},
}
"""At most so many times the other's warm CPU seconds may the audit take."""
LOSES_COUNTS = frozenset({"naive"})
"""Drops exact duplicates, so its counts are too low; its verdicts are to be right all the same."""
EVENTS_PER_MESSAGE = 6.44
_PART = 1_500_000  # messages made at a time, so that memory does not grow with the whole


@dataclass
class Measured:
    """One engine's run: seconds, megabytes, and rows that differ.

    Attributes:
        ready: seconds of wall and CPU until the engine could begin.
        cold: seconds from the process' start to the first answer.
        warm: seconds of the best later run; None: there was none.
        peak_mb: resident memory at most.
        wrong_verdicts: rows whose verdict is not the planted one, or that are missing or extra.
        differing: rows whose counts or times are not the audit's; None: not compared.
        examples: some of the wrong rows.
        failed: why there is no answer.
    """

    engine: str
    ready: dict[str, float] | None = None
    cold: dict[str, float] | None = None
    warm: dict[str, float] | None = None
    peak_mb: float | None = None
    wrong_verdicts: int | None = None
    differing: int | None = None
    examples: list[str] = field(default_factory=list)
    failed: str | None = None


def make_records(root: Path, events: int, seed: int, days: int, form: Form) -> tuple[int, int]:
    """Write the streams and the planted verdicts; how many messages and events they are."""
    messages, made, truths = max(15, round(events / EVENTS_PER_MESSAGE)), 0, []
    write = write_parquet if form == "parquet" else write_jsonl
    for part, first in enumerate(range(0, messages, _PART)):
        count = max(15, min(_PART, messages - first))
        records = generate(count, seed + part, days, first)
        write(records, root, f"part-{part:03}")
        truths.append(records.truth)
        made += records.events
    truth = pa.concat_tables(truths)
    pq.write_table(truth, truth_of(root))
    return truth.num_rows, made


def run_engine(engine: str, root: Path, out: Path, runs: int, form: Form) -> Measured:
    """Run one engine in a process of its own."""
    if engine == "job":
        return _job(root, out)
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "lab.bench.audit_engines.run", engine, str(root), str(out)]
    command += ["--runs", str(runs + 1), "--form", form]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    wait_for_all()
    if ran.returncode:
        return Measured(engine, failed=_reason(ran.stderr))
    if engine != "plain_read" and not out.exists():
        return Measured(engine, failed="it has written nothing, and reported no error")
    told = json.loads(ran.stdout.splitlines()[-1])
    first, *later = told["runs"]
    return Measured(
        engine,
        ready=told["ready"],
        cold={name: told["ready"][name] + first[name] for name in first},
        warm=min(later, key=lambda one: float(one["cpu"])) if later else None,
        peak_mb=told["peak_mb"],
    )


def _job(root: Path, out: Path) -> Measured:
    """`actonce audit`, whose JVM outlives it and is waited for here."""
    shutil.rmtree(out, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("actonce")), "audit", str(root), "--json"]
    ran = cost_of([*command, "--out", str(out)])
    if ran.status not in {0, 1}:  # 1: it has found the alarms that were planted
        return Measured("job", failed=_reason(ran.err))
    if not (out / "report.html").exists():
        return Measured("job", failed="there is no page")
    return Measured("job", cold={"wall": ran.wall, "cpu": ran.cpu})


def _reason(stderr: str) -> str:
    """The last line that says something, out of a trace."""
    lines = [line.strip(" │╭╰─╮╯") for line in stderr.splitlines()]
    said = [line for line in lines if "Error" in line or "Exception" in line]
    return (said or [line for line in lines if line] or ["no word"])[-1][:300]


def check_verdicts(measured: Measured, out: Path, truth: pa.Table) -> None:
    """Compare verdicts with the planted ones, row by row."""
    found = _rows(out, ["message_id", "verdict"])
    if found["message_id"].equals(truth["message_id"]):
        wrong = pc.not_equal(found["verdict"], truth["verdict"])
        measured.wrong_verdicts = pc.sum(wrong).as_py() + found["verdict"].null_count
        bad = pc.or_kleene(wrong, pc.is_null(found["verdict"]))
        found, planted = found.filter(bad), truth.filter(bad)
        measured.examples = [
            f"{message_id}: {said} instead of {deserved}"
            for message_id, said, deserved in zip(
                found["message_id"][:5].to_pylist(),
                found["verdict"][:5].to_pylist(),
                planted["verdict"][:5].to_pylist(),
                strict=True,
            )
        ]
        return
    ids, planted_ids = (set(table["message_id"].to_pylist()) for table in (found, truth))
    other = sorted(ids ^ planted_ids)
    measured.wrong_verdicts = len(other) + found.num_rows - len(ids)
    measured.examples = [
        f"{message_id}: {'extra' if message_id in ids else 'missing'}" for message_id in other[:5]
    ]


def check_counts(measured: Measured, out: Path, audited: Path) -> None:
    """Compare counts and times with those of the audit, row by row."""
    columns = ["message_id", "effects", *COUNTS, *TIMES]
    ours, theirs = _rows(audited, columns), _rows(out, columns)
    if not ours["message_id"].equals(theirs["message_id"]):
        measured.differing = ours.num_rows
        return
    differs = None
    for name in columns[1:]:
        one, other = (table[name].cast(pa.int64()) for table in (ours, theirs))
        same = pc.fill_null(pc.equal(one, other), fill_value=False)
        unequal = pc.invert(pc.or_(same, pc.and_(pc.is_null(one), pc.is_null(other))))
        if pc.any(unequal).as_py() and len(measured.examples) < 5:
            at = pc.index(unequal, value=True).as_py()
            measured.examples.append(
                f"{ours['message_id'][at]}: {name} {theirs[name][at]}, the audit {ours[name][at]}"
            )
        differs = unequal if differs is None else pc.or_(differs, unequal)
    measured.differing = pc.sum(differs).as_py()


def _rows(out: Path, columns: list[str]) -> pa.Table:
    """An answer, sorted by message id; texts and times in one type, whoever wrote them."""
    table = ds.dataset(out, partitioning="hive", exclude_invalid_files=True).to_table(columns)
    for index, schema in enumerate(table.schema):
        if pa.types.is_large_string(schema.type) or pa.types.is_string_view(schema.type):
            table = table.set_column(index, schema.name, table[index].cast(pa.string()))
        elif pa.types.is_timestamp(schema.type):
            table = table.set_column(
                index, schema.name, table[index].cast(pa.timestamp("ms", schema.type.tz))
            )
    return table.sort_by("message_id").combine_chunks()


def targets(results: dict[str, Measured], form: Form) -> list[dict[str, Any]]:
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
        for name, limit in TARGETS[form].items()
        if (other := results.get(name)) is not None and other.warm is not None
    ]


def main(
    events: Annotated[int, typer.Option(min=100)] = 1_000_000,
    engines: Annotated[
        str | None, typer.Option(help="Which, with commas between  [all that read the form]")
    ] = None,
    form: Form = "parquet",
    runs: Annotated[int, typer.Option(min=0, help="Warm runs.")] = 2,
    seed: int = 1,
    days: Annotated[int, typer.Option(min=1)] = 1,
    folder: Annotated[Path | None, typer.Option(help="Work here, and keep it.")] = None,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Make the records, run the engines, check and print."""
    adopt_all()
    able = [name for name in ENGINES if form == "parquet" or name not in NOT_OF_LINES]
    asked = able if engines is None else engines.split(",")
    unknown = sorted(set(asked) - set(able))
    if unknown:
        raise typer.BadParameter(f"no engine for {form} is named {', '.join(unknown)}: see {able}.")
    with tempfile.TemporaryDirectory(prefix="actonce-audit-") as temporary:
        place = folder or Path(temporary)
        root = place / "records"
        if not truth_of(root).exists():
            make_records(root, events, seed, days, form)
        truth = _sorted_truth(root)
        results: dict[str, Measured] = {}
        for engine in asked:
            sys.stderr.write(f"{engine} …\n")
            out = place / f"out-{engine}"
            measured = results[engine] = run_engine(engine, root, out, runs, form)
            if measured.failed is None and engine != "plain_read":
                check_verdicts(measured, out / "messages" if engine == "job" else out, truth)
                if engine != "audit" and "audit" in results and results["audit"].failed is None:
                    rows = out / "messages" if engine == "job" else out
                    check_counts(measured, rows, place / "out-audit")
            sys.stderr.write(f"  {json.dumps(asdict(measured))}\n")
        size = sum(file.stat().st_size for file in root.rglob(f"*/*{ENDINGS[form]}"))
        inputs = {
            "events": _events(root, form),
            "form": form,
            "messages": truth.num_rows,
            "megabytes": round(size / 1e6),
            "seed": seed,
            "days": days,
        }
    met = targets(results, form)
    report = {
        "inputs": inputs,
        "machine": machine("pyspark", "duckdb", "polars", "pysail", "pyarrow") | {"java": _java()},
        "engines": [asdict(one) for one in results.values()],
        "targets": met,
    }
    notes = [f"{one.engine}: {example}" for one in results.values() for example in one.examples]
    notes += map(_said, met)
    tell(report, _table(results, TARGETS[form]), as_json=json_, notes=notes)
    wrong = any(
        one.wrong_verdicts or (one.differing and one.engine not in LOSES_COUNTS)
        for one in results.values()
    )
    raise typer.Exit(int(wrong))


def _sorted_truth(root: Path) -> pa.Table:
    truth = pq.read_table(truth_of(root)).sort_by("message_id")
    text = [truth[name].cast(pa.string()) for name in ("message_id", "verdict")]
    return pa.table(text, names=["message_id", "verdict"]).combine_chunks()


def _events(root: Path, form: Form) -> int:
    files = root.glob(f"*/*/*{ENDINGS[form]}")
    if form == "parquet":
        return sum(pq.read_metadata(file).num_rows for file in files)
    return sum(gzip.decompress(file.read_bytes()).count(b"\n") for file in files)


def _java() -> str:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    return said.splitlines()[0] if said else "none"


def _said(target: dict[str, Any]) -> str:
    word = "met" if target["met"] else f"missed by {target['ratio'] / target['at_most']:.2f}x"
    return f"audit / {target['beside']}: {target['ratio']} of at most {target['at_most']}, {word}"


def _table(results: dict[str, Measured], beside: Iterable[str]) -> Table:
    table = figures(
        "engine", "cold wall s", "cold CPU s", "warm wall s", "warm CPU s", "peak MB",
        *(f"CPU / {name}" for name in beside), "wrong verdicts", "other rows differ",
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
        ratios = []
        for name in beside:
            other = results.get(name)
            known = one.warm and other and other.warm
            ratios.append(
                f"{one.warm['cpu'] / other.warm['cpu']:.2f}"
                if known and one.warm and other and other.warm
                else ""
            )
        peak = "" if one.peak_mb is None else f"{one.peak_mb:,.0f}"
        wrong = ["" if n is None else str(n) for n in (one.wrong_verdicts, one.differing)]
        table.add_row(one.engine, *times, peak, *ratios, *wrong)
    return table


if __name__ == "__main__":
    typer.run(main)
