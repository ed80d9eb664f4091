"""An effect in this process, killed and hurried by the test: a check costs microseconds."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from actonce.adopt.effect_check.calls import AFTER, TIMED_OUT, CallResult, Event

Handler = Callable[[Event], Any]


class Killed(BaseException):
    """Its process is gone."""


class Hung(BaseException):
    """It had not ended in time."""


@dataclass
class World:
    """What is outside of the effect's processes: a provider, a clock.

    `step` is where a process may be killed, or another one come between.
    """

    orders: dict[str, Any] = field(default_factory=dict)
    now: float = 0.0
    took: float = 0.01
    steps: int = 0
    kill_at: int | None = None
    between: Callable[[], object] | None = None
    due: list[tuple[float, Callable[[], Any]]] = field(default_factory=list)
    left: list[tuple[float, Callable[[], Any]]] = field(default_factory=list)
    """As `due`, but gone with the process."""
    slow: float = 0.0

    def step(self) -> None:
        self.steps += 1
        if self.kill_at is not None and self.steps >= self.kill_at:
            raise Killed
        if self.between is not None:
            self.between()

    def later(self, seconds: float, what: Callable[[], Any]) -> None:
        self.due.append((self.now + seconds, what))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for ones in (self.due, self.left):
            due = [what for at, what in ones if at <= self.now]
            ones[:] = [one for one in ones if one[0] > self.now]
            for what in due:
                what()


class Simulated:
    """See `calls.Caller`; `make` is a process' start."""

    dies_at_the_end = True
    slows = True

    def __init__(self, make: Callable[[World], Handler], *, can_find: bool = True) -> None:
        self.can_find = can_find
        self.world = World()
        self._make = make
        self._handler: Handler | None = None
        self._typical = 1

    def call(self, event: Event, kill: float | None = None, slow: float = 0.0) -> CallResult:
        if self._handler is None:
            self._handler = self._make(self.world)
        self.world.steps = 0
        if kill is not None and kill < AFTER:
            self.world.kill_at = 1 + round(kill * self._typical)
        self.world.slow = slow if self.slows else 0.0
        raw = self._call(self._handler, event)
        self.world.kill_at, self.world.slow = None, 0.0
        if event["operation"] == "perform" and not raw.failed:
            self._typical = max(self._typical, self.world.steps)
        if kill is not None:
            self.renew()
        return _failed("Runtime.ExitError") if kill == AFTER and self.dies_at_the_end else raw

    def at_once(self, events: list[Event]) -> list[CallResult]:
        """All come to their first step before any goes on."""
        barrier = threading.Barrier(len(events))
        seen = threading.local()

        def between() -> None:
            if not getattr(seen, "met", False):
                seen.met = True
                barrier.wait(60)

        raws: dict[int, CallResult] = {}

        def run(number: int, event: Event) -> None:
            raws[number] = self._call(self._make(self.world), event)

        self.world.between = between
        threads = [threading.Thread(target=run, args=one) for one in enumerate(events)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.world.between = None
        return [raws[number] for number in range(len(events))]

    def renew(self) -> None:
        self._handler = None
        self.world.left.clear()

    def wait(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    def _call(self, handler: Handler, event: Event) -> CallResult:
        try:
            response = json.loads(json.dumps(handler(json.loads(json.dumps(event)))))
        except Killed:
            return _failed("Runtime.ExitError")
        except Hung:
            return _failed(TIMED_OUT)
        except Exception as error:  # noqa: BLE001 - as Lambda's runtime
            return _failed(type(error).__name__, str(error))
        return CallResult(response, seconds=self.world.took + self.world.slow)


def _failed(name: str, message: str = "") -> CallResult:
    return CallResult({"errorType": name, "errorMessage": message}, failed=True)
