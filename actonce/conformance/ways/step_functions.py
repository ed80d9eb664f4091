"""This project's main way: one execution per message, by the starter and the machine that ship."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from actonce.conformance.clocks import datetimes_of
from actonce.conformance.queues import Record
from actonce.conformance.shipped import (
    Delivery,
    Executions,
    FingerprintTable,
    MessageReader,
    Starter,
    UnstartedQueue,
    executions,
)
from actonce.conformance.stage import (
    EFFECT_TIMEOUT,
    NAMES_REMEMBERED,
    STRAGGLER_MARGIN,
    UNSTARTED,
    Handler,
    Stage,
    Way,
)
from actonce.conformance.world import World

_READER = MessageReader()


def _starter(stage: Stage) -> Handler:
    starter = Starter(
        reader=_READER,
        fingerprints=FingerprintTable(stage.dynamodb, "fingerprints"),
        executions=Executions(stage.stepfunctions, "arn:process-message"),
        unstarted=UnstartedQueue(stage.sqs, UNSTARTED),
        names_remembered=timedelta(milliseconds=NAMES_REMEMBERED),
        clock=stage.world.wall,
    )

    def handle(record: Record) -> None:
        starter.start_message(Delivery.from_record(record))

    return handle


@contextmanager
def _installed(world: World) -> Iterator[None]:
    with datetimes_of(world, executions):
        yield


STEP_FUNCTIONS = Way(
    "step-functions",
    "ActOnce: Step Functions",
    _starter,
    installed=_installed,
    is_ours=True,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
)
