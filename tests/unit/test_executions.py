import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from actonce_core.executions import Executions, Start
from actonce_core.message import Message
from actonce_core.refusal import Reason, Refusal
from tests.unit.moto_aws import MotoAws

# An end for each message: it runs on, succeeds or fails as its body asks.
_AS_ASKED = {
    "StartAt": "Asked",
    "States": {
        "Asked": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.body.end", "StringEquals": "SUCCEEDED", "Next": "Done"},
                {"Variable": "$.body.end", "StringEquals": "FAILED", "Next": "Failed"},
            ],
            "Default": "Waiting",
        },
        "Waiting": {"Type": "Wait", "Seconds": 3600, "Next": "Done"},
        "Done": {"Type": "Succeed"},
        "Failed": {"Type": "Fail", "Error": "RejectedByOperator"},
    },
}


def message(message_id: str = "m-1", **body: Any) -> Message:
    return Message(message_id, "a" * 64, json.dumps({"body": body, "message_id": message_id}))


def executions(aws: MotoAws) -> Executions:
    return Executions(aws.stepfunctions, aws.state_machine)


def wait_for_the_next_millisecond() -> None:
    """Two starts in one millisecond have one start date, on AWS too."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now:
        pass


@pytest.fixture
def running_aws() -> Iterator[MotoAws]:
    """Moto's interpreter, which runs executions to their ends."""
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        yield MotoAws.create(_AS_ASKED)


def wait_for(aws: MotoAws, name: str, status: str) -> None:
    deadline = time.monotonic() + 60
    arn = aws.execution_arn(name)
    while aws.stepfunctions.describe_execution(executionArn=arn)["status"] != status:
        assert time.monotonic() < deadline, f"{name} never became {status}"


def test_a_new_message_starts_an_execution_of_its_name_with_its_input(aws: MotoAws) -> None:
    new = message("order 17")
    assert executions(aws).start(new, first_seen_now=True) is Start.STARTED
    execution = aws.stepfunctions.describe_execution(
        executionArn=aws.execution_arn(new.execution_name)
    )
    assert execution["input"] == new.execution_input


def test_a_message_whose_first_delivery_ended_before_the_start_is_started(aws: MotoAws) -> None:
    assert executions(aws).start(message(), first_seen_now=False) is Start.STARTED


def test_a_duplicate_of_a_running_execution_is_suppressed(aws: MotoAws) -> None:
    executions(aws).start(message(), first_seen_now=True)
    wait_for_the_next_millisecond()
    assert executions(aws).start(message(), first_seen_now=False) is Start.SUPPRESSED
    assert aws.executions() == {"m-1": 1}


def test_a_repeated_start_of_the_first_delivery_counts_as_its_start(aws: MotoAws) -> None:
    executions(aws).start(message(), first_seen_now=True)
    wait_for_the_next_millisecond()
    assert executions(aws).start(message(), first_seen_now=True) is Start.STARTED
    assert aws.executions() == {"m-1": 1}


def test_another_input_while_it_runs_is_suppressed(aws: MotoAws) -> None:
    executions(aws).start(message(retry=1), first_seen_now=True)
    assert executions(aws).start(message(retry=2), first_seen_now=False) is Start.SUPPRESSED
    assert aws.executions() == {"m-1": 1}


def test_a_duplicate_of_a_stopped_execution_is_suppressed(aws: MotoAws) -> None:
    executions(aws).start(message(), first_seen_now=True)
    aws.stepfunctions.stop_execution(executionArn=aws.execution_arn("m-1"))
    assert executions(aws).start(message(), first_seen_now=False) is Start.SUPPRESSED
    assert aws.executions() == {"m-1": 1}


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED"])
@pytest.mark.parametrize("retry", [1, 2])
def test_a_duplicate_is_suppressed_whatever_became_of_the_execution(
    running_aws: MotoAws, status: str, retry: int
) -> None:
    first = message(end=status, retry=1)
    executions(running_aws).start(first, first_seen_now=True)
    wait_for(running_aws, "m-1", status)
    wait_for_the_next_millisecond()
    again = message(end=status, retry=retry)
    assert executions(running_aws).start(again, first_seen_now=False) is Start.SUPPRESSED
    assert running_aws.executions() == {"m-1": 1}


@pytest.mark.parametrize("code", ["InvalidName", "InvalidExecutionInput"])
def test_a_name_or_input_that_step_functions_refuses_is_a_refusal(aws: MotoAws, code: str) -> None:
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_client_error("start_execution", code, "the input is {secret}")
        refusal = executions(aws).start(message(), first_seen_now=True)
    assert refusal == Refusal(
        Reason.NOT_STARTABLE, f"Step Functions refused the start: {code}.", "m-1"
    )


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "ExecutionLimitExceeded",
        "StateMachineDoesNotExist",
        "StateMachineDeleting",
        "AccessDeniedException",
        "InternalServerError",
        "ValidationException",
    ],
)
def test_any_other_answer_is_raised(aws: MotoAws, code: str) -> None:
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_client_error("start_execution", code)
        with pytest.raises(ClientError, match=code):
            executions(aws).start(message(), first_seen_now=False)


@pytest.mark.parametrize(
    ("started_before", "first_seen_now", "named"),
    [
        (timedelta(days=1), False, Start.SUPPRESSED),
        (timedelta(days=1), True, Start.STARTED),
        (timedelta(hours=-1), False, Start.STARTED),
    ],
)
def test_an_answer_200_is_named_by_the_original_s_start_date(
    aws: MotoAws, started_before: timedelta, first_seen_now: bool, named: Start
) -> None:
    answer = {
        "executionArn": aws.execution_arn("m-1"),
        "startDate": datetime.now(UTC) - started_before,
    }
    with Stubber(aws.stepfunctions) as stubber:
        stubber.add_response("start_execution", answer)
        assert executions(aws).start(message(), first_seen_now=first_seen_now) is named
