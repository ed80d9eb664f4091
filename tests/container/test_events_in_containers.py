"""Every event of events/, in a container; asserted on answers, as SAM exits 0 whatever they are."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from actonce.embedded import sam_local
from actonce.embedded.lifecycle import State
from actonce.embedded.sam_local import Answer
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import WrongUse
from tests.support.event_cases import EVENTS, STARTER_CASES, StarterCase, read_event

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

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


def execution_names(stack: Stack) -> set[str]:
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=stack.state_machine
    )
    return {execution["name"] for page in pages for execution in page["executions"]}


def take_unstarted(stack: Stack, number: int) -> "list[MessageTypeDef]":
    """Take messages out of UnstartedQueue, and one more if it is there to be seen."""
    messages: list[MessageTypeDef] = []
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        batch = stack.sqs.receive_message(
            QueueUrl=stack.unstarted_queue,
            MessageAttributeNames=["All"],
            MaxNumberOfMessages=10,
        ).get("Messages", [])
        for message in batch:
            stack.sqs.delete_message(
                QueueUrl=stack.unstarted_queue, ReceiptHandle=message["ReceiptHandle"]
            )
        messages += batch
        if len(messages) >= number and not batch:
            break
    return messages


# tests/unit/test_events.py gives the handler all of them.
@pytest.mark.parametrize(
    "case",
    [case for case in STARTER_CASES if case.event in {"one_message", "mixed_batch"}],
    ids=str,
)
def test_a_starter_event_ends_as_documented(
    case: StarterCase, invoke: Invoke, stack: Stack
) -> None:
    if case.fingerprint_row:
        stack.dynamodb.put_item(
            TableName=stack.fingerprints_table, Item=read_event(case.fingerprint_row)
        )
    before = execution_names(stack)

    assert invoke("StarterFunction", case.event) == ACKNOWLEDGED

    assert len(execution_names(stack) - before) == case.started
    unstarted = take_unstarted(stack, len(case.refused))
    reasons = [message["MessageAttributes"]["reason"]["StringValue"] for message in unstarted]
    assert tuple(sorted(reasons)) == case.refused
    bodies = {record["body"] for record in read_event(case.event)["Records"]}
    assert {message["Body"] for message in unstarted} <= bodies


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


def test_a_function_that_the_template_does_not_have_is_named(invoke: Invoke) -> None:
    with pytest.raises(WrongUse, match="AppointmentsFunction, StarterFunction"):
        invoke("NoFunction", "one_message")
