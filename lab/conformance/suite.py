"""The suite: which way is tried against which hazard, and what was promised of each."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from lab.conformance.hazards import SCENARIOS, Scenario, scenario
from lab.conformance.stage import Way
from lab.conformance.trial import Trial, run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.known import WAYS
from lab.conformance.ways.known import way as named

Cell = tuple[Way, Scenario]


def published() -> list[Cell]:
    """What the published table has, way by way."""
    return [(way, hazard) for way in WAYS for hazard in SCENARIOS if is_published(way, hazard)]


def is_published(way: Way, hazard: Scenario) -> bool:
    """Whether the published table has it."""
    if hazard.name in way.left_out:
        return False
    return hazard.ways is None or way.name in hazard.ways


def run(cells: Sequence[Cell], *, processes: int) -> Iterator[Trial]:
    """Try cells, side by side, and give the results in their order."""
    names = [(way.name, hazard.name) for way, hazard in cells]
    if len(names) == 1:
        yield _run_named(names[0])
        return
    # Spawned, not forked: a greenlet's stack is not to be inherited.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(_run_named, names)


def _run_named(cell: tuple[str, str]) -> Trial:
    way_name, hazard_name = cell
    return run_trial(named(way_name), scenario(hazard_name))


def surprises(trials: Iterable[Trial]) -> list[str]:
    """Where one of this project's ways did not do what its page says, a sentence each."""
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
