"""What the suite found when it last walked everything: found.json, a line per way and hazard.

`python -m lab.conformance --write` writes it. The page is made from it, and the tests on the
embedded AWS are compared with it. Tests of the suite walk again and compare.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lab.conformance.trial import Trial
from lab.conformance.verdict import Kind, Verdict

FOUND = Path(__file__).with_name("found.json")

Found = Mapping[tuple[str, str], Trial]
"""Complete trials by the names of their way and hazard, without their stories."""


def as_json(trial: Trial) -> dict[str, Any]:
    """A trial as found.json has it."""
    return {
        "way": trial.way,
        "hazard": trial.scenario,
        "worst": trial.worst.kind.name.lower(),
        "out_of_order": trial.worst.is_out_of_order,
        "ended": {kind.name.lower(): trial.counts[kind] for kind in sorted(trial.counts)},
        "schedules": trial.schedules,
    }


def write(trials: Iterable[Trial]) -> None:
    """Write all published trials, in their order."""
    FOUND.write_text("[\n" + ",\n".join(json.dumps(as_json(one)) for one in trials) + "\n]\n")


def read() -> Found:
    """Read what `write` wrote."""
    return {
        (one["way"], one["hazard"]): Trial(
            one["way"],
            one["hazard"],
            Verdict(Kind[one["worst"].upper()], one["out_of_order"]),
            {Kind[name.upper()]: count for name, count in one["ended"].items()},
            one["schedules"],
        )
        for one in json.loads(FOUND.read_text())
    }
