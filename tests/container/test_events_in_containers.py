"""Every event of events/, in a container; asserted on answers, as SAM exits 0 whatever they are."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from actonce.embedded import sam_local
from actonce.embedded.lifecycle import State
from actonce.embedded.sam_local import Answer
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.waiting import wait_until
from tests.support.event_cases import EVENTS, read_event

Invoke = Callable[[str, str], Answer]

ACKNOWLEDGED = Answer({"batchItemFailures": []}, raised=False)
NOTHING_FOUND = Answer({"performed": False, "effect": None}, raised=False)


@pytest.fixture(scope="session")
def invoke(paths: Paths, state: State, stack: Stack) -> Invoke:
    """Gives an event of events/ to a function in a container."""

    def run(function: str, event: str) -> Answer:
        file = EVENTS / f"{event}.json"
        return sam_local.invoke(paths, state, stack, function, file, lambda _: None)

    return run


def test_the_starter_starts_and_refuses(invoke: Invoke, stack: Stack) -> None:
    # tests/unit/test_events.py gives the handler all of them.
    assert invoke("StarterFunction", "mixed_batch") == ACKNOWLEDGED
    listed = stack.stepfunctions.list_executions(stateMachineArn=stack.state_machine)
    assert len(listed["executions"]) == 2
    wait_until(lambda: counts(stack.sqs, stack.unstarted_queue)[0] == 2)


def test_perform_books_what_find_then_finds(invoke: Invoke) -> None:
    assert invoke("AppointmentsFunction", "effect_find_nothing") == NOTHING_FOUND
    performed = invoke("AppointmentsFunction", "effect_perform")
    assert not performed.raised
    assert performed.value["effect"]["practice"] == "north"
    found = invoke("AppointmentsFunction", "effect_find")
    assert found.value["performed"]
    assert found.value["effect"]["appointments"] >= 1


def test_the_name_of_an_error_is_the_one_that_the_state_machine_matches(
    invoke: Invoke, stack: Stack
) -> None:
    stack.dynamodb.put_item(TableName=stack.appointments_table, Item=read_event("rows/closed_book"))
    for event, error in (
        ("effect_perform_rejected", "Rejected"),
        ("effect_perform_closed_book", "NotPerformed"),
    ):
        answer = invoke("AppointmentsFunction", event)
        assert (answer.raised, answer.value["errorType"]) == (True, error)


@pytest.mark.long
@pytest.mark.usefixtures("stack")
def test_the_command_prints_the_answer_and_fails_when_the_handler_raised(
    paths: Paths,
) -> None:
    event = str(EVENTS / "effect_perform_rejected.json")
    run = subprocess.run(
        [sys.executable, "-m", "actonce.cli.app", "sam-local", "AppointmentsFunction", event],
        env=os.environ | {"ACTONCE_DIR": str(paths.home)},
        cwd=PROJECT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert json.loads(run.stdout)["errorType"] == "Rejected"
    assert "sam local invoke AppointmentsFunction" in run.stderr
    assert "AppointmentsFunction raised Rejected." in run.stderr
