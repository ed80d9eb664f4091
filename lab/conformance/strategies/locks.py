"""This project's ways without Step Functions: the consumer that ships, with a ledger or a lease.

Its effect checks the fence, as the example's does, or cannot. Also `@idempotent` on a host, where
nothing ends a consumer that stands still.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

from botocore.exceptions import EndpointConnectionError

from actonce_core.delivery import Delivery
from actonce_core.locking import locks
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from actonce_core.locking.locks import Host, Lease, Ledger, ProcessingLocks
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

_LEDGER_SECONDS = (CONSUMER_TIMEOUT + STRAGGLER_MARGIN) / 1000


def _installed(world: World) -> AbstractContextManager[Any]:
    """Give the locks the world's clocks."""
    host = partial(Host, world.wall, world.monotonic, world.sleep, world.new_id)
    return patch.object(locks, "Host", host)


def _ledger(stack: SimulatedStack) -> Handler:
    seconds = (CONSUMER_TIMEOUT + _straggler(stack.way)) / 1000
    return _consume(stack, _a_ledger(stack), seconds)


def _straggler(way: StrategyUnderTest) -> int:
    """Milliseconds; a function that the consumer calls may run for its own time-out besides."""
    return STRAGGLER_MARGIN + (EFFECT_TIMEOUT if way.invokes else 0)


def _a_ledger(stack: SimulatedStack) -> Ledger:
    return Ledger(
        stack.dynamodb,
        MEMORY_TABLE,
        straggler_seconds=_straggler(stack.way) / 1000,
        clock_skew_seconds=CLOCK_SKEW / 1000,
    )


def _decorated(stack: SimulatedStack) -> Handler:
    """A handler with `@idempotent`, in a consumer loop of a team's own."""
    effect = stack.effect

    @idempotent(
        _a_ledger(stack),
        message_id=lambda message: str(message["message_id"]),
        lock_timeout=_LEDGER_SECONDS,
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
        straggler_seconds=_straggler(stack.way) / 1000,
        start_heartbeats=start_heartbeats,
    )
    return _consume(stack, lease, LEASE / 1000)


def _consume(stack: SimulatedStack, by: ProcessingLocks, lock_timeout: float) -> Handler:
    consumer = Consumer(
        reader=MessageReader("body:message_id"),
        locks=by,
        effect=stack.acts,
        unstarted=UnstartedQueue(stack.sqs, UNSTARTED),
        dead_letters=DeadLetterQueue(stack.sqs, DEAD_LETTERS),
        lock_timeout=lock_timeout,
        max_rounds=MAX_ROUNDS,
    )
    return lambda record: consumer.consume(Delivery.from_record(record))


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
LEDGER_WAY = StrategyUnderTest(
    "ledger",
    "ActOnce: ledger",
    _ledger,
    strategy="ledger",
    installed=_installed,
    most_receives=MOST_RECEIVES,
    is_ours=True,
    lateness=(2_000, STRAGGLER_MARGIN - 1_000),
    cannot=_FROZEN,
)
LEDGER_FENCED = _fenced(LEDGER_WAY)
DECORATED = replace(
    LEDGER_WAY,
    name="ledger-idempotent",
    title="ActOnce: ledger, `@idempotent` on a host",
    build=_decorated,
    ends_at=None,
    cannot=_STANDS_STILL,
    left_out={"frozen": "nothing freezes what runs on a host"},
)
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

_INVOKED_LATE = (2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000)
INVOKING_WAYS = (
    replace(
        LEDGER_WAY,
        name="ledger-invoking",
        title="ActOnce: ledger, a function of one's own",
        invokes=True,
        lateness=_INVOKED_LATE,
        cannot={},
    ),
    replace(
        LEASE_WAY,
        name="lease-invoking",
        title="ActOnce: lease, a function of one's own",
        invokes=True,
        ends_at=INVOKING_LEASE_CONSUMER_TIMEOUT,
        visibility=INVOKING_LEASE_VISIBILITY,
        lateness=_INVOKED_LATE,
        lateness_awaited=(2_000, EFFECT_TIMEOUT - 1_000),
        cannot={},
        left_out={
            "zombie": "its function's own time makes a takeover wait for longer than the pauses "
            "of this hazard, so it would survive these alone; a longer pause lets it act twice, as "
            "behind every lease without a fence"
        },
    ),
)
"""The consumer invokes another function, by `InvokedEffect`."""
