"""The weather that was measured, in virtual time: the queue, starters side by side, AWS's quotas.

The starter is the real one; Lambda, SQS and what the starter calls are a hundred lines here. Each
delivery is a greenlet, as it is a thread in Lambda, and the time passes when all of them wait.
"""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from actonce_core.coming_back import LONGEST_SECONDS, seconds_until_back
from actonce_core.executions import Start
from actonce_core.fingerprints import Fingerprint
from actonce_core.memory import Memories, Names
from actonce_core.message import MessageReader
from actonce_core.patience import Invocation, Patience
from actonce_core.start import Starter
from tests.unit.samples import delivery

HOUR = 3600.0
TIME_OUT = 30.0
MAX_RECEIVE_COUNT = 1000
OWN = Names("arn:machine", "a stack")
BATCH = 10


class Time:
    """Virtual time, in which greenlets sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self._hub = getcurrent()
        self._due: list[Any] = []
        self._numbers = itertools.count()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.start(getcurrent(), seconds)
        self.wait()

    def wait(self) -> None:
        """Until somebody starts this one again."""
        self._hub.switch()

    def start(self, run: Any, after: float = 0.0) -> None:
        heapq.heappush(self._due, (self.now + after, next(self._numbers), run))

    def spawn(self, code: Callable[[], None]) -> None:
        self.start(greenlet(code, self._hub))

    def run(self, until: Callable[[], bool]) -> None:
        while self._due and not until():
            self.now, _, run = heapq.heappop(self._due)
            run.switch()


@dataclass
class Bucket:
    """AWS's token bucket in front of an API; `out` says when the service fails altogether."""

    time: Time
    burst: float = 1e9
    per_second: float = 1e9
    out: tuple[float, float] = (0.0, 0.0)
    calls: int = 0
    _tokens: float = field(init=False)
    _at: float = 0.0

    def __post_init__(self) -> None:
        self._tokens = self.burst

    def take(self) -> None:
        self.calls += 1
        self.time.sleep(0.02)
        now = self.time.now
        if self.out[0] <= now < self.out[1]:
            raise failure("InternalServerError", 500)
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
        self._at = now
        if self._tokens < 1:
            raise failure("ThrottlingException", 400)
        self._tokens -= 1


def failure(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "any")


class Stack:
    """The queue, as many starters as may be at work, and what they talk to."""

    def __init__(self, *, messages: int, starters: int) -> None:
        self.time = Time()
        self.chance = random.Random(1)
        self.table, self.machine = Bucket(self.time), Bucket(self.time)
        self.started: Counter[str] = Counter()
        self.seen: set[str] = set()
        self.receives: Counter[str] = Counter()
        self.visible_at = {f"m-{n}": 0.0 for n in range(messages)}
        self.ended_at: dict[str, float] = {}
        self.exiled: list[str] = []
        self.overran = 0
        for _ in range(starters):
            self.time.spawn(self._poll)

    def run(self) -> float:
        """Until the queue is empty; when that was, in seconds."""
        self.time.run(lambda: not self.visible_at)
        return self.time.now

    # ------------------------------------------------------------------ SQS and Lambda

    def _poll(self) -> None:
        while True:
            batch = [name for name, at in self.visible_at.items() if at <= self.time.now][:BATCH]
            for name in batch:
                self.receives[name] += 1
                self.visible_at[name] = self.time.now + 7 * TIME_OUT
                if self.receives[name] > MAX_RECEIVE_COUNT:
                    self.exiled.append(name)
                    del self.visible_at[name]
            if batch:
                self._invoke(batch)
            soonest = min(self.visible_at.values(), default=0.0) - self.time.now
            self.time.sleep(max(soonest, 0.05))

    def _invoke(self, batch: list[str]) -> None:
        invocation = Invocation(self.time.monotonic)
        invocation.ends_in(TIME_OUT)
        starter = self._starter(invocation)
        open_, poller = set(batch), getcurrent()
        back: dict[str, float] = {}

        def handle(name: str) -> None:
            received = delivery(
                {"message_id": name},
                attributes={"ApproximateReceiveCount": str(self.receives[name])},
            )
            try:
                starter.start_message(received)
            except ClientError as error:
                back[name] = seconds_until_back(error, received.receive_count, self.chance.random())
            open_.discard(name)
            if not open_:
                self.time.start(poller)

        for name in batch:
            self.time.spawn(partial(handle, name))
        self.time.wait()
        self.overran += (invocation.seconds_left() or 0) < 0
        for name in batch:
            if name in back:
                self.visible_at[name] = self.time.now + back[name]
            else:
                del self.visible_at[name]
                self.ended_at[name] = self.time.now

    def _starter(self, invocation: Invocation) -> Starter:
        return Starter(
            reader=MessageReader(),
            fingerprints=self,  # type: ignore[arg-type]
            executions=self,  # type: ignore[arg-type]
            unstarted=None,  # type: ignore[arg-type]
            memories=Memories(OWN, (), timedelta(days=25)),
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            patience=Patience(invocation.seconds_left, self.time.sleep, self.chance.random),
        )

    # ------------------------------------------------------------------ what a starter calls

    def remember(self, message: Any, now: datetime) -> Any:
        self.table.take()
        if message.message_id in self.seen:
            return Fingerprint(message.fingerprint, now, OWN)
        self.seen.add(message.message_id)
        return None

    def start(self, message: Any, *, first_seen_now: bool) -> Start:  # noqa: ARG002 - its form
        self.machine.take()
        if self.started[message.message_id]:
            return Start.SUPPRESSED
        self.started[message.message_id] += 1
        return Start.STARTED


def once_each(stack: Stack, messages: int) -> None:
    assert stack.exiled == []
    assert stack.started == Counter({f"m-{n}": 1 for n in range(messages)})
    assert stack.overran == 0


def test_good_weather_takes_two_calls_a_message_and_one_receive() -> None:
    stack = Stack(messages=100, starters=4)
    stack.run()
    once_each(stack, 100)
    assert stack.table.calls == stack.machine.calls == 100
    assert set(stack.receives.values()) == {1}


@pytest.mark.parametrize(("per_second", "deliveries"), [(6, 40), (20, 40), (6, 100)])
def test_a_throttled_start_execution_uses_its_quota_and_exiles_nothing(
    per_second: float, deliveries: int
) -> None:
    stack = Stack(messages=600, starters=deliveries // BATCH)
    stack.machine = Bucket(stack.time, burst=25, per_second=per_second)
    stack.run()
    once_each(stack, 600)
    ended = sorted(stack.ended_at.values())
    # While there is a backlog; the last ones come back when it is their turn.
    assert 550 / ended[549] >= 0.9 * per_second
    assert ended[-1] <= 600 / per_second / 0.9 + 60


@pytest.mark.parametrize("service", ["table", "machine"])
@pytest.mark.parametrize(("seconds", "messages"), [(90.0, 200), (18 * 60.0, 100), (12 * HOUR, 20)])
def test_an_outage_exiles_nothing_and_is_over_soon_after_its_end(
    service: str, seconds: float, messages: int
) -> None:
    stack = Stack(messages=messages, starters=4)
    setattr(stack, service, Bucket(stack.time, out=(0.0, seconds)))
    done = stack.run()
    once_each(stack, messages)
    assert max(stack.receives.values()) <= 120
    # Two back-offs: no delivery waits longer than the outage lasted, nor than the longest.
    assert done - seconds <= 2 * min(LONGEST_SECONDS, seconds) + TIME_OUT
