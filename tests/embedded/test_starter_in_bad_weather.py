"""On a stack of its own: a message that ends the starter, and starts that are paced."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce import unstarted
from actonce.aws import Stack
from actonce.demo import records
from actonce.deployed import MessageReader
from actonce.embedded import lambda_runtime, lifecycle
from actonce.embedded.paths import Paths
from actonce.queue_peek import QueueReader
from deduplication.apart import SUSPECT_AFTER
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.long

POISONED = Path(__file__).with_name("poisoned")
STARTS_PER_SECOND = 4


@pytest.fixture(scope="module")
def poisoned(paths: Paths) -> Iterator[Stack]:
    """The stack, with a starter that some bodies end."""
    bootstrap = lambda_runtime.bootstrap

    def with_poisoned_starter(packages: Path, bytecode: Path) -> str:
        more = (
            f'export EXTRA_PYTHONPATH="{POISONED}"\n'
            'if [ "$_HANDLER" = starter.handler ]; then _HANDLER=poisoned_starter.handler; fi\n'
        )
        return bootstrap(packages, bytecode).replace(
            "export PYTHONPATH", f"{more}export PYTHONPATH", 1
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lambda_runtime, "bootstrap", with_poisoned_starter)
        parameters = {"BatchSize": "10", "StartsPerSecond": str(STARTS_PER_SECOND)}
        _, stack = lifecycle.up(paths, lambda _: None, parameters=parameters)
        yield stack


def send(stack: Stack, bodies: list[dict[str, object]]) -> None:
    stack.sqs.send_message_batch(
        QueueUrl=stack.requests_queue,
        Entries=[{"Id": str(n), "MessageBody": json.dumps(body)} for n, body in enumerate(bodies)],
    )


def in_unstarted(stack: Stack) -> list[unstarted.Unstarted]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return unstarted.entries(queue, MessageReader())


def effects(stack: Stack, prefix: str) -> dict[str, int]:
    found = records.read(stack).effects
    return {name: number for name, number in found.items() if name.startswith(prefix)}


def test_a_message_that_ends_the_starter_is_set_apart_and_its_nine_neighbours_act_once(
    poisoned: Stack,
) -> None:
    bodies: list[dict[str, object]] = [{"message_id": f"neighbour-{n}"} for n in range(9)]
    send(poisoned, [*bodies[:4], {"message_id": "poison", "poison": True}, *bodies[4:]])
    (entry,) = wait_until(lambda: in_unstarted(poisoned), 240)
    assert entry.reason == "ended_the_starter"
    assert entry.detail == "Alone in a process of its own, it ended that: it was ended by SIGKILL."
    assert entry.receive_count == SUSPECT_AFTER + 1
    assert json.loads(entry.queued.body)["message_id"] == "poison"
    wait_until(lambda: len(effects(poisoned, "neighbour-")) == 9, 120)
    assert set(effects(poisoned, "neighbour-").values()) == {1}
    assert effects(poisoned, "poison") == {}
    assert len(in_unstarted(poisoned)) == 1


def test_a_backlog_is_started_no_faster_than_the_stack_may(poisoned: Stack) -> None:
    begun = time.time()
    for ten in range(6):
        send(poisoned, [{"message_id": f"paced-{ten}{n}"} for n in range(10)])

    def started() -> list[float]:
        pages = poisoned.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=poisoned.state_machine
        )
        found = [one for page in pages for one in page["executions"]]
        return sorted(
            one["startDate"].timestamp() for one in found if one["name"].startswith("paced-")
        )

    wait_until(lambda: len(started()) == 60, 120)
    times = started()
    print(f"{59 / (times[-1] - times[0]):.2f} a second, after {times[0] - begun:.1f} s")
    assert 59 / (times[-1] - times[0]) <= 1.1 * STARTS_PER_SECOND
