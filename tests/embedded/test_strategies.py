"""The lease at a FIFO queue, deployed: the demo, decisions, hazards."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from actonce.demo import records
from actonce.demo.run import wait_for_rest
from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.verdict import FinalState
from tests.embedded.command_line import decide, demo
from tests.embedded.hazards import CAUSES, cause_all, disagreement, verdict_of
from tests.embedded.homes import home
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]


LEASE = {"Strategy": "lease", "QueueType": "fifo"}


class Deployed(NamedTuple):
    paths: Paths
    state: State
    stack: Stack


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    paths = home(tmp_path_factory)
    try:
        yield Deployed(paths, *lifecycle.up(paths, lambda _: None, parameters=LEASE))
    finally:
        lifecycle.down(paths)


def test_interrupted_messages_are_acted_on_once_and_in_order(deployed: Deployed) -> None:
    faulty = ("--messages", "25", "--faults", "some", "--seed", "3")
    answer = demo(deployed.paths, "--strategy", "lease", "-p", "QueueType=fifo", "--keep", *faulty)
    assert answer["distinct"] == answer["started"] == 25
    assert answer["sent"] == 30
    assert answer["suppressed"] >= 5
    assert answer["acted_on_twice"] == answer["lost"] == 0
    assert answer["effects"] + answer["awaiting_decision"] >= 25
    assert answer["out_of_order"] == 0


def test_a_dead_letter_is_decided_like_an_executions(deployed: Deployed) -> None:
    rejected = {"to-resolve", "to-reject", "to-retry"}
    for message_id in rejected:
        deployed.stack.sqs.send_message(
            QueueUrl=deployed.stack.requests_queue,
            MessageBody=json.dumps({"message_id": message_id, "practice": 7}),
            MessageGroupId="main",
            MessageDeduplicationId=message_id,
        )
    wait_until(lambda: rejected <= records.waiting(deployed.stack))
    for decision in ("resolve", "reject"):
        answer = decide(deployed.state, decision, f"to-{decision}", "--note", "by telephone")
        assert answer["end"] == "decided"
    assert decide(deployed.state, "retry", "to-retry")["end"] == "decided"
    # The effect rejects it again, so its dead letter is posted again, and nothing else happens.
    wait_until(lambda: "to-retry" in records.waiting(deployed.stack))
    wait_for_rest(deployed.stack)
    table = deployed.stack.ledger_table
    assert table is not None
    outcomes = {
        message_id: deployed.stack.dynamodb.get_item(
            TableName=table, Key={"message_id": {"S": message_id}}
        )["Item"]["outcome"]["S"]
        for message_id in rejected
    }
    assert outcomes == {
        "to-resolve": "resolved",
        "to-reject": "rejected",
        "to-retry": "dead_letter",
    }


@pytest.fixture(scope="module")
def ends(deployed: Deployed) -> dict[str, FinalState]:
    return cause_all(deployed.stack, deployed.paths.faults)


@pytest.mark.parametrize("hazard", CAUSES)
def test_a_hazard_ends_as_the_table_says(ends: dict[str, FinalState], hazard: str) -> None:
    assert not disagreement("lease", hazard, verdict_of(ends[hazard], hazard))
