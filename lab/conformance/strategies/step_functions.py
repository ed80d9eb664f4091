"""This project's main way: an execution per message, by the starter and definition that ship."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from actonce_core.delivery import Delivery
from actonce_core.first_attempt import FirstAttempt
from actonce_core.invoked_effect import InvokedEffect
from actonce_core.message import MessageReader
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue
from lab.conformance.lambda_client import LambdaClient
from lab.conformance.simulated_stack import (
    CONSUMER_TIMEOUT,
    EFFECT_TIMEOUT,
    MEMORY_TABLE,
    MOST_RECEIVES,
    NAMES_REMEMBERED,
    STRAGGLER_MARGIN,
    UNSTARTED,
    Handler,
    SimulatedStack,
    StrategyUnderTest,
)


def _first_attempt(stack: SimulatedStack) -> FirstAttempt:
    version = stack.version()
    lambda_: Any = LambdaClient(stack.world, stack._invoke)  # noqa: SLF001 - as its own consumers
    return FirstAttempt(
        effect=InvokedEffect(lambda_, version["perform"], version["find"]),
        version=version | {"margin": version["margin"] + CONSUMER_TIMEOUT // 1000},
        seconds_left=lambda: stack.remaining_milliseconds() / 1000,
        new_id=lambda: str(stack.world.new_id()),
    )


def _starter(stack: SimulatedStack, first_attempt: FirstAttempt | None = None) -> Handler:
    starter = Starter(
        reader=MessageReader("body:message_id"),
        dynamodb=stack.dynamodb,
        table=MEMORY_TABLE,
        stepfunctions=stack.stepfunctions,
        state_machine=stack.state_machine,
        unstarted=UnstartedQueue(stack.sqs, UNSTARTED),
        names_remembered=timedelta(milliseconds=NAMES_REMEMBERED),
        clock=stack.world.wall,
        first_attempt=first_attempt,
    )
    return lambda record: starter.start_message(Delivery.from_record(record))


def _starter_on_trouble(stack: SimulatedStack) -> Handler:
    return _starter(stack, _first_attempt(stack))


STEP_FUNCTIONS = StrategyUnderTest(
    "step-functions",
    "ActOnce: Step Functions",
    _starter,
    is_ours=True,
    strategy="step-functions",
    most_receives=MOST_RECEIVES,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
)

ON_TROUBLE = replace(
    STEP_FUNCTIONS,
    name="on-trouble",
    title="ActOnce: an execution for trouble only",
    build=_starter_on_trouble,
)
