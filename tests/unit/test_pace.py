"""Many starters that know nothing of each other start no more than they may together, nor less."""

import heapq
import itertools
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from actonce_core.pace import NotItsTurn, Pace

SECONDS = 600.0
TIME_OUT = 30.0


@dataclass
class Machines:
    """Slots that invocations run in, one after another, and sandboxes that they run in.

    Attributes:
        per_second: that may be started, by all.
        slots: invocations that run side by side, as MaximumConcurrency has it.
        sandboxes: of each slot; an invocation goes to any of them.
        size: gives how many deliveries a batch has.
        between: gives the seconds between two invocations of a slot.
        call: gives the seconds that a start takes.
        startable: share of deliveries that want a turn at all.
    """

    per_second: float
    slots: int
    sandboxes: int
    size: Callable[[], int]
    between: Callable[[], float]
    call: Callable[[], float]
    startable: float = 1.0
    begin: float = 0.0
    now: float = 0.0
    ends: float = 0.0
    starts: list[float] = field(default_factory=list)
    returned: int = 0
    _numbers: Any = field(default_factory=itertools.count)

    def run(self, chance: random.Random) -> None:
        slots: list[Any] = []
        for _ in range(self.slots):
            paces = [self._pace() for _ in range(self.sandboxes)]
            # They begin as the event source mapping has it: not at one moment.
            begin = self.begin + chance.uniform(0, 5)
            heapq.heappush(slots, (begin, next(self._numbers), self._work(paces, chance)))
        while slots:
            self.now, _, work = heapq.heappop(slots)
            if self.now < self.begin + SECONDS:
                heapq.heappush(slots, (next(work), next(self._numbers), work))

    def _pace(self) -> Pace:
        return Pace(
            self.per_second / self.slots,
            lambda: self.ends - self.now,
            lambda: self.now,
            self._wait,
        )

    def _wait(self, seconds: float) -> None:
        self._waited = seconds

    def _work(self, paces: list[Pace], chance: random.Random) -> Generator[float, None, None]:
        while True:
            pace = chance.choice(paces)
            begun, size = self.now, self.size()
            self.ends = begun + TIME_OUT
            pace.begin(size)
            done = begun
            for _ in range(size):  # side by side: all ask for their turns at once
                if chance.random() >= self.startable:
                    continue
                self._waited = 0.0
                try:
                    pace.hold()
                except NotItsTurn:
                    self.returned += 1
                    continue
                self.starts.append(begun + self._waited)
                done = max(done, begun + self._waited + self.call())
            yield done + self.between()

    def rate(self, since: float, until: float) -> float:
        return sum(since <= start < until for start in self.starts) / (until - since)


CASES = {
    "10 a second, 10 starters, full batches": (10, 10, 1, 10, 1.0),
    "the same, sandboxes taking turns": (10, 10, 2, 10, 1.0),
    "the same, five sandboxes a slot": (10, 10, 5, 10, 1.0),
    "batches of any size": (10, 10, 3, 0, 1.0),
    "batches of one": (10, 20, 2, 1, 1.0),
    "200 a second": (200, 20, 2, 10, 1.0),
    "1 a second, 2 starters": (1, 2, 2, 10, 1.0),
    "1 a second, 10 starters: most of a batch goes back": (1, 10, 2, 10, 1.0),
    "a hundred starters": (100, 100, 2, 10, 1.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("overhead", [0.0, 0.05])
def test_the_rate_is_kept_within_a_tenth(name: str, overhead: float) -> None:
    per_second, slots, sandboxes, size, startable = CASES[name]
    chance = random.Random(name)
    machines = Machines(
        per_second,
        slots,
        sandboxes,
        (lambda: size) if size else (lambda: chance.randint(1, 10)),
        lambda: chance.uniform(0, 2 * overhead),
        lambda: chance.uniform(0.01, 0.05),
        startable,
    )
    machines.run(chance)
    rate = machines.rate(60, SECONDS)
    least = 0.9 if size != 1 else 0.8
    assert least * per_second <= rate <= 1.1 * per_second
    # No minute is busier than that, and no second by more than what falls together by chance.
    for since in range(60, int(SECONDS) - 60, 60):
        assert machines.rate(since, since + 60) <= 1.1 * per_second + 1


def test_deliveries_that_need_no_start_do_not_let_the_others_start_faster() -> None:
    chance = random.Random(1)
    machines = Machines(10, 10, 3, lambda: 10, lambda: 0.0, lambda: 0.0, 0.1)
    machines.run(chance)
    assert machines.rate(60, SECONDS) <= 11


def test_a_fleet_that_slept_does_not_begin_with_a_burst() -> None:
    chance = random.Random(1)
    machines = Machines(10, 10, 5, lambda: 10, lambda: 0.02, lambda: 0.02)
    machines.begin = 10_000.0  # the sandboxes were made long before
    machines.run(chance)
    first = [start for start in machines.starts if start < machines.begin + 15]
    assert 0 < len(first) <= 15 * 11


def test_what_does_not_fit_goes_back_at_once_until_its_turn() -> None:
    slept: list[float] = []
    pace = Pace(0.1, lambda: 30.0, lambda: 0.0, slept.append)
    pace.begin(10)
    pace.hold()
    pace.hold()
    with pytest.raises(NotItsTurn) as raised:
        pace.hold()
    assert slept == [10, 20]
    assert raised.value.comes_back_after == 30


def test_a_pace_that_no_invocation_can_keep_is_said() -> None:
    pace = Pace(0.01, lambda: 30.0)
    with pytest.raises(ValueError, match="lower MaximumConcurrency, or raise StarterTimeoutSec"):
        pace.begin(1)
