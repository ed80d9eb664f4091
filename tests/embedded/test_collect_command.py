import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def read(root: Path, stream: str) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in sorted(root.glob(f"{stream}/dt=*/*.jsonl.gz"))
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]


def test_one_messages_records_of_every_stream_are_collected(
    state: State, stack: Stack, message_id: str, tmp_path: Path
) -> None:
    body = json.dumps({"message_id": message_id, "patient": "patient-0815"})
    requests = tmp_path / "requests.jsonl"
    requests.write_text(f"{body}\n{body}\n")
    run_json(state, "send", str(requests), "--record", str(tmp_path / "sent"))
    wait_for_execution(stack, stack.execution_arn(message_id))
    records = tmp_path / "records"

    def of_message(stream: str) -> list[dict[str, Any]]:
        # What was refused may have no id.
        return [line for line in read(records, stream) if line.get("message_id") == message_id]

    def collected() -> bool:
        # A line of the log is there a moment after the execution that it tells of.
        arguments = ("--day", "today", "--sent", str(tmp_path / "sent"), "--to", str(records))
        summary = run_json(state, "collect", *arguments)
        assert summary["missing"] == []
        ((day, lines),) = ((one["day"], one["lines"]) for one in summary["days"])
        assert day == today()
        for stream, number in lines.items():
            assert number == len(read(records, stream))
        return len(of_message("deliveries")) == 2

    wait_until(collected)

    sent = of_message("sent")
    assert [line["line"] for line in sent] == [1, 2]
    deliveries = of_message("deliveries")
    assert sorted(line["end"] for line in deliveries) == ["started", "suppressed"]
    assert {d["sqs_message_id"] for d in deliveries} == {s["sqs_message_id"] for s in sent}
    executions = of_message("executions")
    assert [(e["status"], e["outcome"]) for e in executions] == [
        ("RUNNING", None),
        ("SUCCEEDED", "performed"),
    ]
    assert executions[0]["at"] <= executions[1]["at"] == executions[1]["stopped_at"]
    (effect,) = of_message("effects")
    assert executions[0]["at"] <= effect["at"] <= executions[1]["at"]
    assert not any("patient-0815" in json.dumps(line) for line in deliveries + executions)
    assert of_message("dead_letters") == []


def test_a_dead_letter_and_its_decision_are_collected(
    state: State, stack: Stack, send: Callable[[Any], None], message_id: str, tmp_path: Path
) -> None:
    send({"message_id": message_id, "practice": 5})  # rejected: no name of a practice
    wait_until(lambda: run(state, "dead-letters", "show", message_id).returncode == 0)

    def records() -> list[list[dict[str, Any]]]:
        arguments = ("--stream", "dead_letters", "--stream", "executions", "--to", str(tmp_path))
        run_json(state, "collect", "--day", "today", *arguments)
        return [
            [line for line in read(tmp_path, stream) if line.get("message_id") == message_id]
            for stream in ("dead_letters", "executions")
        ]

    (posted,), (running,) = records()
    assert (posted["event"], posted["reason"], posted["decision"]) == ("posted", "rejected", None)
    assert running["status"] == "RUNNING"
    answer = run(state, "dead-letters", "reject", message_id, "--note", "By telephone.")
    assert answer.returncode == 0, answer.stderr
    wait_for_execution(stack, stack.execution_arn(message_id))
    (first, decided), (_, ended) = records()
    assert first == posted
    assert (decided["event"], decided["decision"]) == ("decided", "reject")
    assert (decided["note"], ended["status"]) == ("By telephone.", "FAILED")
    assert posted["at"] < decided["at"] <= ended["at"]
    assert not (tmp_path / "deliveries").exists()


def test_a_person_sees_a_table_what_to_know_and_what_is_missing(
    state: State, tmp_path: Path
) -> None:
    answer = run(state, "collect", "--day", "today", "--to", str(tmp_path / "records"))
    assert answer.returncode == 0, answer.stderr
    header, row, *notes = answer.stdout.splitlines()
    assert header.split() == ["Day", "sent", "deliveries", "executions", "effects", "dead_letters"]
    assert row.split()[:2] == [today(), "-"]
    assert [note.split(":")[0] for note in notes] == ["Note", "Note"]

    (tmp_path / "file").write_text("")
    for day, folder, said in (
        ("2026-01-31", "records", "Missing: deliveries of 2026-01-31"),
        ("today", "file", "cannot be read or written"),
    ):
        answer = run(state, "collect", "--day", day, "--to", str(tmp_path / folder))
        assert answer.returncode == 1
        assert said in answer.stderr
