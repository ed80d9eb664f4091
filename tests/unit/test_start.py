import json
import time
from collections.abc import Callable
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
TOO_LARGE = {"message_id": "m-1", "text": "x" * 262_144}


class FunctionKilledError(Exception):
    """Where the function's process ends in these tests."""


def reasons(aws: MotoAws) -> list[str]:
    return [message["MessageAttributes"]["reason"]["StringValue"] for message in aws.unstarted()]


def kill(client: Any, moment: str, service: str, operation: str) -> Callable[[], None]:
    """End the function just before a call is made, or just after AWS has done what it asks."""
    event = f"{moment}.{service}.{operation}"

    def die(**_: Any) -> None:
        raise FunctionKilledError

    client.meta.events.register_first(event, die)
    return lambda: client.meta.events.unregister(event, die)


def test_the_row_says_what_was_seen_when_and_by_whom_and_never_changes(aws: MotoAws) -> None:
    aws.starter().start_message(delivery(REQUEST))
    row = aws.fingerprint_row("m-1")
    assert row == {
        "message_id": {"S": "m-1"},
        "fingerprint": {"S": print_of(REQUEST)},
        "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        "memory": {"S": aws.state_machine},
    }
    for later in (REQUEST, REQUEST | {"practice": "other"}):
        aws.starter(now=NOW + timedelta(days=1)).start_message(delivery(later))
        assert aws.fingerprint_row("m-1") == row


@pytest.mark.parametrize("way", ["ledger", "lease"])
def test_what_a_lock_knows_is_refused(aws: MotoAws, way: str) -> None:
    locks = Machine().locks(way, replace(aws, ledger_table=aws.fingerprints_table))
    begun = locks.acquire_processing_lock("m-1", 60, fingerprint=print_of(REQUEST))
    assert isinstance(begun, Attempt)
    for _ in range(2):
        end = aws.starter().start_message(delivery(REQUEST))
        assert isinstance(end.outcome, Refusal)
        assert end.outcome.reason is Reason.OTHER_MEMORY
    assert not aws.executions()


@pytest.mark.parametrize("way", ["ledger", "lease"])
def test_what_a_starter_knows_no_lock_takes(aws: MotoAws, way: str) -> None:
    aws.starter().start_message(delivery(REQUEST))
    row = aws.fingerprint_row("m-1")
    locks = Machine().locks(way, replace(aws, ledger_table=aws.fingerprints_table))

    got = locks.acquire_processing_lock("m-1", 60, fingerprint=print_of(REQUEST))

    assert got == OtherMemory(aws.state_machine)
    assert aws.fingerprint_row("m-1") == row


def print_of(request: Any) -> str:
    message = MessageReader().read(delivery(request))
    assert not isinstance(message, Refusal)
    return message.fingerprint


@pytest.mark.parametrize("code", ["InvalidName", "InvalidExecutionInput", "ValidationException"])
def test_a_message_that_step_functions_never_takes_is_handed_on(aws: MotoAws, code: str) -> None:
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_client_error("start_execution", code)
        end = aws.starter().start_message(delivery(REQUEST))
    assert isinstance(end.outcome, Refusal)
    assert end.outcome.reason is Reason.NOT_STARTABLE
    assert reasons(aws) == ["not_startable"]


def test_a_conflict_that_cannot_be_handed_on_raises(aws: MotoAws) -> None:
    aws.starter().start_message(delivery(REQUEST))
    aws.sqs.delete_queue(QueueUrl=aws.unstarted_queue)
    with pytest.raises(ClientError):
        aws.starter().start_message(delivery(REQUEST | {"practice": "other"}))


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("dynamodb", "put_item", "ProvisionedThroughputExceededException"),
        ("stepfunctions", "start_execution", "ThrottlingException"),
        ("stepfunctions", "start_execution", "ExecutionLimitExceeded"),
        ("stepfunctions", "start_execution", "StateMachineDoesNotExist"),
        ("stepfunctions", "start_execution", "AccessDeniedException"),
    ],
)
def test_at_any_other_answer_a_delivery_raises_and_succeeds_when_it_comes_back(
    aws: MotoAws, service: str, operation: str, code: str
) -> None:
    with Stubber(getattr(aws, service)) as stubber:
        stubber.add_client_error(operation, code, http_status_code=400)
        with pytest.raises(ClientError, match=code):
            aws.starter().start_message(delivery(REQUEST))
    assert not aws.executions()
    assert aws.starter().start_message(delivery(REQUEST)).outcome is Start.STARTED
    assert aws.executions() == {"m-1": 1}


@pytest.mark.parametrize(
    ("moment", "service", "operation"),
    [
        ("before-call", "dynamodb", "PutItem"),
        ("after-call", "dynamodb", "PutItem"),
        ("before-call", "stepfunctions", "StartExecution"),
        ("after-call", "stepfunctions", "StartExecution"),
    ],
)
def test_killed_at_any_step_it_has_acknowledged_nothing_and_the_next_delivery_ends_well(
    aws: MotoAws, moment: str, service: str, operation: str
) -> None:
    revive = kill(getattr(aws, service), moment, service, operation)
    for _ in range(2):
        with pytest.raises(FunctionKilledError):
            aws.starter().start_message(delivery(REQUEST))
    revive()
    end = aws.starter().start_message(delivery(REQUEST))
    assert isinstance(end.outcome, Start)
    assert aws.executions() == {"m-1": 1}
    assert not aws.unstarted()


@pytest.mark.parametrize(("moment", "copies"), [("before-call", 1), ("after-call", 2)])
def test_killed_while_handing_on_it_hands_on_again_rather_than_never(
    aws: MotoAws, moment: str, copies: int
) -> None:
    revive = kill(aws.sqs, moment, "sqs", "SendMessage")
    with pytest.raises(FunctionKilledError):
        aws.starter().start_message(delivery("{"))
    revive()
    aws.starter().start_message(delivery("{"))
    assert reasons(aws) == ["not_json"] * copies


def test_a_conflict_after_a_crash_before_the_start_does_not_take_the_first_one_s_place(
    aws: MotoAws,
) -> None:
    revive = kill(aws.stepfunctions, "before-call", "stepfunctions", "StartExecution")
    with pytest.raises(FunctionKilledError):
        aws.starter().start_message(delivery(REQUEST))
    revive()
    other = aws.starter().start_message(delivery(REQUEST | {"practice": "other"}))
    assert isinstance(other.outcome, Refusal)
    assert not aws.executions()
    assert aws.starter().start_message(delivery(REQUEST)).outcome is Start.STARTED
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
        wait_for_the_next_millisecond()
        again = starter.start_message(delivery(first | {"counter": counter}))
        assert again.outcome is Start.SUPPRESSED
        assert aws.executions() == {f"{status}-1": 1}


def wait_for_the_next_millisecond() -> None:
    """Two starts in one millisecond have one start date, on AWS too."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now:
        pass


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
        revive = kill(aws.stepfunctions, "before-call", "stepfunctions", "StartExecution")
        with pytest.raises(FunctionKilledError):
            aws.starter().start_message(delivery(REQUEST))
        revive()
    answer = {"executionArn": aws.execution_arn("m-1"), "startDate": NOW - started_before}
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_response("start_execution", answer)
        assert aws.starter().start_message(delivery(REQUEST)).outcome is named


# ------------------------------------------------------------------ what a row says

OWN = "arn:own"
MESSAGE = Message("m-1", "{}", "a" * 64)


def refused(known: Row, age: timedelta = timedelta(0)) -> Refusal | None:
    return refusal_of(MESSAGE, known, NOW + age, memory=OWN, names_remembered=timedelta(days=25))


def test_another_content_is_a_conflict_however_old() -> None:
    for age in (timedelta(0), timedelta(days=400)):
        refusal = refused(Row("a" * 63 + "b", NOW, OWN), age)
        assert refusal is not None
        assert (refusal.reason, refusal.message_id) == (Reason.CONFLICT, "m-1")


@pytest.mark.parametrize(
    ("age", "is_refused"),
    [
        (timedelta(0), False),
        (timedelta(days=25), False),
        (timedelta(days=25, milliseconds=1), True),
        (timedelta(minutes=-5), False),  # the clock of whoever wrote the row was ahead
    ],
)
def test_beyond_what_names_are_remembered_for_nobody_can_tell(
    age: timedelta, is_refused: bool
) -> None:
    refusal = refused(Row("a" * 64, NOW, OWN), age)
    assert (refusal is not None) is is_refused
    if refusal is not None:
        assert refusal.reason == Reason.TOO_OLD_TO_TELL


@pytest.mark.parametrize("memory", ["arn:another", "ledger", "lease", ""])
def test_what_another_memory_knows_is_refused(memory: str) -> None:
    refusal = refused(Row("a" * 64, NOW, memory))
    assert refusal is not None
    assert refusal.reason == Reason.OTHER_MEMORY
