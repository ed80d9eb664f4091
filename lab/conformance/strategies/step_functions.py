"""This project's main ways, by the starter and definition that ship.

Each message gets an execution, or the starter makes the first attempt, and those in trouble do.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from actonce_core.backoff import EFFECT_BACKOFF_GROWTH, START_BACKOFF_GROWTH
from actonce_core.delivery import Delivery
from actonce_core.first_attempt import FirstAttempt, Item
from actonce_core.invoked_effect import InvokedEffect, client_config
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.result import Start
from actonce_core.start import Starter, refusal_of
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


class _EarlierStarter(Starter):
    """Of a release without first attempts, which takes each row for one of its own kind."""

    def _go_by(self, known: Item, message: Message, row: Item, now: datetime) -> Start | Refusal:  # noqa: ARG002
        refusal = refusal_of(
            message,
            {name: known[name] for name in ("fingerprint", "first_seen", "memory")},
            now,
            memory=self.state_machine,
            names_remembered=self.names_remembered,
        )
        return refusal or self._start(message, first_seen_now=False)


def _starter(
    stack: SimulatedStack, *, kind: type[Starter] = Starter, attempts_first: bool = False
) -> Handler:
    starter = kind(
        reader=MessageReader("body:message_id"),
        dynamodb=stack.dynamodb,
        table=MEMORY_TABLE,
        stepfunctions=stack.stepfunctions,
        state_machine=stack.state_machine,
        unstarted=UnstartedQueue(stack.sqs, UNSTARTED),
        names_remembered=timedelta(milliseconds=NAMES_REMEMBERED),
        clock=stack.world.wall,
        first_attempt=_first_attempt(stack) if attempts_first else None,
    )
    return lambda record: starter.start_message(Delivery.from_record(record))


def _first_attempt(stack: SimulatedStack) -> FirstAttempt:
    version = stack.starter_version
    client = stack.lambda_client(client_config(version["timeout"])["read_timeout"])
    return FirstAttempt(
        effect=InvokedEffect(client, version["perform"], version["find"]),
        version=version,
        seconds_left=lambda: stack.remaining_milliseconds() / 1000,
        new_id=stack.world.new_id,
    )


STEP_FUNCTIONS = StrategyUnderTest(
    "step-functions",
    "ActOnce: Step Functions",
    _starter,
    is_ours=True,
    backoff_growth=START_BACKOFF_GROWTH,
    most_receives=MOST_RECEIVES,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
)

_NEEDS_FIND = "a rule of the template refuses it"

ON_TROUBLE = replace(
    STEP_FUNCTIONS,
    name="on-trouble",
    title="ActOnce: an execution for trouble only",
    build=partial(_starter, attempts_first=True),
    backoff_growth=EFFECT_BACKOFF_GROWTH,
    attempts_first=True,
    cannot={"restored": "the row is the only memory of a message that has no execution"},
    left_out={"not-looked-up": _NEEDS_FIND, "told-by-a-person": _NEEDS_FIND},
)

EARLIER = replace(STEP_FUNCTIONS, name="earlier", build=partial(_starter, kind=_EarlierStarter))
"""An earlier release's starter."""
