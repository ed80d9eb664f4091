"""What every benchmark prints: its inputs, what it ran on, and its figures."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def machine(*packages: str) -> dict[str, Any]:
    """Cores, CPU, memory in GiB, load of the last minute, platform, and versions of packages."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _cpu_model() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def tell(
    report: Mapping[str, Any],
    headings: Mapping[str, str],
    *,
    as_json: bool,
    notes: Iterable[str] = (),
) -> None:
    """Print one JSON object; or, for a person, its objects, its `rows` as a table, and sentences.

    Args:
        report: a name to an object each, and `rows` to a list of objects. A row that has `failed`
            shows that only; one whose `good` is false is red.
        headings: of the columns, by the names of a row; the first is of names, the others of
            figures.
        as_json: one JSON object.
        notes: the sentences.
    """
    if as_json:
        print(json.dumps(report))
        return
    console = Console(width=200, highlight=False)
    for name, values in report.items():
        if isinstance(values, dict):
            said = ", ".join(f"{key} {value}" for key, value in values.items())
            console.print(f"{name}: {said}", markup=False, soft_wrap=True)
    table = Table(*headings.values(), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in report["rows"]:
        failed = row.get("failed")
        cells = [_said(row.get(name)) for name in headings]
        style = "red" if failed or not row.get("good", True) else None
        table.add_row(*((cells[0], failed) if failed else cells), style=style)
    console.print(table)
    for note in notes:
        console.print(note, markup=False, soft_wrap=True)


def _said(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)
