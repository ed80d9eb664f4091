"""This project's main way: an execution per message, by the starter and definition that ship."""

from datetime import timedelta

from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue
from lab.conformance.simulated_stack import (
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


def _starter(stack: SimulatedStack) -> Handler:
    starter = Starter(
        reader=MessageReader("body:message_id"),
        dynamodb=stack.dynamodb,
        table=MEMORY_TABLE,
        stepfunctions=stack.stepfunctions,
        state_machine=stack.state_machine,
        unstarted=UnstartedQueue(stack.sqs, UNSTARTED),
        names_remembered=timedelta(milliseconds=NAMES_REMEMBERED),
        clock=stack.world.wall,
    )
    return lambda record: starter.start_message(Delivery.from_record(record))


STEP_FUNCTIONS = StrategyUnderTest(
    "step-functions",
    "ActOnce: Step Functions",
    _starter,
    is_ours=True,
    strategy="step-functions",
    most_receives=MOST_RECEIVES,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
)
