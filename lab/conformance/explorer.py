"""Walks every schedule of a scenario: every choice in every state, and each state once.

A run replays the choices that lead to a state, and takes the first option from there on. Runs that
differ from the undisturbed one in the fewest choices come first, so the first run that goes wrong
is about the simplest.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lab.conformance.process import AlreadyVisited
from lab.conformance.world import World

Verdict = TypeVar("Verdict", bound=Hashable)
Script = tuple[int, ...]


@dataclass(slots=True)
class Walk(Generic[Verdict]):
    """The result of walking a scenario.

    Attributes:
        verdicts: how many runs ended with each verdict.
        abandoned: runs that reached a state visited before.
        scripts: for each verdict the choices of its shortest run.
        is_complete: every schedule was walked; False: the limit came first.
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    abandoned: int = 0
    scripts: dict[Verdict, Script] = field(default_factory=dict)
    is_complete: bool = True

    @property
    def schedules(self) -> int:
        """All runs, including the abandoned ones."""
        return self.abandoned + sum(self.verdicts.values())


def walk(
    new_world: Callable[..., World],
    run: Callable[[World], Verdict],
    most_runs: int,
) -> Walk[Verdict]:
    """Walk every schedule.

    Args:
        new_world: makes a world from a script, and `seen`: the states visited so far.
        run: sets the scenario up in the world, runs and judges it; lets `AlreadyVisited` pass.
        most_runs: after which it gives up.
    """
    seen: set[Hashable] = set()
    found: Walk[Verdict] = Walk()
    lengths: dict[Verdict, int] = {}
    by_deviations: list[deque[Script]] = [deque([()])]
    deviations = 0
    while deviations < len(by_deviations):
        if not by_deviations[deviations]:
            deviations += 1
            continue
        if found.schedules >= most_runs:
            found.is_complete = False
            break
        world = new_world(by_deviations[deviations].popleft(), seen=seen)
        try:
            verdict = run(world)
        except AlreadyVisited:
            found.abandoned += 1
        else:
            found.verdicts[verdict] += 1
            if world.steps < lengths.get(verdict, world.steps + 1):
                lengths[verdict] = world.steps
                found.scripts[verdict] = tuple(world.taken)
        if world.open and deviations + 1 == len(by_deviations):
            by_deviations.append(deque())
        for position, options in world.open:
            prefix = tuple(world.taken[:position])
            by_deviations[deviations + 1].extend((*prefix, option) for option in range(1, options))
    return found
