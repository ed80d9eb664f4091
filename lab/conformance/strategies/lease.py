"""`@idempotent` over the lease, in Lambda and on a host; and over a rival, which compares clocks.

What raises comes back by the queue, whose `maxReceiveCount` moves it aside in the end, as
examples/lease and examples/worker have it.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from botocore.exceptions import EndpointConnectionError

from actonce_core.backoff import EFFECT_BACKOFF_GROWTH
from actonce_core.locking.idempotent import idempotent
from actonce_core.locking.lease import Host, Lease
from actonce_core.locking.lease_table import Attempt, Row, StillInProgress
from lab.conformance.queues import Record
from lab.conformance.simulated_stack import (
    CLOCK_SKEW,
    CONSUMER_TIMEOUT,
    LEASE,
    LEASE_CONSUMER_TIMEOUT,
    LEASE_VISIBILITY,
    MEMORY_TABLE,
    STRAGGLER_MARGIN,
    Handler,
    SimulatedStack,
    StrategyUnderTest,
)
from lab.conformance.stepfunctions import InvariantViolation

MOST_RECEIVES = 24
"""Outlasts an outage of 50 minutes."""


@dataclass(frozen=True, slots=True)
class _HeartbeatsLost:
    """DynamoDB for a lease's holder whose heartbeats are lost for a while."""

    stack: SimulatedStack

    def update_item(self, **request: Any) -> Any:
        """See UpdateItem, API reference. A process's first task is the consumer itself."""
        world = self.stack.world
        if world.task_number and world.monotonic() * 1000 < self.stack.unheard_until:
            raise EndpointConnectionError(endpoint_url="https://aws")
        return self.stack.dynamodb.update_item(**request)


def _lease(stack: SimulatedStack, *, fenced: bool = False) -> Handler:
    world = stack.world

    def start_heartbeats(beat: Callable[[], bool], seconds: float) -> Callable[[], None]:
        ended: list[bool] = []

        def heart() -> None:
            while not world.wait(lambda: bool(ended), seconds) and beat():
                pass

        is_over = world.start_task(heart)

        def end() -> None:
            ended.append(True)
            world.wait(is_over)

        return end

    dynamodb: Any = _HeartbeatsLost(stack) if stack.unheard_until else stack.dynamodb
    lease = Lease(
        dynamodb,
        MEMORY_TABLE,
        straggler_seconds=STRAGGLER_MARGIN / 1000,
        host=_host(stack),
        start_heartbeats=start_heartbeats,
    )
    return _handler(stack, lease, LEASE / 1000, fenced=fenced)


def _host(stack: SimulatedStack) -> Host:
    world = stack.world
    return Host(world.wall, world.monotonic, world.sleep, world.new_id)


def _handler(
    stack: SimulatedStack, lease: Lease, lock_timeout: float, *, fenced: bool = False
) -> Handler:
    def find(message: Any) -> Any:
        return stack.effect().find(message["message_id"])

    @idempotent(
        lease,
        message_id=lambda message: str(message["message_id"]),
        lock_timeout=lock_timeout,
        find=find if stack.has_find_function else None,
        fenced=fenced,
    )
    def act(message: Any, fence: Any = None) -> dict[str, Any]:
        request = {"message_id": message["message_id"], "body": json.dumps(message)}
        return stack.effect(fence).perform(request)

    def handle(record: Record) -> None:
        if not act(json.loads(record["body"])):
            raise InvariantViolation("there is no answer of the first time")

    return handle


class Ledger(Lease):
    """What articles on this pattern describe: taken over when the row is too old.

    `updated` is by the holder's wall clock, and compared with the contender's, so a contender whose
    clock is ahead by more than `clock_skew_seconds` takes over from a live holder. No effect begins
    in the last `straggler_seconds` of a lock.
    """

    WAY: ClassVar = "ledger"

    def __init__(self, stack: SimulatedStack) -> None:
        # A takeover waits for nothing more.
        super().__init__(stack.dynamodb, MEMORY_TABLE, straggler_seconds=0.0, host=_host(stack))

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:  # noqa: ARG002 - a lease's
        """It has no heartbeats."""
        yield

    def _outwait(self, row: Row) -> None:
        updated = datetime.fromisoformat(row["updated"]["S"])
        silent_for = float(row["lock_seconds"]["N"]) + CLOCK_SKEW / 1000
        if self.host.clock() - updated <= timedelta(seconds=silent_for):
            raise StillInProgress(row["message_id"]["S"])

    def _working_seconds(self, lock_seconds: float) -> float:
        return lock_seconds - STRAGGLER_MARGIN / 1000


def _ledger(stack: SimulatedStack) -> Handler:
    return _handler(stack, Ledger(stack), (CONSUMER_TIMEOUT + STRAGGLER_MARGIN) / 1000)


_STANDS_STILL = {
    "zombie": "a consumer that stood still between its last look at the lock and its effect cannot "
    "know that its time is over; only an effect that checks the fence can"
}
_FROZEN = {
    "frozen": "what an effect has left running in a consumer cannot know it, either, and nothing "
    "ends the consumer's process, which handles other deliveries"
}

# The latenesses are the largest that docs/strategies.md promises to tolerate.
LEASE_WAY = StrategyUnderTest(
    "lease",
    "ActOnce: lease",
    _lease,
    most_receives=MOST_RECEIVES,
    is_ours=True,
    ends_at=LEASE_CONSUMER_TIMEOUT,
    visibility=LEASE_VISIBILITY,
    lateness=(2_000, LEASE // 2 - 1_000, STRAGGLER_MARGIN - 1_000),
    # Heartbeats keep the lease alive, for longer than a lease and the margin.
    lateness_awaited=(2_000, LEASE + STRAGGLER_MARGIN + 8_000),
    cannot=_STANDS_STILL | _FROZEN,
)
LEASE_FENCED = replace(
    LEASE_WAY,
    name="lease-fenced",
    title="ActOnce: lease, fenced",
    build=partial(_lease, fenced=True),
    cannot={},
)
LEASE_ON_A_HOST = replace(
    LEASE_WAY,
    name="lease-idempotent",
    title="ActOnce: lease, on a host",
    backoff_growth=EFFECT_BACKOFF_GROWTH,
    ends_at=None,
    cannot=_STANDS_STILL | {"late-takeover": _STANDS_STILL["zombie"]},
    left_out={"frozen": "nothing freezes what runs on a host"},
)

LEDGER = StrategyUnderTest(
    "ledger",
    "a ledger that compares clocks",
    _ledger,
    most_receives=MOST_RECEIVES,
    lateness=(2_000, STRAGGLER_MARGIN - 1_000),
)
