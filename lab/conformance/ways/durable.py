"""Rival: Lambda durable functions, by AWS's SDK for Python from PyPI.

A dispatcher consumes the queue and starts an execution named by the producer's id, as AWS advises,
because an event source mapping passes no name. A failed execution's event goes to the function's
dead-letter queue. The step has three forms: the default; at most once per retry; and once, without
a retry, with a wait and a look-up after an unknown outcome.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import aws_durable_execution_sdk_python as sdk
from aws_durable_execution_sdk_python import config, execution, state
from aws_durable_execution_sdk_python import threading as sdk_threading
from aws_durable_execution_sdk_python.config import Duration, StepConfig, StepSemantics
from aws_durable_execution_sdk_python.exceptions import StepError
from aws_durable_execution_sdk_python.retries import RetryPresets

from actonce_core.effect import Effect
from lab.conformance import threads
from lab.conformance.queues import Record
from lab.conformance.simulated_stack import (
    CONSUMER_TIMEOUT,
    JITTER,
    MAX_ROUNDS,
    STRAGGLER_MARGIN,
    Handler,
    SimulatedStack,
    Way,
)
from lab.conformance.world import World

logging.getLogger(sdk.__name__).setLevel(logging.CRITICAL + 1)  # each failure, with its traceback

LONGEST_RETENTION = 90
"""Days."""

_STRAGGLER = Duration.from_seconds((CONSUMER_TIMEOUT + STRAGGLER_MARGIN) // 1000)

_Act = Callable[[Effect, dict[str, Any], sdk.DurableContext], Any]


def in_a_step(how: StepConfig) -> _Act:
    """The effect in one step, configured by `how`."""

    def act(effect: Effect, request: dict[str, Any], context: sdk.DurableContext) -> Any:
        return context.step(lambda _: effect.perform(request), "perform", how)

    return act


def once_and_found(effect: Effect, request: dict[str, Any], context: sdk.DurableContext) -> Any:
    """The effect once; after an unknown outcome wait until nothing can act, and look it up."""
    once = in_a_step(StepConfig(RetryPresets.none(), StepSemantics.AT_MOST_ONCE_PER_RETRY))
    rounds = 1
    while True:
        try:
            return once(effect, request, context)
        except StepError:
            context.wait(_STRAGGLER, "straggler")
            found = context.step(lambda _: effect.find(request["message_id"]), "find")
            if found is not None:
                return found
            if rounds == MAX_ROUNDS:
                raise
        rounds += 1


def _dispatcher(act: _Act, retention: int, stack: SimulatedStack) -> Handler:
    def handle(event: dict[str, Any], context: sdk.DurableContext) -> Any:
        request = {"message_id": event["message_id"], "body": json.dumps(event)}
        return act(stack.effect, request, context)

    stack.durable.handler = partial(sdk.durable_execution, handle, boto3_client=stack.lambda_)
    stack.durable.retention = retention

    def dispatch(record: Record) -> None:
        stack.lambda_.invoke(
            FunctionName="act:1",
            InvocationType="Event",
            DurableExecutionName=json.loads(record["body"])["message_id"],
            Payload=record["body"],
        )

    return dispatch


@contextmanager
def _installed(world: World) -> Iterator[None]:
    """Give the SDK the world's clock, and the world's tasks as threads."""
    event = partial(threads.Event, world)
    queue = SimpleNamespace(Queue=partial(threads.Queue, world), Empty=Empty)
    clock = SimpleNamespace(time=world.monotonic)
    pool, wait = partial(threads.Pool, world), partial(threads.wait_for, world)
    with (
        patch.multiple(execution, ThreadPoolExecutor=pool, wait=wait),
        patch.multiple(state, threading=SimpleNamespace(Event=event), queue=queue, time=clock),
        patch.object(sdk_threading, "Event", event),
        patch.object(config, "random", SimpleNamespace(random=lambda: JITTER)),
    ):
        yield


def durable_way(name: str, title: str, act: _Act, retention: int = 14) -> Way:
    """A way with this function, whose execution names are remembered for `retention` days."""
    dispatcher = partial(_dispatcher, act, retention)
    return Way(f"durable{name}", title, dispatcher, installed=_installed)


DURABLE_WAYS = (
    durable_way("", "durable function, as it comes", in_a_step(StepConfig())),
    durable_way(
        "-at-most-once",
        "durable, at most once",
        in_a_step(StepConfig(step_semantics=StepSemantics.AT_MOST_ONCE_PER_RETRY)),
    ),
    durable_way("-found", "durable, once and found", once_and_found, LONGEST_RETENTION),
)
