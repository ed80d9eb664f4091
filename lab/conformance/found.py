"""What the suite found when it last walked everything: found.json, a line per cell.

`python -m lab.conformance --write` writes it; the page is made of it, and the real level is held
against it. Tests walk the ways again and compare.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.conformance.trial import Trial
from lab.conformance.verdict import Kind, Verdict

FOUND = Path(__file__).with_name("found.json")

Name = tuple[str, str]
"""Of a cell: the names of its way and of its hazard."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A way against a hazard.

    Attributes:
        worst: of its schedules.
        ends: how many schedules came to each end; those left out came to a moment walked before.
        schedules: all of them.
    """

    worst: Verdict
    ends: Mapping[Kind, int]
    schedules: int

    @classmethod
    def of(cls, trial: Trial) -> "Cell":
        """What came of a trial."""
        ends = Counter[Kind]()
        for verdict, count in trial.counts.items():
            ends[verdict.kind] += count
        return cls(trial.worst, dict(ends), trial.schedules)


def as_json(trial: Trial) -> dict[str, Any]:
    """The object that is written of a trial."""
    cell = Cell.of(trial)
    return {
        "way": trial.way,
        "hazard": trial.scenario,
        "worst": cell.worst.kind.name.lower(),
        "out_of_order": cell.worst.is_out_of_order,
        "ended": {kind.name.lower(): cell.ends[kind] for kind in sorted(cell.ends)},
        "schedules": cell.schedules,
    }


def write(trials: Iterable[Trial]) -> None:
    """Keep what came of every published cell, in the order of the trials."""
    FOUND.write_text("[\n" + ",\n".join(json.dumps(as_json(one)) for one in trials) + "\n]\n")


def read() -> dict[Name, Cell]:
    """What `write` has kept."""
    return {
        (one["way"], one["hazard"]): Cell(
            Verdict(Kind[one["worst"].upper()], one["out_of_order"]),
            {Kind[name.upper()]: count for name, count in one["ended"].items()},
            one["schedules"],
        )
        for one in json.loads(FOUND.read_text())
    }
