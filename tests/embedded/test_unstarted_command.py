import json
import threading
from collections.abc import Callable
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


def test_what_could_not_be_started_is_listed_and_shown_and_stays(
    state: State, stack: Stack
) -> None:
    sent = send_with_attributes(stack, "{not json")
    wait_until(lambda: listed(stack, sent))
    for _ in range(2):
        everything = run_json(state, "unstarted", "list", "--reason", "not_json")["unstarted"]
        (entry,) = [one for one in everything if one["source_message_id"] == sent]
        assert (entry["reason"], entry["message_id"]) == ("not_json", None)
        assert entry["detail"].startswith("The body is not strict JSON")
    assert entry["sqs_message_id"] in run(state, "unstarted", "list").stdout
    others = run_json(state, "unstarted", "list", "--reason", "conflict")["unstarted"]
    assert sent not in {one["source_message_id"] for one in others}

    (shown,) = run_json(state, "unstarted", "show", entry["sqs_message_id"])["unstarted"]
    assert shown["body"] == "{not json"
    assert shown["attributes"]["kind"] == {"dataType": "String", "stringValue": "urgent"}
    assert "{not json" in run(state, "unstarted", "show", sent).stdout


def test_a_redriven_conflict_comes_back_with_what_it_had(
    state: State, stack: Stack, send: Send, message_id: str
) -> None:
    send({"message_id": message_id, "x": 1})
    wait_for_execution(stack, stack.execution_arn(message_id))
    sent = send_with_attributes(stack, json.dumps({"message_id": message_id, "x": 2}))
    (first,) = wait_until(lambda: listed(stack, message_id))

    answer = run_json(state, "unstarted", "redrive", message_id)
    assert (answer["counts"], answer["missing"]) == ({"sent_back": 1}, [])

    def came_back() -> list[Unstarted]:
        return [e for e in listed(stack, message_id) if e.sqs_message_id != first.sqs_message_id]

    (second,) = wait_until(came_back)
    assert second.source_message_id == first.source_message_id == sent
    assert (second.reason, second.queued.body) == ("conflict", first.queued.body)
    assert second.attributes == first.attributes
    assert set(second.attributes) == {"kind", "raw"}
    assert listed(stack, first.sqs_message_id) == []


def test_a_redriven_message_that_can_be_started_now_is(
    state: State, stack: Stack, message_id: str
) -> None:
    # As if SQS had moved it: with its producer's attributes and no reason.
    body = json.dumps({"message_id": message_id})
    stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=body)
    (entry,) = listed(stack, message_id)
    assert entry.reason == "received_too_often"

    redrive = ("unstarted", "redrive", "--all", "--reason", "received_too_often")
    assert run(state, *redrive).returncode == 2  # nobody can be asked
    answer = run(state, *redrive, "--match", message_id, "--yes")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("To redrive: 1 delivery ")
    assert answer.stdout.endswith("Sent back: 1\n")
    ended = wait_for_execution(stack, stack.execution_arn(message_id))
    assert ended["status"] == "SUCCEEDED"
    assert listed(stack, message_id) == []


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
