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
    Memories,
    Names,
    Starter,
    UnstartedQueue,
    executions,
)
from actonce.conformance.stage import (
    EFFECT_TIMEOUT,
    MEMORY_TABLE,
    MOST_RECEIVES,
    NAMES_REMEMBERED,
    STRAGGLER_MARGIN,
    UNSTARTED,
    Handler,
    Stage,
    Way,
)
from actonce.conformance.world import World


def _starter(stage: Stage) -> Handler:
    own = Names(stage.state_machine, stage.stack)
    starter = Starter(
        reader=stage.reader(),
        fingerprints=FingerprintTable(stage.dynamodb, MEMORY_TABLE, own),
        executions=Executions(stage.stepfunctions, own.state_machine),
        unstarted=UnstartedQueue(stage.sqs, UNSTARTED),
        memories=Memories(own, stage.former, timedelta(milliseconds=NAMES_REMEMBERED)),
        clock=stage.world.wall,
        patience=stage.patience(),
    )

    def handle(record: Record) -> None:
        starter.start_message(Delivery.from_record(record))

    return handle


@contextmanager
def installed(world: World) -> Iterator[None]:
    """Give the starter the world's clock."""
    with datetimes_of(world, executions):
        yield


STEP_FUNCTIONS = Way(
    "step-functions",
    "ActOnce: Step Functions",
    _starter,
    installed=installed,
    is_ours=True,
    strategy="step-functions",
    most_receives=MOST_RECEIVES,
    lateness=(2_000, EFFECT_TIMEOUT + 5_000, EFFECT_TIMEOUT + STRAGGLER_MARGIN - 1_000),
)
