"""A night's audit of one day among many: seconds of CPU beside that day alone.

    python -m lab.bench.nights [--messages 3000] [--days 1,30,100] [--from-raw 30]

Makes seeded days of JSON Lines, and judges the last of them: in a folder of its own, with what was
kept of so many days before it, and from all their records. Each is `actonce audit` as a person or
a job runs it, from its start to its page, in a process of its own; CPU seconds are those of all its
processes. The rows of a night must be those of the judgement from the records: exit status 1 if
they are not.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.dataset as ds
import typer
from rich.table import Table

from lab.bench.records import FIRST_DAY, write
from lab.bench.report import figures, machine, tell
from lab.bench.whole_cpu import cost_of


@dataclass(frozen=True, slots=True)
class Night:
    """One measured audit of the last day.

    Attributes:
        days: in its reach, itself among them.
        way: `alone`, `kept` or `from raw`.
        read: days whose records were read.
        wall: seconds.
        cpu: seconds.
    """

    days: int
    way: str
    read: int
    wall: float
    cpu: float


def audited(root: Path, out: Path, day: str, *more: str) -> tuple[float, float, int]:
    """Wall and CPU seconds of one audit, and how many days it read.

    Raises:
        SystemExit: it did not come to its end.
    """
    actonce = str(Path(sys.executable).with_name("actonce"))
    command = [actonce, "audit", str(root), "--day", day, "--out", str(out), "--json", *more]
    cost = cost_of(command)
    if cost.status == 2:
        raise SystemExit(cost.err)
    return cost.wall, cost.cpu, int(json.loads(cost.out)["read"]["days_read"])


def rows(out: Path, day: str) -> pa.Table:
    """The rows of a day, by message."""
    table = ds.dataset(out / "messages" / f"day={day}", exclude_invalid_files=True).to_table()
    return table.sort_by("message_id")


def main(
    messages: Annotated[int, typer.Option(min=15, help="A day.")] = 3_000,
    days: Annotated[str, typer.Option(help="How many, with commas between.")] = "1,30,100",
    from_raw: Annotated[int, typer.Option(help="Read so many and fewer from raw, too.")] = 30,
    runs: Annotated[int, typer.Option(min=1)] = 1,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Make the records, judge, compare and print."""
    counts = sorted(int(count) for count in days.split(","))
    last = (FIRST_DAY + timedelta(days=counts[-1] - 1)).isoformat()
    with tempfile.TemporaryDirectory(prefix="actonce-nights-") as temporary:
        place = Path(temporary)
        root, alone, out = place / "records", place / "alone", place / "out"
        write(root, messages, counts[-1])
        for stream in root.iterdir():
            shutil.copytree(stream / f"dt={last}", alone / stream.name / f"dt={last}")
        nights, wrong = [], 0
        audited(root, out, last)  # all days are kept from here on
        size = sum(file.stat().st_size for file in (out / "cache").rglob("*") if file.is_file())
        for _ in range(runs):
            only = place / "out-alone"
            shutil.rmtree(only, ignore_errors=True)
            wall, cpu, read = audited(alone, only, last)
            nights.append(Night(1, "alone", read, wall, cpu))
            for count in counts:
                reach = ("--reach", str(count - 1))
                (out / "cache" / f"{last}.manifest").unlink()  # as on the evening before
                wall, cpu, read = audited(root, out, last, *reach)
                nights.append(Night(count, "kept", read, wall, cpu))
                if count <= from_raw:
                    again = place / "out-raw"
                    wall, cpu, read = audited(root, again, last, *reach, "--from-raw")
                    nights.append(Night(count, "from raw", read, wall, cpu))
                    wrong += not rows(out, last).equals(rows(again, last))
    inputs = {
        "messages_a_day": messages,
        "kept_megabytes_a_day": round(size / 1e6 / counts[-1], 2),
        "nights_that_differ": wrong,
    }
    report = {"inputs": inputs, "machine": machine("pyspark")}
    tell(report | {"nights": [asdict(one) for one in nights]}, _table(nights), as_json=json_)
    raise typer.Exit(int(wrong > 0))


def _table(nights: list[Night]) -> Table:
    table = figures("days", "way", "days read", "wall s", "CPU s", "beside alone")
    best = min(night.cpu for night in nights if night.way == "alone")
    for night in nights:
        beside = f"{night.cpu / best:.2f}"
        numbers = (f"{night.wall:.1f}", f"{night.cpu:.1f}", beside)
        table.add_row(str(night.days), night.way, str(night.read), *numbers)
    return table


if __name__ == "__main__":
    typer.run(main)
