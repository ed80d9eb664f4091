"""`actonce demo`, run as a person runs it; that it ends well is in test_readme.py."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from actonce.embedded import faults, functions, lifecycle
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from tests.embedded.command_line import BAD_LINES, demo, start_demo
from tests.embedded.waiting import wait_until
from tests.support.commands import succeeds

pytestmark = [pytest.mark.embedded, pytest.mark.long]


def test_many_faults_and_a_kill_of_all_functions_change_nothing(paths: Paths) -> None:
    shutil.rmtree(paths.faults, ignore_errors=True)  # a new plan tells that the run has begun
    process = start_demo(paths, "--faults", "many", "--messages", "100", "--seed", "7", "--json")

    def killed() -> int:
        assert process.poll() is None, process.communicate()[1]
        state = lifecycle.running(paths)
        return functions.kill(state) if state and _executions(paths) > 30 else 0

    assert wait_until(killed, 200) > 2
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    answer = json.loads(out)
    assert answer["exactly_once"] is True
    assert answer["acted_on_twice"] == answer["lost"] == 0
    assert (answer["sent"], answer["distinct"], answer["started"]) == (120, 100, 100)
    # A message whose effect could not be looked up has both an effect and a dead letter.
    assert answer["effects"] <= 100 <= answer["effects"] + answer["awaiting_decision"]
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


def test_bad_lines_of_a_file_are_refused(paths: Paths, tmp_path: Path) -> None:
    lines = [*BAD_LINES, *(json.dumps({"message_id": f"odd ⛵ <{n}>" * 100}) for n in range(3))]
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines) + "\n")
    answer = demo(paths, "--input", str(file))
    assert (answer["sent"], answer["exactly_once"]) == (len(lines), True)
    # What is too large was not read, so its id is not known.
    assert answer["distinct"] == answer["started"] == answer["effects"] == 4
    # Whichever content of "good" comes first is acted on; the deliveries of the other are refused.
    conflicts = answer["refused"].pop("conflict")
    assert answer["suppressed"] + conflicts == 2
    assert answer["refused"] == {"no_message_id": 2, "not_json": 2, "too_large": 1}


def test_ctrl_c_while_messages_come_to_rest_leaves_neither_the_stack_nor_spark(
    paths: Paths,
) -> None:
    lifecycle.down(paths)  # what the tests before have left; a demo ends what it brought up itself
    process = start_demo(paths, "--audit", "--messages", "100")
    summary = paths.records / "audit" / "summary.json"
    wait_until(summary.exists, 200)  # Spark audits what was sent
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "The embedded AWS that it had brought up is down" in err
    wait_until(lambda: _processes_of(paths) == [])


def _processes_of(paths: Paths) -> list[str]:
    """Those whose command or environment names the folder."""
    listing = succeeds(["ps", "eww", "-eo", "pid=,command="]).splitlines()
    return [line for line in listing if str(paths.home) in line]
