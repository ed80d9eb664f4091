import gzip
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_until


def requests(number: int) -> dict[str, str]:
    """Message ids and bodies; no two runs share an id."""
    ids = [f"send-{uuid.uuid4()}" for _ in range(number)]
    return {
        message_id: json.dumps({"name": "Zoë", "message_id": message_id}, ensure_ascii=False)
        for message_id in ids
    }


def test_a_files_lines_are_sent_recorded_and_acted_on(
    state: State,
    tmp_path: Path,
    appointments: Callable[[str], list[dict[str, Any]]],
) -> None:
    sent = requests(12)
    file = tmp_path / "requests.jsonl"
    file.write_text("\n\n".join(sent.values()))

    summary = run_json(state, "send", str(file), "--record", str(tmp_path / "audit"))
    assert {name: summary[name] for name in ("lines", "sent", "failed")} == {
        "lines": 12,
        "sent": 12,
        "failed": 0,
    }
    assert summary["seconds"] >= 0
    (record,) = (tmp_path / "audit").glob("sent/dt=*/*.jsonl.gz")
    lines = [json.loads(line) for line in gzip.decompress(record.read_bytes()).splitlines()]
    assert {line["message_id"] for line in lines} == set(sent)
    assert sorted(line["line"] for line in lines) == list(range(1, 24, 2))
    for message_id, body in sent.items():
        (appointment,) = wait_until(lambda m=message_id: appointments(m))  # type: ignore[misc]
        assert json.loads(appointment["request"]["S"]) == json.loads(body)


def test_standard_input_is_sent(state: State, stack: Stack) -> None:
    sent = requests(3)
    answer = run(state, "send", "-", input_text="\n".join(sent.values()))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("Sent 3 messages")
    for message_id in sent:
        arn = stack.execution_arn(message_id)
        wait_until(
            lambda arn=arn: (
                arn  # type: ignore[misc]
                in {
                    execution["executionArn"]
                    for execution in stack.stepfunctions.list_executions(
                        stateMachineArn=stack.state_machine
                    )["executions"]
                }
            )
        )


def test_bad_lines_are_named_the_others_sent_and_the_exit_status_says_so(state: State) -> None:
    (good,) = requests(1).values()
    content = f"{good}\n\x01\n{'x' * (1024 * 1024 + 1)}\n"
    answer = run(state, "send", "-", "--json", input_text=content)
    assert answer.returncode == 1
    summary = json.loads(answer.stdout)
    assert (summary["lines"], summary["sent"], summary["failed"]) == (3, 1, 2)
    assert "Line 2: SQS does not take the character U+0001" in answer.stderr
    assert "Line 3: It has 1,048,577 bytes" in answer.stderr


def test_a_record_that_cannot_be_written_is_wrong_use_and_nothing_is_sent(
    state: State, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    answer = run(state, "send", "-", "--record", str(tmp_path / "file"), input_text="{}")
    assert answer.returncode == 2
    assert "--record" in answer.stderr
    assert answer.stdout == ""


def test_a_stack_that_is_not_there_is_named(state: State) -> None:
    answer = run(state, "where", "m-1", "--stack-name", "another")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[0].endswith("stack another")
    assert "\nactonce: There is no stack named 'another' here." in answer.stderr
