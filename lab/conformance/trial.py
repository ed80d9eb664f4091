"""A way against a hazard: every schedule walked, and the worst of them told."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lab.conformance.explorer import walk
from lab.conformance.hazards import Scenario
from lab.conformance.machine import Definition
from lab.conformance.process import Event
from lab.conformance.stage import Stage, Way, process_message
from lab.conformance.verdict import Verdict, ends, judge
from lab.conformance.world import World

MOST_RUNS = 200_000
"""Schedules after which a walk is given up; a table says so."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it.

    Attributes:
        way, scenario: their names.
        worst: the worst verdict.
        counts: runs that came to their end, by verdict.
        schedules: all runs, those included that came to a moment walked before.
        is_complete: nothing was left out.
        story: the shortest of the worst verdict.
    """

    way: str
    scenario: str
    worst: Verdict
    counts: dict[Verdict, int]
    schedules: int
    is_complete: bool
    story: tuple[Event, ...]


def run_trial(
    way: Way,
    scenario: Scenario,
    *,
    definition: Definition | None = None,
    most_runs: int = MOST_RUNS,
) -> Trial:
    """Walk every schedule.

    Args:
        way: that is tried.
        scenario: what it is tried against.
        definition: of the state machine; the one that ships.
        most_runs: schedules after which the walk is given up.
    """
    machine = definition or process_message()
    new_world = partial(
        World, hazards=scenario.hazards, budget=scenario.budget, pauses=scenario.pauses
    )

    def play(world: World) -> Verdict:
        stage = Stage(world, way, machine)
        scenario.begin(stage)
        with way.installed(world):
            world.run()
        verdict = judge(ends(stage))
        if not scenario.asks_for_order:
            verdict = Verdict(verdict.kind)
        return verdict

    found = walk(new_world, play, most_runs)
    worst = max(found.verdicts)
    told_again = new_world(found.scripts[worst], telling=True)
    play(told_again)
    return Trial(
        way=way.name,
        scenario=scenario.name,
        worst=worst,
        counts=dict(sorted(found.verdicts.items(), reverse=True)),
        schedules=found.schedules,
        is_complete=found.is_complete,
        story=tuple(told_again.story),
    )


def told(story: Sequence[Event]) -> list[str]:
    """A story in lines: time, who, what, answer."""
    return [
        f"{_time(event.at):>8}  {event.who}: {event.what}"
        + (f"  ->  {event.answer}" if event.answer else "")
        for event in story
    ]


def _time(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    if seconds < 3600:
        return f"{seconds:g} s"
    hours = seconds / 3600
    return f"{hours:g} h" if hours < 48 else f"{hours / 24:g} d"
