"""A way against a hazard: all its schedules, and the story of the worst."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from lab.conformance.explorer import walk
from lab.conformance.hazards import Scenario
from lab.conformance.machine import Definition
from lab.conformance.process import Event
from lab.conformance.simulated_stack import SimulatedStack, StrategyUnderTest, process_message
from lab.conformance.threads import seen_by_answer
from lab.conformance.verdict import Kind, Verdict, final_state, judge
from lab.conformance.world import World

MOST_RUNS = 200_000
"""Schedules after which a walk is given up."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result.

    Attributes:
        way, scenario: their names.
        worst: the worst verdict.
        counts: how many schedules ended with each; those left out reached a state visited before.
        schedules: all of them.
        is_complete: all schedules were walked.
        story: the shortest with the worst verdict.
    """

    way: str
    scenario: str
    worst: Verdict
    counts: Mapping[Kind, int]
    schedules: int
    is_complete: bool = True
    story: tuple[Event, ...] = field(default=(), compare=False)


def run_trial(
    way: StrategyUnderTest, scenario: Scenario, *, definition: Definition | None = None
) -> Trial:
    """Walk every schedule.

    Args:
        way: the one that is tried.
        scenario: the hazard that it is tried against.
        definition: of the state machine; None: the one that ships.
    """
    machine = definition or process_message()
    new_world = partial(
        World, hazards=scenario.hazards, budget=scenario.budget, pauses=scenario.pauses
    )

    def play(world: World) -> Verdict:
        stack = SimulatedStack(world, way, machine)
        scenario.begin(stack)
        with way.installed(world), seen_by_answer(world):
            world.run()
        verdict = judge(final_state(stack))
        if not scenario.asks_for_order:
            verdict = Verdict(verdict.kind)
        return verdict

    found = walk(new_world, play, MOST_RUNS)
    worst = max(found.verdicts)
    replayed = new_world(found.scripts[worst], keeps_story=True)
    play(replayed)
    counts = Counter[Kind]()
    for verdict in sorted(found.verdicts, reverse=True):
        counts[verdict.kind] += found.verdicts[verdict]
    return Trial(
        way=way.name,
        scenario=scenario.name,
        worst=worst,
        counts=counts,
        schedules=found.schedules,
        is_complete=found.is_complete,
        story=tuple(replayed.story),
    )


def story_lines(story: Sequence[Event]) -> list[str]:
    """A line per event: time, who, what, answer."""
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
