"""This project's way without Step Functions: the consumer that ships, with a lease; and a rival's.

Its effect checks the fence, as the example's does, or cannot. Also `@idempotent` on a host, where
nothing ends a consumer that stands still. The rival is a ledger, which compares clocks.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar
from unittest.mock import patch

from botocore.exceptions import EndpointConnectionError

from actonce_core.delivery import Delivery
from actonce_core.locking import locks
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from actonce_core.locking.locks import Host, Lease
from actonce_core.locking.processing_table import Attempt, Row, StillInProgress
from actonce_core.message import MessageReader
from actonce_core.unstarted import UnstartedQueue
from lab.conformance.queues import Record
from lab.conformance.simulated_stack import (
    CLOCK_SKEW,
    CONSUMER_TIMEOUT,
    DEAD_LETTERS,
    EFFECT_TIMEOUT,
    INVOKING_LEASE_CONSUMER_TIMEOUT,
    INVOKING_LEASE_VISIBILITY,
    LEASE,
    LEASE_CONSUMER_TIMEOUT,
    LEASE_VISIBILITY,
    MAX_ROUNDS,
    MEMORY_TABLE,
    MOST_RECEIVES,
    STRAGGLER_MARGIN,
    UNSTARTED,
    Handler,
    SimulatedStack,
    StrategyUnderTest,
)
from lab.conformance.stepfunctions import InvariantViolation
from lab.conformance.world import World


def _installed(world: World) -> AbstractContextManager[Any]:
    """Give the locks the world's clocks."""
    host = partial(Host, world.wall, world.monotonic, world.sleep, world.new_id)
    return patch.object(locks, "Host", host)


def _straggler(way: StrategyUnderTest) -> int:
    """Milliseconds; a function that the consumer calls may run for its own time-out besides."""
    return STRAGGLER_MARGIN + (EFFECT_TIMEOUT if way.invokes else 0)


def _decorated(stack: SimulatedStack) -> Handler:
    """A handler with `@idempotent`, in a consumer loop of a team's own."""
    effect = stack.effect

    @idempotent(
        _a_lease(stack),
        message_id=lambda message: str(message["message_id"]),
        lock_timeout=LEASE / 1000,
        find=lambda message: effect.find(message["message_id"]),
    )
    def act(message: Any) -> dict[str, Any]:
        return effect.perform({"message_id": message["message_id"], "body": json.dumps(message)})

    def handle(record: Record) -> None:
        try:
            first = act(json.loads(record["body"]))
        except (ConflictingContent, KnownElsewhere) as error:
            reason = {"DataType": "String", "StringValue": type(error).__name__}
            stack.sqs.send_message(
                QueueUrl=UNSTARTED,
                MessageBody=record["body"],
                MessageAttributes={"reason": reason},
            )
            return
        if not first:
            raise InvariantViolation("there is no answer of the first time")

    return handle


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


def _lease(stack: SimulatedStack) -> Handler:
    return _consume(stack, _a_lease(stack), LEASE / 1000)


def _a_lease(stack: SimulatedStack) -> Lease:
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
    return Lease(
        dynamodb,
        MEMORY_TABLE,
        straggler_seconds=_straggler(stack.way) / 1000,
        start_heartbeats=start_heartbeats,
    )


def _consume(stack: SimulatedStack, by: Lease, lock_timeout: float) -> Handler:
    consumer = Consumer(
        reader=MessageReader("body:message_id"),
        lease=by,
        effect=stack.acts,
        unstarted=UnstartedQueue(stack.sqs, UNSTARTED),
        dead_letters=DeadLetterQueue(stack.sqs, DEAD_LETTERS),
        lock_timeout=lock_timeout,
        max_rounds=MAX_ROUNDS,
    )
    return lambda record: consumer.consume(Delivery.from_record(record))


class Ledger(Lease):
    """What articles on this pattern describe: taken over when the row is too old.

    `updated` is by the holder's wall clock, and compared with the contender's, so a contender whose
    clock is ahead by more than `clock_skew_seconds` takes over from a live holder. No effect begins
    in the last `straggler_seconds` of a lock.
    """

    WAY: ClassVar = "ledger"

    def __init__(self, *place: Any, straggler_seconds: float, clock_skew_seconds: float) -> None:
        super().__init__(*place, straggler_seconds=0.0)  # a takeover waits for nothing more
        self._last_part = straggler_seconds
        self._clock_skew = timedelta(seconds=clock_skew_seconds)

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:  # noqa: ARG002 - a lease's
        """It has no heartbeats."""
        yield

    def _outwait(self, row: Row) -> None:
        updated = datetime.fromisoformat(row["updated"]["S"])
        silent_for = timedelta(seconds=float(row["lock_seconds"]["N"])) + self._clock_skew
        if self.host.clock() - updated <= silent_for:
            raise StillInProgress(row["message_id"]["S"])

    def _working_seconds(self, lock_seconds: float) -> float:
        return lock_seconds - self._last_part


def _ledger(stack: SimulatedStack) -> Handler:
    ledger = Ledger(
        stack.dynamodb,
        MEMORY_TABLE,
        straggler_seconds=STRAGGLER_MARGIN / 1000,
        clock_skew_seconds=CLOCK_SKEW / 1000,
    )
    return _consume(stack, ledger, (CONSUMER_TIMEOUT + STRAGGLER_MARGIN) / 1000)


_STANDS_STILL = {
    "zombie": "a consumer that stood still between its last look at the lock and its effect cannot "
    "know that its time is over; only an effect that checks the fence can"
}
_FROZEN = {
    "frozen": "what an effect has left running in a consumer cannot know it, either, and its "
    "process is not ended, because nine other deliveries may be at work in it"
}


def _fenced(way: StrategyUnderTest) -> StrategyUnderTest:
    title = f"{way.title}, fenced"
    return replace(way, name=f"{way.name}-fenced", title=title, is_fenced=True, cannot={})


# The latenesses are the largest that docs/strategies.md promises to tolerate.
LEASE_WAY = StrategyUnderTest(
    "lease",
    "ActOnce: lease",
    _lease,
    strategy="lease",
    installed=_installed,
    most_receives=MOST_RECEIVES,
    is_ours=True,
    ends_at=LEASE_CONSUMER_TIMEOUT,
    visibility=LEASE_VISIBILITY,
    lateness=(2_000, LEASE // 2 - 1_000, STRAGGLER_MARGIN - 1_000),
    # Heartbeats keep the lease alive, for longer than a lease and the margin.
    lateness_awaited=(2_000, LEASE + STRAGGLER_MARGIN + 8_000),
    cannot=_STANDS_STILL | _FROZEN,
)
LEASE_FENCED = _fenced(LEASE_WAY)
DECORATED = replace(
    LEASE_WAY,
    name="lease-idempotent",
    title="ActOnce: lease, `@idempotent` on a host",
    build=_decorated,
    most_receives=24,  # a queue of their own, with a limit that outlasts an outage of 50 minutes
    ends_at=None,
    cannot=_STANDS_STILL | {"late-takeover": _STANDS_STILL["zombie"]},
    left_out={"frozen": "nothing freezes what runs on a host"},
)

LEASE_INVOKING = replace(
    LEASE_WAY,
    name="lease-invoking",
    title="ActOnce: lease, a function of one's own",
    invokes=True,
    ends_at=INVOKING_LEASE_CONSUMER_TIMEOUT,
    visibility=INVOKING_LEASE_VISIBILITY,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
    lateness_awaited=(2_000, EFFECT_TIMEOUT - 1_000),
    cannot={},
    left_out={
        "zombie": "its function's own time makes a takeover wait for longer than the pauses of "
        "this hazard, so it would survive these alone; a longer pause lets it act twice, as behind "
        "every lease without a fence"
    },
)
"""The consumer invokes another function, by `InvokedEffect`."""

LEDGER = StrategyUnderTest(
    "ledger",
    "a ledger that compares clocks",
    _ledger,
    installed=_installed,
    most_receives=MOST_RECEIVES,
    lateness=(2_000, STRAGGLER_MARGIN - 1_000),
)
