"""`actonce conformance`: what each way to deduplicate survives, on every schedule."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from actonce.cli.options import Json
from actonce.cli.tables import print_rows
from actonce.stack import extras
from actonce.stack.sources import in_clone
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, WrongUse

if TYPE_CHECKING:
    from lab.conformance.suite import Cell
    from lab.conformance.trial import Trial


def conformance(
    way: Annotated[list[str] | None, typer.Option(help="Only this way. [all]")] = None,
    hazard: Annotated[list[str] | None, typer.Option(help="Only this hazard. [all]")] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Let one thing more go wrong in each run.")
    ] = False,
    story: Annotated[
        bool,
        typer.Option(
            "--story", help="Say what each hazard is, and tell the shortest of the worst schedules."
        ),
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write what is found, and docs/conformance.md.")
    ] = False,
    json: Json = False,
) -> None:
    """Walk every schedule of every way to deduplicate against every hazard.

    The code that ships runs in this process, on services in memory; nothing is deployed. It needs a
    clone of ActOnce.

    Exit status: 0, this project's ways did what their pages say; 1, one did not, or a walk was
    given up; 2, wrong use.

    Examples:

        actonce conformance --way powertools --hazard crash --story

        actonce conformance --write
    """
    if not in_clone():
        raise WrongUse("actonce conformance needs a clone of ActOnce, and this is none.")
    # Here, for the rivals take longer to import than all else of the command line.
    try:
        from lab.conformance import found, page, suite  # noqa: PLC0415
    except ModuleNotFoundError as error:
        missing = error.name or "more"
        raise WrongUse(extras.told("dev", "actonce conformance", missing)) from error

    if write and (way or hazard or deep):
        raise WrongUse("--write writes the whole page: leave out --way, --hazard and --deep.")
    cells = _cells(way or [], hazard or [])
    trials: list[Trial] = []
    with console.progress("Walking", len(cells)) as bar:
        processes = os.cpu_count() or 1
        for trial in suite.run(cells, extra_budget=int(deep), processes=processes):
            trials.append(trial)
            bar.update(len(trials), text=f"Walking {trial.way}")
    if json:
        console.print_json([_as_json(trial, story=story) for trial in trials])
    else:
        _print(trials, story=story)
    if write:
        found.write(trials)
        page.PAGE.write_text(page.render(found.read()))
        console.say(f"Written: {page.PAGE}")
    surprises = suite.surprises(trials)
    if surprises:
        raise Failed(" ".join(surprises))


def _cells(ways: list[str], hazards: list[str]) -> "list[Cell]":
    from lab.conformance import suite  # noqa: PLC0415 - as above
    from lab.conformance.hazards import SCENARIOS  # noqa: PLC0415
    from lab.conformance.ways.known import WAYS  # noqa: PLC0415

    for asked, known, what in (
        (ways, [one.name for one in WAYS], "way"),
        (hazards, [one.name for one in SCENARIOS], "hazard"),
    ):
        for name in asked:
            if name not in known:
                raise WrongUse(f"There is no {what} {name!r}: there are {', '.join(known)}.")
    return [
        (way, hazard)
        for way in WAYS
        for hazard in SCENARIOS
        if (not ways or way.name in ways)
        and (not hazards or hazard.name in hazards)
        and (suite.is_published(way, hazard) or (way.name in ways and hazard.name in hazards))
    ]


def _print(trials: "list[Trial]", *, story: bool) -> None:
    from lab.conformance.found import Cell  # noqa: PLC0415 - as above
    from lab.conformance.hazards import SCENARIOS  # noqa: PLC0415
    from lab.conformance.trial import told  # noqa: PLC0415

    rows = [
        [
            trial.way,
            trial.scenario,
            _said(trial),
            f"{trial.schedules:,}",
            ", ".join(
                f"{kind.name.lower()} {count:,}" for kind, count in Cell.of(trial).ends.items()
            ),
        ]
        for trial in trials
    ]
    print_rows(["way", "hazard", "worst", "schedules", "ended"], rows)
    if story:
        about = {hazard.name: hazard.about for hazard in SCENARIOS}
        for trial in trials:
            console.out.print()
            console.out.print(f"{trial.way}, {trial.scenario}: {_said(trial)}")
            console.out.print(about[trial.scenario], style="dim", soft_wrap=True)
            for line in told(trial.story):
                console.out.print(line, markup=False)


def _said(trial: "Trial") -> str:
    kind = trial.worst.kind.name.lower()
    return f"{kind}, out of order" if trial.worst.is_out_of_order else kind


def _as_json(trial: "Trial", *, story: bool) -> dict[str, Any]:
    from lab.conformance.found import Cell  # noqa: PLC0415 - as above
    from lab.conformance.trial import told  # noqa: PLC0415

    cell = {"way": trial.way, "hazard": trial.scenario} | Cell.of(trial).as_json()
    cell |= {"complete": trial.is_complete}
    return cell | ({"story": told(trial.story)} if story else {})
