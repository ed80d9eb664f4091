"""examples/worker on the embedded AWS: FIFO queues, a lease's table, and the example's effect."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from actonce_core.effect import NotPerformed
from tests.embedded.command_line import environment
from tests.embedded.waiting import wait_until

WORKER = PROJECT / "examples" / "worker" / "worker.py"


class Queues:
    """Two FIFO queues of the test's own."""

    def __init__(self, stack: Stack) -> None:
        self.sqs, name = stack.sqs, uuid.uuid4().hex[:8]
        self.requests, self.dead_letters = (
            stack.sqs.create_queue(
                QueueName=f"{kind}-{name}.fifo", Attributes={"FifoQueue": "true"}
            )["QueueUrl"]
            for kind in ("requests", "dead")
        )

    def send(self, body: str, group: str = "g") -> None:
        self.sqs.send_message(
            QueueUrl=self.requests,
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=uuid.uuid4().hex,
        )

    def received(self, queue: str, **more: Any) -> list[str]:
        answer = self.sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0, **more)
        return [message["Body"] for message in answer.get("Messages", [])]


@pytest.fixture
def queues(stack: Stack) -> Queues:
    return Queues(stack)


@pytest.fixture
def worker(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A worker that a test starts in a thread, with a handler of its own."""
    monkeypatch.syspath_prepend(str(WORKER.parent))
    from worker import Worker  # type: ignore[import-not-found]  # noqa: PLC0415

    made = Worker(queues.sqs, queues.requests, queues.dead_letters, lambda _: None, visibility=3)
    made.thread = threading.Thread(target=made.run)
    yield made
    made.stop()
    queues.send("the last")  # ends the long poll
    made.thread.join(60)
    assert not made.thread.is_alive()


def test_a_group_keeps_its_order_while_one_is_given_back_and_one_takes_long(
    queues: Queues, worker: Any
) -> None:
    handled: list[str] = []
    is_seen_hidden = threading.Event()

    def handle(body: str) -> None:
        handled.append(body)
        if body == "slow":
            is_seen_hidden.wait(60)
        if handled.count("closed") == 1:
            raise NotPerformed(body)

    worker.handle = handle
    for body in ("slow", "closed", "after"):
        queues.send(body)
    worker.thread.start()
    wait_until(lambda: handled)
    # For longer than its visibility timeout nobody else gets it, nor what is behind it.
    assert queues.received(queues.requests, WaitTimeSeconds=6) == []
    is_seen_hidden.set()
    wait_until(lambda: "after" in handled)
    assert handled == ["slow", "closed", "closed", "after"]


@pytest.mark.long
def test_it_acts_once_hands_on_what_nothing_mends_and_ends_what_it_has_at_sigterm(
    queues: Queues, state: State, stack: Stack, tmp_path: Path
) -> None:
    lease = f"lease-{uuid.uuid4().hex[:8]}"
    key: Any = {"AttributeName": "message_id"}
    stack.dynamodb.create_table(
        TableName=lease,
        KeySchema=[key | {"KeyType": "HASH"}],
        AttributeDefinitions=[key | {"AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    practice = f"practice-{uuid.uuid4().hex[:8]}"
    one, other = (f"{practice}-{name}" for name in ("one", "other"))

    def body(message_id: str, **more: Any) -> str:
        return json.dumps({"message_id": message_id, "practice": practice, **more})

    sent = [body(one), body(one), body(one, note="another content"), "no JSON", body(other)]
    for text in sent:
        queues.send(text)
    variables = {
        "QUEUE_URL": queues.requests,
        "DEAD_LETTERS_URL": queues.dead_letters,
        "LEASE_TABLE": lease,
        "APPOINTMENTS_TABLE": stack.effects_table or "",
        "PYTHONPATH": str(PROJECT / "functions"),
    }
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            env=os.environ | environment(state.endpoint_url, **variables),
            stderr=out,
        )
    try:
        done = {"message_id": {"S": other}}
        wait_until(
            lambda: (
                stack.dynamodb.get_item(TableName=lease, Key=done)
                .get("Item", {})
                .get("status", {})
                .get("S")
                == "COMPLETE"
            )
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
    for message_id in (one, other):
        effects = stack.dynamodb.query(
            TableName=stack.effects_table or "",
            KeyConditionExpression="message_id = :id",
            ExpressionAttributeValues={":id": {"S": message_id}},
        )["Items"]
        assert len([item for item in effects if "request" in item]) == 1
    handed_on = queues.received(queues.dead_letters, MaxNumberOfMessages=10)
    assert sorted(handed_on) == sorted(sent[2:4])
    assert queues.received(queues.requests) == []
