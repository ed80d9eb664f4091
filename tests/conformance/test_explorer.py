"""The explorer and its world: that they walk everything, once, and tell what they found."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from lab.conformance.explorer import walk
from lab.conformance.hazards import scenario
from lab.conformance.process import Hazard, Process
from lab.conformance.stage import Stage, Way, process_message
from lab.conformance.trial import run_trial
from lab.conformance.verdict import ends, judge
from lab.conformance.ways.locks import LEASE_WAYS
from lab.conformance.ways.step_functions import STEP_FUNCTIONS
from lab.conformance.world import World
from tests.conformance.handlers import NAIVE_LEDGER


class _Log:
    """What steps were taken, in their order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def state(self) -> tuple[str, ...]:
        return tuple(self.lines)


def _logs_of_every_schedule(
    set_up: Callable[[World, _Log], None], **world_options: Any
) -> set[tuple[str, ...]]:
    logs: set[tuple[str, ...]] = set()

    def run(world: World) -> str:
        log = _Log()
        world.stores = [log]
        set_up(world, log)
        world.run()
        logs.add(log.state())
        return ""

    walk(lambda script, seen: World(script, seen=seen, **world_options), run, 10_000)
    return logs


def _two_steps(world: World, log: _Log, name: str) -> Callable[[], None]:
    def code() -> None:
        for number in (1, 2):
            did = f"{name}{number}"
            world.step(did, partial(log.lines.append, did))

    return code


def test_every_interleaving_of_two_processes_is_walked() -> None:
    def set_up(world: World, log: _Log) -> None:
        for name in ("a", "b"):
            world.spawn(Process(name), _two_steps(world, log, name))

    assert _logs_of_every_schedule(set_up) == {
        ("a1", "a2", "b1", "b2"),
        ("a1", "b1", "a2", "b2"),
        ("a1", "b1", "b2", "a2"),
        ("b1", "a1", "a2", "b2"),
        ("b1", "a1", "b2", "a2"),
        ("b1", "b2", "a1", "a2"),
    }


def test_a_crash_is_tried_before_each_step_and_ends_the_process() -> None:
    def set_up(world: World, log: _Log) -> None:
        world.spawn(Process("a"), _two_steps(world, log, "a"))

    logs = _logs_of_every_schedule(set_up, hazards=(Hazard.CRASH,), budget=1)

    assert logs == {(), ("a1",), ("a1", "a2")}


def test_a_killed_process_takes_no_step_while_its_stack_unwinds() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            try:
                world.step("work", lambda: log.lines.append("work"))
            finally:
                world.step("clean up", lambda: log.lines.append("clean up"))

        world.spawn(Process("a"), code)

    logs = _logs_of_every_schedule(set_up, hazards=(Hazard.CRASH,), budget=1)

    assert logs == {(), ("work",), ("work", "clean up")}


def test_a_process_whose_time_is_over_takes_no_further_step() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            world.step("early", lambda: log.lines.append("early"))
            world.sleep(30)
            world.step("late", lambda: log.lines.append("late"))

        world.spawn(Process("lambda", deadline=30_000), code)
        world.spawn(Process("worker"), code)

    assert _logs_of_every_schedule(set_up) == {("early", "early", "late")}


def test_a_pause_lets_others_go_on_and_time_pass() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            before = world.monotonic()
            world.step("work", lambda: log.lines.append(f"{world.now / 1000 - before:g}"))

        world.spawn(Process("a"), code)

    logs = _logs_of_every_schedule(set_up, hazards=(Hazard.PAUSE,), budget=1, pauses=(5_000,))

    assert logs == {("0",), ("5",)}


def test_tasks_of_one_process_share_its_memory_in_every_order() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            shared: list[str] = []

            def thread() -> None:
                world.sleep(1)
                shared.append("thread")

            world.start_task(thread)
            world.sleep(1)
            shared.append("main")
            world.step("tell", lambda: log.lines.append(shared[0]))

        world.spawn(Process("a"), code)

    assert _logs_of_every_schedule(set_up) == {("thread",), ("main",)}


def test_each_machine_has_a_wall_clock_of_its_own() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            log.lines.append(f"{world.wall():%H:%M}")

        world.spawn(Process("right"), code)
        world.spawn(Process("ahead", wall_offset=300_000), code)

    assert _logs_of_every_schedule(set_up) == {("09:00", "09:05")}


def test_what_never_comes_to_rest_is_an_error() -> None:
    def set_up(world: World, log: _Log) -> None:
        def code() -> None:
            while True:
                world.step("again", lambda: None)

        world.spawn(Process(f"endless {len(log.lines)}"), code)

    with pytest.raises(RuntimeError, match="does not come to rest"):
        _logs_of_every_schedule(set_up)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        (NAIVE_LEDGER, "twice-at-once"),
        (NAIVE_LEDGER, "effect-unheard"),
        (LEASE_WAYS[0], "zombie"),
        (STEP_FUNCTIONS, "effect-late"),
    ],
)
def test_what_is_walked_once_only_changes_no_verdict(way: Way, name: str) -> None:
    """Every schedule, with nothing left out because it had been walked, ends as one that was."""
    hazard = scenario(name)
    assert hazard is not None
    definition = process_message()

    def new_world(script: Sequence[int], _: object) -> World:
        return World(script, hazards=hazard.hazards, budget=hazard.budget, pauses=hazard.pauses)

    def play(world: World) -> Any:
        stage = Stage(world, way, definition)
        hazard.begin(stage)
        with stage.playing():
            world.run()
        return judge(ends(stage)).kind

    everything = walk(new_world, play, 1_000)

    assert everything.abandoned == 0
    once = run_trial(way, hazard)
    assert {verdict.kind for verdict in once.counts} >= set(everything.verdicts)
    assert once.schedules < everything.schedules


def test_a_walk_that_is_given_up_says_so() -> None:
    def set_up(world: World) -> str:
        for name in "abc":
            world.spawn(Process(name), _two_steps(world, _Log(), name))
        world.run()
        return ""

    found = walk(lambda script, seen: World(script, seen=seen), set_up, 3)

    assert not found.is_complete
    assert found.schedules == 3
