"""The commands that send, tell, collect, decide and send back, run as a person runs them."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.messages.unstarted import Unstarted, named
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.message import MessageReader
from tests.actonce_server import run_actonce
from tests.embedded.command_line import environment, run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]


def collected(state: State, root: Path, message_id: str, *options: str) -> dict[str, list[Any]]:
    """The records of one message, by stream, of a collection of today."""
    today = datetime.now(UTC).date().isoformat()
    summary = run_json(state, "collect", "--day", "today", *options, "--to", str(root))
    assert summary["missing"] == []
    (day,) = summary["days"]
    assert day["day"] == today
    found: dict[str, list[Any]] = {}
    for stream, number in day["lines"].items():
        files = root.glob(f"{stream}/dt={today}/*.jsonl.gz")
        lines = [
            json.loads(line)
            for file in files
            for line in gzip.decompress(file.read_bytes()).splitlines()
        ]
        assert len(lines) == number
        # What was refused may have no id.
        found[stream] = [line for line in lines if line.get("message_id") == message_id]
    return found


def test_what_is_sent_is_acted_on_told_and_recorded(
    state: State, stack: Stack, message_id: str, tmp_path: Path
) -> None:
    body = {"message_id": message_id, "patient": "Zoë"}
    requests = tmp_path / "requests.jsonl"
    requests.write_text(json.dumps(body, ensure_ascii=False))
    sent = str(tmp_path / "sent")
    summary = run_json(state, "send", str(requests), "--record", sent)
    assert (summary["lines"], summary["sent"], summary["failed"]) == (1, 1, 0)
    wait_for_execution(stack, stack.execution_arn(message_id))
    again = [json.dumps(body), "", json.dumps(body | {"patient": "another"}), "\x01"]
    answer = run(state, "send", "-", "--record", sent, input_text="\n".join(again))
    assert answer.returncode == 1
    assert "Line 4: SQS does not take the character U+0001" in answer.stderr

    def told() -> Any:
        story = run_json(state, "where", message_id)
        return story if len(story["deliveries"]) == 2 and story["unstarted"] else None

    story = wait_until(told)
    assert story["message_id"] == story["execution_name"] == message_id
    assert [delivery["end"] for delivery in story["deliveries"]] == ["started", "suppressed"]
    assert [line["reason"] for line in story["conflicts"]] == ["conflict"]
    assert story["fingerprint"]["fingerprint"] == story["deliveries"][0]["fingerprint"]
    assert story["execution"]["outcome"] == "performed"
    (effect,) = story["effects"]
    assert (effect["description"]["practice"], "request" in str(effect)) == ("main", False)
    assert [entry["reason"] for entry in story["unstarted"]] == ["conflict"]
    times = [moment["at"] for moment in story["timeline"]]
    assert times == sorted(times)

    records = collected(state, tmp_path / "records", message_id, "--sent", sent)
    assert sorted(line["line"] for line in records["sent"]) == [1, 1, 3]
    ends = sorted(line["end"] for line in records["deliveries"])
    assert ends == ["refused", "started", "suppressed"]
    sqs_ids = {line["sqs_message_id"] for line in records["sent"]}
    assert {line["sqs_message_id"] for line in records["deliveries"]} == sqs_ids
    started, ended = records["executions"]
    assert (started["status"], ended["status"]) == ("RUNNING", "SUCCEEDED")
    (effect,) = records["effects"]
    assert started["at"] <= effect["at"] <= ended["at"]
    assert "Zoë" not in json.dumps(records, ensure_ascii=False)


# --------------------------------------------------------------------------- unstarted


def entries(stack: Stack, name: str) -> list[Unstarted]:
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        return named(queue, MessageReader(), name)


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
        told = run_json(state, "unstarted", "list", "--reason", reason)["unstarted"]
        assert sum(one["source_message_id"] == sent for one in told) == expected
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
    assert found.pop("performed-again") == "told"
    assert found.pop("not-performed") == "not tried"
    assert set(found.values()) == {"passed"}
