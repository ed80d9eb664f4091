"""Where MiniStack is not AWS, and this project knows it.

Each test passes while the gap is there, and says what can go when it closes.
"""

import inspect
import json
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ministack.services import lambda_svc, scheduler
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import provisioners as cfn

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_for_execution, wait_until

ROLE = "arn:aws:iam::000000000000:role/gap"


@contextmanager
def open_gap(what_can_go: str) -> Iterator[None]:
    """What is asserted inside holds while the gap is open."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"MiniStack has closed a gap: {what_can_go} ({error})") from error


def start(stack: Stack, state: dict[str, Any]) -> str:
    """Start a state machine of one state; the execution's ARN."""
    name = f"gap-{uuid.uuid4()}"
    definition = {"QueryLanguage": "JSONata", "StartAt": "Only", "States": {"Only": state}}
    machine = stack.stepfunctions.create_state_machine(
        name=name, definition=json.dumps(definition), roleArn=ROLE
    )["stateMachineArn"]
    return stack.stepfunctions.start_execution(stateMachineArn=machine, name=name, input="{}")[
        "executionArn"
    ]


def error_of(stack: Stack, resource: str, arguments: dict[str, Any], **more: str) -> str:
    """The error of a task, in an execution of its own."""
    task = {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Arguments": arguments}
    return str(wait_for_execution(stack, start(stack, {**task, **more, "End": True})).get("error"))


# --------------------------------------------------------------------------- Step Functions


def test_duplicate_start_of_a_running_execution_is_an_error(stack: Stack) -> None:
    arn = start(stack, {"Type": "Wait", "Seconds": 3, "End": True})
    machine, _, name = arn.replace(":execution:", ":stateMachine:").rpartition(":")

    with open_gap("StartExecution answers a running duplicate with 200, as AWS; moto need not"):
        try:
            stack.stepfunctions.start_execution(stateMachineArn=machine, name=name, input="{}")
            answer = "200"
        except stack.stepfunctions.exceptions.ExecutionAlreadyExists:
            answer = "ExecutionAlreadyExists"
        assert answer == "ExecutionAlreadyExists"
    assert stack.stepfunctions.describe_execution(executionArn=arn)["status"] == "RUNNING"


@pytest.mark.parametrize("resource", ["emr-serverless:startJobRun.sync", "aws-sdk:s3:getObject"])
def test_an_integration_of_the_audit_is_missing(stack: Stack, resource: str) -> None:
    with open_gap("embedded/integrations/ need not stand in for it"):
        assert error_of(stack, resource, {}) == "States.Runtime"


def test_an_execution_that_exists_already_has_another_error(stack: Stack) -> None:
    name = f"gap-{uuid.uuid4()}"
    again = {"StateMachineArn": stack.state_machine, "Name": name, "Input": {}}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name=name, input=json.dumps({"message_id": name})
    )

    with open_gap("embedded/local_audit.py need not rename it"):
        assert error_of(stack, "states:startExecution", again) == "ExecutionAlreadyExists"


# --------------------------------------------------------------------------- other services


def test_reading_a_log_gives_no_token_for_more(
    stack: Stack, send: Callable[[Any], None], message_id: str
) -> None:
    send({"message_id": message_id})
    wait_for_execution(stack, stack.execution_arn(message_id))
    log = stack.starter_log_group
    wait_until(lambda: len(stack.logs.filter_log_events(logGroupName=log)["events"]) > 1)

    answer = stack.logs.filter_log_events(logGroupName=log, limit=1)

    with open_gap("FilterLogEvents pages; nobody need look for one message at a time"):
        assert len(answer["events"]) == 1
        assert "nextToken" not in answer


# --------------------------------------------------------------------------- its source

NESTED = cfn._cfn_nested_stack_deploy


@pytest.mark.parametrize(
    ("what_can_go", "source", "says", "does_not_say"),
    [
        ("allow_expressions_time", sfn, "timeout=1000", None),
        ("evaluate_time_outs", sfn._invoke_with_callback, '"TimeoutSeconds", 99999', "_jsonata"),
        ("name_throttling", lambda_svc._throttle_response, "retryAfterSeconds", "errorType"),
        ("run_python_by_awss_own_client", lambda_svc, 'type = "Runtime.HandlerError"', None),
        ("take_numbers", cfn._lambda_esm_create, "ScalingConfig", "MaximumConcurrency"),
        ("expand_nested", NESTED, r"_parse_template\(template_body\)", "_apply_transforms"),
        ("keep_attributes", NESTED, r"child_name, child_logical_id,\s+\)", None),
        ("retain_nested", cfn._cfn_nested_stack_delete, r"_delete_resource\(", "DeletionPolicy"),
        # In local_stack.py: it need not be so short, nor leave alarms of several metrics out.
        ("LOCAL_RETRY", sfn, r"_scaled_sleep\(min\(sleep_sec, 60\)\)", "JitterStrategy"),
        ("rewrite", cfn._cw_metric_alarm_record, "metric math. is not supported", None),
        # In local_audit.py it need be no function; in test_audit_night.py, time need not be put in.
        ("_function", cfn, "AWS::CloudFormation::Stack", "AWS::EMRServerless"),
        ("scheduled_input", scheduler, "def _tick_schedules", "scheduled-time"),
    ],
)
def test_what_is_worked_around_is_there(
    what_can_go: str, source: Any, says: str, does_not_say: str | None
) -> None:
    text = inspect.getsource(source)
    with open_gap(f"{what_can_go}, in actonce/embedded/server.py or where the row says"):
        assert re.search(says, text)
        assert does_not_say is None or does_not_say not in text
