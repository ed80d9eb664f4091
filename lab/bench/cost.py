"""What a message, and a duplicate, costs each way: counted on the embedded AWS, priced by a file.

    python -m lab.bench.cost [--json] [--write]
    python -m lab.bench.cost --from-counts --write     the same counts, new prices

Every strategy runs on an embedded AWS of its own, taken down at the end, and Powertools'
Idempotency beside them; takes some minutes. `--write` keeps the counts in
lab/bench/cost_counts.json and writes docs/strategies/cost.md from them and lab/bench/prices.json.
"""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from actonce.stack.embedded_folder import PROJECT
from lab.bench.costing.counting import count_all
from lab.bench.costing.counts import Counts, read_counts, write_counts
from lab.bench.costing.dollars import Prices, dollars_per_million, read_prices, total
from lab.bench.costing.page import page, with_lock_workflow

COUNTS = PROJECT / "lab" / "bench" / "cost_counts.json"
PRICES = PROJECT / "lab" / "bench" / "prices.json"
PAGE = PROJECT / "docs" / "strategies" / "cost.md"

_VERSIONS = ("ministack", "boto3", "aws-lambda-powertools")


def count() -> Counts:
    """Count everything now, on this machine."""
    error = Console(stderr=True)
    load_before = os.getloadavg()[0]
    counts = count_all(error.print)
    return {
        "counted_on": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cores": os.cpu_count() or 0,
            "load before": round(load_before, 1),
            "load after": round(os.getloadavg()[0], 1),
            "platform": platform.platform(),
        },
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in _VERSIONS},
        "counts": counts,
    }


def main(
    *,
    from_counts: Annotated[
        bool, typer.Option("--from-counts", help="Take the kept counts instead of counting.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the counts, write the page.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count what each way takes, and say what a million messages cost."""
    counts = read_counts(COUNTS) if from_counts else count()
    prices = read_prices(PRICES)
    if write:
        write_counts(COUNTS, counts)
        PAGE.write_text(page(counts, prices))
    if as_json:
        sys.stdout.write(_json(counts, prices) + "\n")
    else:
        Console().print(_summary(counts, prices))


def _json(counts: Counts, prices: Prices) -> str:
    rows = [
        {**row, "dollars_per_million": dollars_per_million(row, prices)}
        for row in with_lock_workflow(counts["counts"])
    ]
    return json.dumps(counts | {"counts": rows})


def _summary(counts: Counts, prices: Prices) -> Table:
    table = Table("way", "batch", "traffic", "dollars a million", title=prices["region"])
    for row in with_lock_workflow(counts["counts"]):
        dollars = total(dollars_per_million(row, prices))
        table.add_row(row["way"], str(row["batch_size"]), row["traffic"], f"{dollars:.2f}")
    return table


if __name__ == "__main__":
    typer.run(main)
