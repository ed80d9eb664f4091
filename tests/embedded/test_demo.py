"""`actonce demo`, run as a person runs it."""

import fcntl
import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from actonce.demo import faults
from actonce.embedded import lifecycle
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from tests.embedded.homes import home
from tests.embedded.running_demo import BAD_LINES, demo, start
from tests.embedded.waiting import wait_until

pytestmark = pytest.mark.embedded


def _adds_up(answer: dict[str, Any]) -> None:
    assert answer["exactly_once"] is True
    assert answer["acted_on_twice"] == answer["lost"] == 0
    # A message whose effect could not be looked up has both an effect and a dead letter, and on a
    # machine that is slow beyond all measure SQS gives a message up after five receives.
    assert answer["effects"] <= answer["started"]
    assert answer["effects"] + answer["awaiting_decision"] >= answer["started"]
    assert answer["started"] + sum(answer["refused"].values()) >= answer["distinct"]


@pytest.mark.long
def test_a_person_reads_the_answer_at_a_glance(paths: Paths) -> None:
    out, err = (process := start(paths, "--messages", "40", "--faults", "none")).communicate(
        timeout=300
    )
    assert process.returncode == 0, err
    rows = {line[4:].strip().split("  ")[0]: line.split()[0] for line in out.splitlines() if line}
    assert rows["sent"] == "48"
    assert rows["distinct"] == rows["started"] == rows["effects"] == "40"
    # More of them where a machine is so slow that SQS delivers once more.
    assert int(rows["deliveries"]) >= 52
    assert int(rows["suppressed"]) >= 12
    assert rows["acted on twice"] == rows["lost"] == "0"
    assert "Every message was acted on at most once, and none was lost." in out
    ends = ("started", "suppressed", "came back", "refused")
    assert sum(int(rows[end]) for end in ends) == int(rows["deliveries"])

    # The same traffic again, on top of what is there: every delivery is a duplicate now.
    again = demo(paths, "--messages", "40", "--faults", "none", "--keep")
    assert again["effects"] == again["started"] == 40
    assert again["suppressed"] >= 12 + 52
    assert again["exactly_once"] is True


@pytest.mark.long
def test_many_faults_and_a_kill_of_all_functions_change_nothing(paths: Paths) -> None:
    shutil.rmtree(paths.faults, ignore_errors=True)  # a new plan tells that the run has begun
    process = start(paths, "--faults", "many", "--messages", "100", "--seed", "7", "--json")
    deadline = time.monotonic() + 200
    killed = 0
    while not killed:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[1]
        if _executions(paths) > 30:
            state = lifecycle.running(paths)
            assert state is not None
            killed = lifecycle.kill_functions(state)
        time.sleep(0.2)
    assert killed > 2
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    answer = json.loads(out)
    _adds_up(answer)
    assert answer["sent"] == 120
    assert answer["distinct"] == 100
    # Every row of the table of errors was reached.
    met = {fault.removeprefix("perform ") for fault in faults.injected(paths.faults)}
    assert {fault for row in faults.PERFORM_FAULTS for fault in row} <= met
    # An operator had every other dead letter tried again, and nothing was acted on twice by it.
    assert answer["awaiting_decision"] > 0
    assert "An operator has every other dead letter tried again" in err


def _executions(paths: Paths) -> int:
    state = lifecycle.running(paths)
    if state is None or not (paths.faults / "plan.json").exists():
        return 0
    try:
        stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    except Failed:  # not deployed yet
        return 0
    return len(
        stack.stepfunctions.list_executions(stateMachineArn=stack.state_machine)["executions"]
    )


def test_every_kind_of_bad_line_is_refused_with_its_reason(paths: Paths, tmp_path: Path) -> None:
    lines = [
        *BAD_LINES,
        '{"message_id": ""}',
        '{"message_id": 1}',
        '{"message_id": "1"}',
        json.dumps({"message_id": "odd ⛵ <id>" * 100}),
    ]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines) + "\n")
    answer = demo(paths, "--input", str(file))
    assert answer["sent"] == len(lines)
    assert answer["distinct"] == 3  # what is too large was not read, so its id is not known
    assert answer["started"] == answer["effects"] == 3
    # Whichever content of "good" comes first is acted on; the deliveries of the other are refused.
    conflicts = answer["refused"].pop("conflict")
    assert conflicts in {2, 3}  # 1 and "1" are one id, in two contents
    assert answer["suppressed"] == 3 - conflicts
    assert answer["refused"] == {"no_message_id": 3, "not_json": 2, "too_large": 1}
    assert answer["exactly_once"] is True


def test_a_missing_file_is_wrong_use(paths: Paths) -> None:
    process = start(paths, "--input", "/nowhere/requests.jsonl")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "/nowhere/requests.jsonl: there is no such file" in err


@pytest.mark.long
def test_what_no_demo_has_sent_is_not_thrown_away_unasked(paths: Paths) -> None:
    demo(paths, "--messages", "1", "--faults", "none")
    assert demo(paths, "--messages", "1", "--faults", "none")["sent"] == 1  # a demo's own may go
    state = lifecycle.running(paths)
    assert state is not None
    stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    stack.sqs.send_message(
        QueueUrl=stack.requests_queue,
        MessageBody='{"message_id": "somebodys-own", "practice": "main"}',
    )
    key = {"message_id": {"S": "somebodys-own"}}
    wait_until(
        lambda: "Item" in stack.dynamodb.get_item(TableName=stack.fingerprints_table, Key=key)
    )
    for arguments in ((), ("-p", "Bogus=1", "--yes")):
        _, err = (process := start(paths, "--messages", "1", *arguments)).communicate(timeout=60)
        assert process.returncode == 2
        assert ("what became of the message somebodys-own" in err) is not bool(arguments)
        assert lifecycle.running(paths) == state
    assert demo(paths, "--messages", "1", "--faults", "none", "--yes")["sent"] == 1


def test_a_second_demo_in_one_folder_is_told_and_disturbs_nothing(paths: Paths) -> None:
    before = lifecycle.running(paths)
    with (paths.home / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start(paths, "--messages", "1")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"Another demo runs in {paths.home}" in err
    assert lifecycle.running(paths) == before


@pytest.mark.long
def test_an_effect_written_twice_behind_the_systems_back_is_found(
    paths: Paths, tmp_path: Path
) -> None:
    file = tmp_path / "once.jsonl"
    file.write_text('{"message_id": "once", "practice": "main"}\n')
    before = demo(paths, "--keep", "--input", str(file))
    state = lifecycle.running(paths)
    assert state is not None
    stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    stack.dynamodb.put_item(
        TableName=stack.appointments_table,
        Item={"message_id": {"S": "once"}, "appointment_id": {"S": "appointment-by-hand"}},
    )
    process = start(paths, "--keep", "--messages", "1", "--faults", "none", "--json")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert before["acted_on_twice"] == 0
    assert json.loads(out)["acted_on_twice"] == 1
    assert json.loads(out)["exactly_once"] is False


def test_ctrl_c_leaves_nothing_running_that_the_demo_started(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    paths = home(tmp_path_factory)
    process = start(paths, "--messages", "2000")
    try:
        deadline = time.monotonic() + 120
        while _executions(paths) < 5:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Interrupted. The embedded AWS that it had brought up is down" in err
        assert lifecycle.running(paths) is None
    finally:
        process.kill()
        lifecycle.down(paths)
