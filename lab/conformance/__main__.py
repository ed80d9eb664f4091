"""What each way to deduplicate survives, on every schedule.

    python -m lab.conformance [--way NAME] [--hazard NAME] [--story] [--json]
    python -m lab.conformance --write [--way NAME] [--hazard NAME]

Walks every schedule of every way against every hazard, and prints a line for each pair. The code
that ships runs in this process and its children, on services in memory; nothing is deployed. Exit
status: 0, this project's ways did what their pages say; 1, one did not, or a walk was given up; 2,
wrong use.
"""

import json
import os
import sys
from typing import Annotated

import typer

from lab.conformance import found, page, suite
from lab.conformance.hazards import SCENARIOS, find_scenario
from lab.conformance.strategies.known import WAYS
from lab.conformance.trial import Trial, story_lines


def main(
    way: Annotated[list[str] | None, typer.Option(help="Only this one. [all]")] = None,
    hazard: Annotated[list[str] | None, typer.Option(help="Only this one. [all]")] = None,
    story: Annotated[bool, typer.Option(help="Tell the shortest of the worst schedules.")] = False,
    write: Annotated[
        bool,
        typer.Option(help="Write what is found, and the page; the rest stays as it was found."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, a line a pair.")] = False,
) -> None:
    """Walk, print, and write if asked to."""
    trials: list[Trial] = []
    for trial in suite.run(_cells(way, hazard), processes=os.cpu_count() or 1):
        trials.append(trial)
        lines = story_lines(trial.story) if story else []
        if as_json:
            more = {"complete": trial.is_complete} | ({"story": lines} if story else {})
            print(json.dumps(found.as_json(trial) | more), flush=True)
        else:
            about = [find_scenario(trial.scenario).about] if story else []
            print(_line(trial), *about, *lines, sep="\n", flush=True)
    if write:
        known = {**found.read(), **{(trial.way, trial.scenario): trial for trial in trials}}
        pairs = [(way.name, hazard.name) for way, hazard in suite.published()]
        found.write(known[pair] for pair in pairs if pair in known)
        page.PAGE.write_text(page.render(found.read()))
    surprises = suite.surprises(trials)
    print(*surprises, sep="\n", end="\n" if surprises else "", file=sys.stderr)
    raise typer.Exit(int(bool(surprises)))


def _cells(ways: list[str] | None, hazards: list[str] | None) -> list[suite.Pair]:
    """The published pairs of these or of all; a pair named in full need not be published."""
    for wanted, known in ((ways, WAYS), (hazards, SCENARIOS)):
        names = [one.name for one in known]
        if unknown := set(wanted or ()) - set(names):
            raise typer.BadParameter(f"No {', '.join(unknown)}: there are {', '.join(names)}.")
    return [
        (way, hazard)
        for way in WAYS
        for hazard in SCENARIOS
        if (not ways or way.name in ways)
        and (not hazards or hazard.name in hazards)
        and ((ways and hazards) or suite.is_published(way, hazard))
    ]


def _line(trial: Trial) -> str:
    counts = trial.counts.items()
    ended = ", ".join(f"{kind.name.lower()} {count:,}" for kind, count in counts)
    worst = trial.worst.kind.name.lower()
    worst += ", out of order" if trial.worst.is_out_of_order else ""
    return f"{trial.way:22} {trial.scenario:20} {worst:22} {trial.schedules:>8,}: {ended}"


if __name__ == "__main__":
    typer.run(main)
