"""The explorer and its world: that they walk everything, once, and tell what they found."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from lab.conformance.explorer import walk
from lab.conformance.hazards import find_scenario
from lab.conformance.process import Hazard, Process
from lab.conformance.simulated_stack import SimulatedStack, StrategyUnderTest, process_message
from lab.conformance.strategies.lease import LEASE_WAY
from lab.conformance.strategies.step_functions import STEP_FUNCTIONS
from lab.conformance.trial import run_trial
from lab.conformance.verdict import final_state, judge
from lab.conformance.world import World


class _Log:
    """What steps were taken, in their order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def state(self) -> tuple[str, ...]:
        return tuple(self.lines)


Code = Callable[[World, _Log], None]


def _steps(*names: str) -> Code:
    def code(world: World, log: _Log) -> None:
        for name in names:
            world.step(name, partial(log.lines.append, name))

    return code


def _clean_up(world: World, log: _Log) -> None:
    try:
        _steps("work")(world, log)
    finally:
        _steps("clean up")(world, log)


def _early_and_late(world: World, log: _Log) -> None:
    _steps("early")(world, log)
    world.sleep(30)
    _steps("late")(world, log)


def _timed(world: World, log: _Log) -> None:
    before = world.monotonic()
    world.step("work", lambda: log.lines.append(f"{world.now / 1000 - before:g} s later"))


def _with_a_thread(world: World, log: _Log) -> None:
    shared: list[str] = []

    def thread() -> None:
        world.sleep(1)
        shared.append("thread")

    world.start_task(thread)
    world.sleep(1)
    shared.append("main")
    world.step("tell", lambda: log.lines.append(shared[0]))


def _clock(world: World, log: _Log) -> None:
    log.lines.append(f"{world.wall():%H:%M}")


def _endless(world: World, _: _Log) -> None:
    while True:
        world.step("again", lambda: None)


def _logs(processes: Sequence[tuple[Process, Code]], options: dict[str, Any]) -> set[str]:
    """What was done in each schedule."""
    logs: set[str] = set()

    def run(world: World) -> str:
        log = _Log()
        world.stores = [log]
        for process, code in processes:
            world.spawn(copy.deepcopy(process), partial(code, world, log))
        world.run()
        logs.add(", ".join(log.lines))
        return ""

    walk(lambda script, seen: World(script, seen=seen, **options), run, 10_000)
    return logs


_ONE_CRASH = {"hazards": (Hazard.CRASH,), "budget": 1}
_ONE_PAUSE = {"hazards": (Hazard.PAUSE,), "budget": 1, "pauses": (5_000,)}


@pytest.mark.parametrize(
    ("processes", "options", "logs"),
    [
        pytest.param(
            [(Process("a"), _steps("a1", "a2")), (Process("b"), _steps("b1", "b2"))],
            {},
            {
                *("a1, a2, b1, b2", "a1, b1, a2, b2", "a1, b1, b2, a2"),
                *("b1, a1, a2, b2", "b1, a1, b2, a2", "b1, b2, a1, a2"),
            },
            id="every interleaving of two processes is walked",
        ),
        pytest.param(
            *([(Process("a"), _steps("a1", "a2"))], _ONE_CRASH, {"", "a1", "a1, a2"}),
            id="a crash is tried before each step, and ends the process",
        ),
        pytest.param(
            *([(Process("a"), _clean_up)], _ONE_CRASH, {"", "work", "work, clean up"}),
            id="a killed process takes no step while its stack unwinds",
        ),
        pytest.param(
            [(Process("a", deadline=30_000), _early_and_late), (Process("b"), _early_and_late)],
            *({}, {"early, early, late"}),
            id="a process whose time is over takes no further step",
        ),
        pytest.param(
            *([(Process("a"), _timed)], _ONE_PAUSE, {"0 s later", "5 s later"}),
            id="a pause lets time pass",
        ),
        pytest.param(
            *([(Process("a"), _with_a_thread)], {}, {"thread", "main"}),
            id="tasks of one process share its memory, in every order",
        ),
        pytest.param(
            [(Process("right"), _clock), (Process("ahead", wall_offset=300_000), _clock)],
            *({}, {"09:00, 09:05"}),
            id="each machine has a wall clock of its own",
        ),
    ],
)
def test_all_that_can_happen_is_walked(
    processes: Sequence[tuple[Process, Code]], options: dict[str, Any], logs: set[str]
) -> None:
    assert _logs(processes, options) == logs


def test_what_never_comes_to_rest_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="does not come to rest"):
        _logs([(Process("endless"), _endless)], {})


@pytest.mark.parametrize(
    ("way", "name"),
    [(LEASE_WAY, "twice-at-once"), (STEP_FUNCTIONS, "effect-late")],
)
def test_what_is_walked_once_only_changes_no_verdict(way: StrategyUnderTest, name: str) -> None:
    """Every schedule, with nothing left out because it had been walked, ends as one that was."""
    hazard = find_scenario(name)
    definition = process_message()

    def new_world(script: Sequence[int], **_: object) -> World:
        return World(script, hazards=hazard.hazards, budget=hazard.budget, pauses=hazard.pauses)

    def play(world: World) -> Any:
        stack = SimulatedStack(world, way, definition)
        hazard.begin(stack)
        with way.installed(world):
            world.run()
        return judge(final_state(stack)).kind

    everything = walk(new_world, play, 1_000)

    assert everything.abandoned == 0
    once = run_trial(way, hazard)
    assert set(once.counts) >= set(everything.verdicts)
    assert once.schedules < everything.schedules


def test_what_is_no_task_takes_no_step() -> None:
    world = World()
    world.at(0, "timer", lambda: world.sleep(1))

    with pytest.raises(RuntimeError, match="no task is running"):
        world.run()


def test_a_walk_that_is_given_up_says_so() -> None:
    def set_up(world: World) -> str:
        for name in "abc":
            world.spawn(Process(name), partial(_steps("1", "2"), world, _Log()))
        world.run()
        return ""

    found = walk(lambda script, seen: World(script, seen=seen), set_up, 3)

    assert not found.is_complete
    assert found.schedules == 3
