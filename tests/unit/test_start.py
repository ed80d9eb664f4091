"""From a delivery to its execution, wherever AWS says no or the process dies."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from actonce_core.locking.locks import Attempt, OtherMemory
from actonce_core.message import Message, MessageReader, Reason, Refusal
from actonce_core.start import Row, Start, refusal_of
from tests.support.deliveries import delivery
from tests.support.lock_machine import Machine
from tests.support.moto_aws import NOW, MotoAws

REQUEST = {"message_id": "m-1", "practice": "main"}
OTHER = REQUEST | {"practice": "other"}
ways = pytest.mark.parametrize("way", ["ledger", "lease"])


class FunctionKilled(Exception):
    """Where the function's process ends in these tests."""


@contextmanager
def killed(aws: MotoAws, moment: str, service: str, operation: str) -> Iterator[None]:
    """End the function just before a call is made, or just after AWS has done what it asks."""
    events = getattr(aws, service).meta.events

    def die(**_: Any) -> None:
        raise FunctionKilled

    events.register_first(f"{moment}.{service}.{operation}", die)
    yield
    events.unregister(f"{moment}.{service}.{operation}", die)


def start(aws: MotoAws, request: Any = REQUEST) -> Start | Reason:
    """How a delivery ends."""
    outcome = aws.starter().start_message(delivery(request)).outcome
    return outcome.reason if isinstance(outcome, Refusal) else outcome


def print_of(request: Any) -> str:
    message = MessageReader().read(delivery(request))
    assert isinstance(message, Message)
    return message.fingerprint


def test_the_row_says_what_was_seen_when_and_by_whom_and_never_changes(aws: MotoAws) -> None:
    start(aws)
    row = aws.fingerprint_row("m-1")
    assert row == {
        "message_id": {"S": "m-1"},
        "fingerprint": {"S": print_of(REQUEST)},
        "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        "memory": {"S": aws.state_machine},
    }
    for later in (REQUEST, OTHER):
        aws.starter(now=NOW + timedelta(days=1)).start_message(delivery(later))
        assert aws.fingerprint_row("m-1") == row


@ways
def test_what_a_lock_knows_is_refused(aws: MotoAws, way: str) -> None:
    locks = Machine().locks(way, replace(aws, ledger_table=aws.fingerprints_table))
    begun = locks.acquire_processing_lock("m-1", 60, fingerprint=print_of(REQUEST))
    assert isinstance(begun, Attempt)
    assert [start(aws) for _ in range(2)] == [Reason.OTHER_MEMORY] * 2
    assert not aws.executions()


@ways
def test_what_a_starter_knows_no_lock_takes(aws: MotoAws, way: str) -> None:
    start(aws)
    row = aws.fingerprint_row("m-1")
    locks = Machine().locks(way, replace(aws, ledger_table=aws.fingerprints_table))

    got = locks.acquire_processing_lock("m-1", 60, fingerprint=print_of(REQUEST))

    assert got == OtherMemory(aws.state_machine)
    assert aws.fingerprint_row("m-1") == row


@pytest.mark.parametrize("code", ["InvalidName", "InvalidExecutionInput", "ValidationException"])
def test_a_message_that_step_functions_never_takes_is_handed_on(aws: MotoAws, code: str) -> None:
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_client_error("start_execution", code)
        assert start(aws) is Reason.NOT_STARTABLE
    assert aws.reasons() == ["not_startable"]


def test_a_conflict_that_cannot_be_handed_on_raises(aws: MotoAws) -> None:
    start(aws)
    aws.sqs.delete_queue(QueueUrl=aws.unstarted_queue)
    with pytest.raises(ClientError):
        start(aws, OTHER)


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("dynamodb", "put_item", "ProvisionedThroughputExceededException"),
        ("stepfunctions", "start_execution", "ThrottlingException"),
        ("stepfunctions", "start_execution", "StateMachineDoesNotExist"),
    ],
)
def test_at_any_other_answer_a_delivery_raises_and_succeeds_when_it_comes_back(
    aws: MotoAws, service: str, operation: str, code: str
) -> None:
    with Stubber(getattr(aws, service)) as stubber:
        stubber.add_client_error(operation, code, http_status_code=400)
        with pytest.raises(ClientError, match=code):
            start(aws)
    assert not aws.executions()
    assert start(aws) is Start.STARTED
    assert aws.executions() == {"m-1": 1}


@pytest.mark.parametrize("moment", ["before-call", "after-call"])
@pytest.mark.parametrize(
    ("service", "operation"), [("dynamodb", "PutItem"), ("stepfunctions", "StartExecution")]
)
def test_killed_at_any_step_it_has_acknowledged_nothing_and_the_next_delivery_ends_well(
    aws: MotoAws, moment: str, service: str, operation: str
) -> None:
    with killed(aws, moment, service, operation):
        for _ in range(2):
            with pytest.raises(FunctionKilled):
                start(aws)
    assert isinstance(start(aws), Start)
    assert aws.executions() == {"m-1": 1}
    assert not aws.unstarted()


@pytest.mark.parametrize(("moment", "copies"), [("before-call", 1), ("after-call", 2)])
def test_killed_while_handing_on_it_hands_on_again_rather_than_never(
    aws: MotoAws, moment: str, copies: int
) -> None:
    with killed(aws, moment, "sqs", "SendMessage"), pytest.raises(FunctionKilled):
        start(aws, "{")
    start(aws, "{")
    assert aws.reasons() == ["not_json"] * copies


def test_a_conflict_after_a_crash_before_the_start_does_not_take_the_first_one_s_place(
    aws: MotoAws,
) -> None:
    crash = killed(aws, "before-call", "stepfunctions", "StartExecution")
    with crash, pytest.raises(FunctionKilled):
        start(aws)
    assert start(aws, OTHER) is Reason.CONFLICT
    assert not aws.executions()
    assert start(aws) is Start.STARTED
    execution = aws.stepfunctions.describe_execution(executionArn=aws.execution_arn("m-1"))
    assert json.loads(json.loads(execution["input"])["body"]) == REQUEST


# ------------------------------------------------------------------ what StartExecution answers

# An end for each message: it runs on, succeeds or fails as its id begins.
_AS_ASKED = {
    "StartAt": "Asked",
    "States": {
        "Asked": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.message_id", "StringMatches": "SUCCEEDED*", "Next": "Done"},
                {"Variable": "$.message_id", "StringMatches": "FAILED*", "Next": "Failed"},
            ],
            "Default": "Waiting",
        },
        "Waiting": {"Type": "Wait", "Seconds": 3600, "Next": "Done"},
        "Done": {"Type": "Succeed"},
        "Failed": {"Type": "Fail", "Error": "RejectedByOperator"},
    },
}


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED"])
@pytest.mark.parametrize("counter", [1, 2])
def test_a_duplicate_is_suppressed_whatever_became_of_the_execution(
    status: str, counter: int
) -> None:
    """With another input, too: a counter that is not in the content."""
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        aws = MotoAws.create(_AS_ASKED)
        starter = aws.starter(MessageReader(content_from="message_id"), now=None)
        first = {"message_id": f"{status}-1", "counter": 1}
        assert starter.start_message(delivery(first)).outcome is Start.STARTED
        arn = aws.execution_arn(f"{status}-1")
        deadline = time.monotonic() + 60
        while aws.stepfunctions.describe_execution(executionArn=arn)["status"] != status:
            assert time.monotonic() < deadline, f"it never became {status}"
        started_in = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 <= started_in:
            pass  # two starts in one millisecond have one start date, on AWS too
        again = starter.start_message(delivery(first | {"counter": counter}))
        assert again.outcome is Start.SUPPRESSED
        assert aws.executions() == {f"{status}-1": 1}


@pytest.mark.parametrize(
    ("started_before", "is_known", "named"),
    [
        (timedelta(days=1), True, Start.SUPPRESSED),
        (timedelta(days=1), False, Start.STARTED),
        (timedelta(hours=-1), True, Start.STARTED),
    ],
)
def test_an_answer_200_is_named_by_the_original_s_start_date(
    aws: MotoAws, started_before: timedelta, is_known: bool, named: Start
) -> None:
    if is_known:
        crash = killed(aws, "before-call", "stepfunctions", "StartExecution")
        with crash, pytest.raises(FunctionKilled):
            start(aws)
    answer = {"executionArn": aws.execution_arn("m-1"), "startDate": NOW - started_before}
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_response("start_execution", answer)
        assert start(aws) is named


# ------------------------------------------------------------------ what a row says

OWN = "arn:own"
SAME = "a" * 64
DAYS = timedelta(days=1)


@pytest.mark.parametrize(
    ("fingerprint", "memory", "age", "reason"),
    [
        (SAME, OWN, 0 * DAYS, None),
        (SAME, OWN, 25 * DAYS, None),
        (SAME, OWN, timedelta(minutes=-5), None),  # the clock of whoever wrote the row was ahead
        (SAME, OWN, 25 * DAYS + timedelta(milliseconds=1), Reason.TOO_OLD_TO_TELL),
        ("a" * 63 + "b", OWN, 0 * DAYS, Reason.CONFLICT),
        ("a" * 63 + "b", "", 400 * DAYS, Reason.CONFLICT),
        *((SAME, other, 0 * DAYS, Reason.OTHER_MEMORY) for other in ("arn:another", "lease", "")),
    ],
)
def test_a_row_lets_through_what_its_name_can_answer_for(
    fingerprint: str, memory: str, age: timedelta, reason: Reason | None
) -> None:
    message, known = Message("m-1", "{}", SAME), Row(fingerprint, NOW, memory)
    refusal = refusal_of(message, known, NOW + age, memory=OWN, names_remembered=25 * DAYS)
    assert (refusal and refusal.reason) == reason
    assert refusal is None or refusal.message_id == "m-1"
