import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.messages.unstarted import Unstarted, named
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce_core.message import MessageReader
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]


def listed(stack: Stack, name: str) -> list[Unstarted]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return named(queue, MessageReader(), name)


def send_with_attributes(stack: Stack, body: str) -> str:
    return stack.sqs.send_message(
        QueueUrl=stack.requests_queue,
        MessageBody=body,
        MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "urgent"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )["MessageId"]


def test_a_conflict_is_listed_and_shown_comes_back_with_what_it_had_and_is_discarded(
    state: State, stack: Stack, send: Send, message_id: str, tmp_path: Path
) -> None:
    send({"message_id": message_id, "x": 1})
    wait_for_execution(stack, stack.execution_arn(message_id))
    sent = send_with_attributes(stack, json.dumps({"message_id": message_id, "x": 2}))
    (first,) = wait_until(lambda: listed(stack, message_id))
    for reason, expected in (("conflict", 1), ("not_json", 0)):  # it stays in the queue
        told = run_json(state, "unstarted", "list", "--reason", reason)["unstarted"]
        assert sum(one["source_message_id"] == sent for one in told) == expected
    (shown,) = run_json(state, "unstarted", "show", first.entry)["unstarted"]
    assert (shown["reason"], json.loads(shown["body"])["x"]) == ("conflict", 2)
    assert shown["attributes"]["kind"] == {"dataType": "String", "stringValue": "urgent"}
    assert json.loads(shown["started"]["body"])["x"] == 1

    answer = run_json(state, "unstarted", "redrive", message_id)
    assert (answer["counts"], answer["missing"]) == ({"sent_back": 1}, [])

    def came_back() -> list[Unstarted]:
        return [e for e in listed(stack, message_id) if e.entry != first.entry]

    (second,) = wait_until(came_back)
    assert second.source_message_id == first.source_message_id == sent
    assert (second.reason, second.queued.body) == ("conflict", first.queued.body)
    assert second.attributes == first.attributes
    assert listed(stack, first.entry) == []

    discard = ("unstarted", "discard", "--all", "--match", message_id, "--note", "a test of ours")
    file = tmp_path / "discarded.jsonl"
    assert run(state, *discard, "--to", str(file)).returncode == 2  # nobody can be asked
    discarded = run(state, *discard, "--to", str(file), "--yes")
    assert discarded.stdout.endswith("Discarded: 1\n"), discarded.stderr
    assert json.loads(file.read_text())["body"] == first.queued.body
    assert listed(stack, message_id) == []


def test_what_sqs_moved_is_redriven_and_started(
    state: State, stack: Stack, message_id: str
) -> None:
    body = json.dumps({"message_id": message_id})
    stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=body)
    redrive = ("unstarted", "redrive", "--all", "--reason", "received_too_often")
    answer = run(state, *redrive, "--match", message_id, "--yes")
    assert answer.stdout.endswith("Sent back: 1\n"), answer.stderr
    ended = wait_for_execution(stack, stack.execution_arn(message_id))
    assert (ended["status"], listed(stack, message_id)) == ("SUCCEEDED", [])


def test_two_readers_at_once_miss_nothing(stack: Stack) -> None:
    queue_url = stack.sqs.create_queue(QueueName="two-readers")["QueueUrl"]
    ids = {
        stack.sqs.send_message(QueueUrl=queue_url, MessageBody=str(n))["MessageId"]
        for n in range(60)
    }
    together = threading.Barrier(3)
    read: list[set[str]] = []

    def read_all() -> None:
        together.wait()
        with QueueReader(stack.sqs, queue_url) as queue:
            read.append({message.sqs_message_id for message in queue.messages()})

    readers = [threading.Thread(target=read_all) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    stack.sqs.delete_queue(QueueUrl=queue_url)
    assert read == [ids, ids, ids]
