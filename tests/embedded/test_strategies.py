"""The lease and the FIFO queue, deployed: the demo, bad input, decisions, hazards."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from actonce.demo import records
from actonce.demo.run import wait_for_rest
from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.conformance.verdict import FinalState, Verdict
from tests.embedded.command_line import decide, demo
from tests.embedded.hazards import CAUSES, cause_all, disagreement, verdict_of
from tests.embedded.homes import home
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]


class Deployed(NamedTuple):
    paths: Paths
    strategy: str
    queue: str
    state: State
    stack: Stack

    def demo(self, *arguments: str) -> dict[str, Any]:
        queue = f"QueueType={self.queue}"
        return demo(self.paths, "--strategy", self.strategy, "-p", queue, "--keep", *arguments)

    def send(self, body: dict[str, Any], *, deduplication_id: str) -> None:
        fifo = {"MessageGroupId": "main", "MessageDeduplicationId": deduplication_id}
        self.stack.sqs.send_message(
            QueueUrl=self.stack.requests_queue,
            MessageBody=json.dumps(body),
            **(fifo if self.queue == "fifo" else {}),  # type: ignore[arg-type]
        )


@pytest.fixture(scope="module", params=["lease-standard", "lease-fifo"])
def deployed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    strategy, queue = request.param.split("-")
    paths = home(tmp_path_factory)
    try:
        parameters = {"Strategy": strategy, "QueueType": queue}
        up = lifecycle.up(paths, lambda _: None, parameters=parameters)
        yield Deployed(paths, strategy, queue, *up)
    finally:
        lifecycle.down(paths)


# On a standard queue the hazards below say as much.
@pytest.mark.parametrize("deployed", ["lease-fifo"], indirect=True)
def test_interrupted_messages_are_acted_on_once_and_in_order(deployed: Deployed) -> None:
    answer = deployed.demo("--messages", "25", "--faults", "some", "--seed", "3")
    assert answer["distinct"] == answer["started"] == 25
    assert answer["sent"] == 30
    assert answer["suppressed"] >= 5
    assert answer["acted_on_twice"] == answer["lost"] == 0
    assert answer["effects"] + answer["awaiting_decision"] >= 25
    assert answer["out_of_order"] == 0


def test_a_dead_letter_is_decided_like_an_executions(deployed: Deployed) -> None:
    rejected = {"to-resolve", "to-reject", "to-retry"}
    for message_id in rejected:
        body = {"message_id": message_id, "practice": 7}
        deployed.send(body, deduplication_id=message_id)
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
def test_a_hazard_ends_as_the_table_says(
    deployed: Deployed, ends: dict[str, FinalState], hazard: str
) -> None:
    verdict = verdict_of(ends[hazard], hazard)
    if deployed.queue == "standard":  # which keeps no order
        verdict = Verdict(verdict.kind)
    assert not disagreement(deployed.strategy, hazard, verdict)
