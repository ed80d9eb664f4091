"""The suite: which ways are tried against which hazards, and whether they keep their promises."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from lab.conformance.hazards import SCENARIOS, Scenario, find_scenario
from lab.conformance.simulated_stack import StrategyUnderTest
from lab.conformance.strategies.known import WAYS, find_way
from lab.conformance.trial import Trial, run_trial
from lab.conformance.verdict import Kind

Pair = tuple[StrategyUnderTest, Scenario]


def published() -> list[Pair]:
    """The pairs of the published tables, way by way."""
    return [(way, hazard) for way in WAYS for hazard in SCENARIOS if is_published(way, hazard)]


def is_published(way: StrategyUnderTest, hazard: Scenario) -> bool:
    """Whether the published tables have this pair."""
    is_meant = hazard.ways is None or way.name in hazard.ways
    return is_meant and hazard.name not in way.left_out


def run(pairs: Sequence[Pair], *, processes: int) -> Iterator[Trial]:
    """Try pairs side by side; the results come in their order."""
    names = [(way.name, hazard.name) for way, hazard in pairs]
    if len(names) == 1:
        yield _run_named(names[0])
        return
    # Spawned, not forked, so that no greenlet's stack is inherited.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(_run_named, names)


def _run_named(names: tuple[str, str]) -> Trial:
    way_name, hazard_name = names
    return run_trial(find_way(way_name), find_scenario(hazard_name))


def surprises(trials: Iterable[Trial]) -> list[str]:
    """A sentence for each result of this project's ways that its page does not promise."""
    ways = {way.name: way for way in WAYS}
    found: list[str] = []
    for trial in trials:
        way = ways[trial.way]
        is_broken = trial.worst.kind in (Kind.LOST, Kind.TWICE)
        cell = f"{trial.way} against {trial.scenario}"
        if way.is_ours and is_broken and trial.scenario not in way.cannot:
            found.append(f"{cell}: {trial.worst.kind.name.lower()}, and its page promises better.")
        if way.is_ours and not is_broken and trial.is_complete and trial.scenario in way.cannot:
            found.append(f"{cell}: it survives, and its page says that it cannot.")
        if not trial.is_complete:
            found.append(f"{cell}: given up after {trial.schedules:,} schedules.")
    return found
