"""Commands that only a deployed stack tries, run as a person runs them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.messages.unstarted import Unstarted, find_by_message_id
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.message import MessageReader
from tests.embedded.command_line import environment, run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support.actonce_server import run_actonce

Send = Callable[[Any], None]


def entries(stack: Stack, name: str) -> list[Unstarted]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return find_by_message_id(queue, MessageReader(), name)


def test_a_conflict_is_listed_and_shown_comes_back_with_what_it_had_and_is_discarded(
    state: State, stack: Stack, send: Send, message_id: str, tmp_path: Path
) -> None:
    send({"message_id": message_id, "x": 1})
    wait_for_execution(stack, stack.execution_arn(message_id))
    sent = stack.sqs.send_message(
        QueueUrl=stack.requests_queue,
        MessageBody=json.dumps({"message_id": message_id, "x": 2}),
        MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "urgent"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )["MessageId"]
    (first,) = wait_until(lambda: entries(stack, message_id))
    for reason, expected in (("conflict", 1), ("not_json", 0)):  # it stays in the queue
        result = run_json(state, "unstarted", "list", "--reason", reason)["unstarted"]
        assert sum(one["source_message_id"] == sent for one in result) == expected
    (shown,) = run_json(state, "unstarted", "show", first.entry)["unstarted"]
    assert (shown["reason"], json.loads(shown["body"])["x"]) == ("conflict", 2)
    assert shown["attributes"]["kind"] == {"dataType": "String", "stringValue": "urgent"}
    assert json.loads(shown["started"]["body"])["x"] == 1

    answer = run_json(state, "unstarted", "send-back", message_id)
    assert (answer["counts"], answer["missing"]) == ({"sent_back": 1}, [])

    def came_back() -> list[Unstarted]:
        return [e for e in entries(stack, message_id) if e.entry != first.entry]

    (second,) = wait_until(came_back)
    assert second.source_message_id == first.source_message_id == sent
    assert (second.reason, second.queued.body) == ("conflict", first.queued.body)
    assert second.attributes == first.attributes
    assert entries(stack, first.entry) == []

    discard = ("unstarted", "discard", "--all", "--match", message_id, "--note", "a test of ours")
    file = tmp_path / "discarded.jsonl"
    assert run(state, *discard, "--to", str(file)).returncode == 2  # nobody can be asked
    discarded = run(state, *discard, "--to", str(file), "--yes")
    assert discarded.stdout.endswith("Discarded: 1\n"), discarded.stderr
    assert json.loads(file.read_text())["body"] == first.queued.body
    assert entries(stack, message_id) == []


def test_the_example_keeps_the_contract_also_where_its_process_is_killed(
    state: State, embedded_paths: Paths
) -> None:
    bodies = ("--body", '{"practice": "checked"}', "--rejected", '{"practice": 7}')
    check = ("effect", "check", *bodies, "--margin", "0.05", "--json", "--yes")
    home = {"ACTONCE_DIR": str(embedded_paths.home)}
    answer = run_actonce(check, environment(state.endpoint_url, **home), seconds=200)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    found = {one["check"]: one["status"] for one in json.loads(answer.stdout)["checks"]}
    assert found.pop("not-performed") == "not tried"
    assert set(found.values()) == {"passed"}


def test_each_assumption_about_the_states_holds_of_what_is_deployed(
    state: State, stack: Stack
) -> None:
    result = run_json(state, "doctor", "--states")
    assert {one["verdict"] for one in result["states"]} == {"holds"}
    lines = run(state, "doctor", "--states").stdout.splitlines()
    assert "HOLDS (PerformEffect: Catch sees an error in Assign)" in lines
    assert (
        lines[-1] == f"{stack.display_name}: {len(lines) - 1} of {len(lines) - 1} assumptions hold."
    )
