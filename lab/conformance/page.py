"""The tables of docs/conformance.md, made of found.json."""

import textwrap
from collections.abc import Iterable, Sequence

from actonce.stack.embedded_folder import PROJECT
from lab.conformance.found import Found
from lab.conformance.hazards import SCENARIOS, Scenario
from lab.conformance.strategies.known import WAYS
from lab.conformance.trial import Trial
from lab.conformance.verdict import Kind, Verdict
from lab.pages import table, with_tables

PAGE = PROJECT / "docs" / "conformance.md"

Column = tuple[str, tuple[str, ...]]
"""A title, and the names of ways. A cell shows the first of them that was tried; below its table
the page says where the others differ."""

RIVALS = tuple((way.title, (way.name,)) for way in WAYS if not way.is_ours)
OURS: tuple[Column, ...] = (
    ("Step Functions", ("step-functions",)),
    ("FIFO queue", ("step-functions-fifo",)),
    ("executions for trouble only", ("on-trouble", "on-trouble-fifo")),
    (
        "lease",
        ("lease-fenced", "lease", "lease-idempotent", "lease-fenced-fifo"),
    ),
)


def render(found: Found) -> str:
    """The page with its tables written anew."""
    survived = [hazard for hazard in SCENARIOS if _is_survived_by_all(hazard, found)]
    tables = {
        "rivals": _table(SCENARIOS, RIVALS, found),
        "ours": _table([hazard for hazard in SCENARIOS if hazard not in survived], OURS, found),
        "survived": textwrap.fill(f"{'; '.join(hazard.title for hazard in survived)}.", 100),
        "variants": _variants(found),
    }
    return with_tables(PAGE.read_text(), tables)


def _is_survived_by_all(hazard: Scenario, found: Found) -> bool:
    """Whether no column of ours has anything else to show of it; of order each has."""
    cells = (_of_column(ways, hazard, found) for _, ways in OURS)
    return not hazard.asks_for_order and {cell.worst.kind for cell in cells if cell} == {
        Kind.SURVIVED
    }


def _table(hazards: Iterable[Scenario], columns: Sequence[Column], found: Found) -> str:
    """A row per hazard."""
    rows = []
    for hazard in hazards:
        cells = [_of_column(ways, hazard, found) for _, ways in columns]
        if any(cells):
            marks = (_mark(cell.worst, hazard) if cell else "" for cell in cells)
            rows.append([hazard.title, *marks])
    return table(["", *(title for title, _ in columns)], rows)


def _of_column(ways: Iterable[str], hazard: Scenario, found: Found) -> Trial | None:
    cells = (found.get((way, hazard.name)) for way in ways)
    return next((cell for cell in cells if cell is not None), None)


def _mark(verdict: Verdict, hazard: Scenario) -> str:
    if hazard.asks_for_order and verdict.kind == Kind.SURVIVED:
        return "out of order" if verdict.is_out_of_order else "in order"
    name = verdict.kind.name.lower()
    return f"**{name}**" if verdict.kind in (Kind.LOST, Kind.TWICE) else name


def _variants(found: Found) -> str:
    """Where a way differs from its column."""
    titles = {way.name: way.title.removeprefix("ActOnce: ") for way in WAYS}
    lines = []
    for _, ways in OURS:
        for way in ways[1:]:
            differences = []
            for hazard in SCENARIOS:
                cell, of_column = found.get((way, hazard.name)), _of_column(ways, hazard, found)
                if cell and of_column and cell.worst != of_column.worst:
                    differences.append(f"{hazard.title}, {_mark(cell.worst, hazard)}")
            lines.append(f"- {titles[way]}: {'; '.join(differences) or 'as its column'}.")
    return "\n".join(lines)
