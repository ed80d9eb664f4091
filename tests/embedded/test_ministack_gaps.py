"""Where MiniStack is not AWS, and this project knows it.

Each test passes while the gap is there, and says what can go when it closes.
"""

import inspect
import io
import json
import re
import urllib.request
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ministack.services import lambda_svc, stepfunctions
from ministack.services.cloudformation import provisioners

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_for_execution, wait_until

CreateMachine = Callable[..., str]


@contextmanager
def open_gap(what_can_go: str) -> Iterator[None]:
    """What is asserted inside holds while the gap is open."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"MiniStack has closed a gap: {what_can_go} ({error})") from error


@pytest.fixture(scope="module")
def roles(stack: Stack) -> dict[str, str]:
    machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    function = stack.lambda_.get_function(FunctionName=stack.appointments_function)
    return {"states": machine["roleArn"], "lambda": function["Configuration"]["Role"]}


@pytest.fixture(scope="module")
def create_machine(stack: Stack, roles: dict[str, str]) -> CreateMachine:
    """Creates a state machine of one state, and returns its ARN."""

    def create(state: dict[str, Any], **top_level: Any) -> str:
        definition = {
            "QueryLanguage": "JSONata",
            "StartAt": "Only",
            "States": {"Only": state},
            **top_level,
        }
        return stack.stepfunctions.create_state_machine(
            name=f"gap-{uuid.uuid4()}",
            definition=json.dumps(definition),
            roleArn=roles["states"],
        )["stateMachineArn"]

    return create


def package(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name.replace("_py", ".py"))
            info.external_attr = 0o755 << 16
            archive.writestr(info, text)
    return packed.getvalue()


# --------------------------------------------------------------------------- starting executions


def test_duplicate_start_of_a_running_execution_is_an_error(
    stack: Stack, create_machine: CreateMachine, message_id: str
) -> None:
    machine = create_machine({"Type": "Wait", "Seconds": 3, "End": True})
    start = {"stateMachineArn": machine, "name": message_id, "input": "{}"}
    arn = stack.stepfunctions.start_execution(**start)["executionArn"]

    with open_gap("StartExecution answers a running duplicate with 200, as AWS; moto need not"):
        try:
            stack.stepfunctions.start_execution(**start)
            answer = "200"
        except stack.stepfunctions.exceptions.ExecutionAlreadyExists:
            answer = "ExecutionAlreadyExists"
        assert answer == "ExecutionAlreadyExists"
    assert stack.stepfunctions.describe_execution(executionArn=arn)["status"] == "RUNNING"


# --------------------------------------------------------------------------- running them


def test_time_out_that_is_an_expression_is_not_evaluated(
    stack: Stack, create_machine: CreateMachine, message_id: str
) -> None:
    machine = create_machine(
        {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Arguments": {
                "QueueUrl": stack.dead_letter_queue,
                "MessageBody": {"message_id": message_id},
            },
            "TimeoutSeconds": "{% 1 %}",
            "End": True,
        }
    )
    arn = stack.stepfunctions.start_execution(stateMachineArn=machine, name=message_id)[
        "executionArn"
    ]

    with open_gap("TimeoutSeconds may be JSONata; local_stack need not evaluate it"):
        assert wait_for_execution(stack, arn)["error"] == "States.Runtime"


def invoke(function: str) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": function, "Payload": {}},
        "End": True,
    }


def test_throttled_call_in_an_execution_is_called_what_aws_calls_it(
    stack: Stack, create_machine: CreateMachine, roles: dict[str, str], message_id: str
) -> None:
    function = stack.lambda_.create_function(
        FunctionName=f"gap-throttled-{message_id}",
        Runtime="provided.al2023",
        Role=roles["lambda"],
        Handler="none",
        Code={"ZipFile": package(bootstrap="#!/bin/sh\nexit 1\n")},
    )["FunctionArn"]
    stack.lambda_.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    machine = create_machine(invoke(function))
    arn = stack.stepfunctions.start_execution(stateMachineArn=machine, name=message_id)[
        "executionArn"
    ]

    assert wait_for_execution(stack, arn)["error"] == "Lambda.TooManyRequestsException"
    with open_gap("a throttled call has a name: `name_throttling` in actonce/embedded/server.py"):
        assert "errorType" not in lambda_svc._throttle_response("code", "message")["body"]


def test_built_in_python_runtime_calls_every_exception_the_same(
    stack: Stack, create_machine: CreateMachine, roles: dict[str, str], message_id: str
) -> None:
    code = (
        "class NotPerformed(Exception): pass\n"
        "def handler(event, context): raise NotPerformed('nothing happened')\n"
    )
    function = stack.lambda_.create_function(
        FunctionName=f"gap-python-{message_id}",
        Runtime="python3.11",
        Role=roles["lambda"],
        Handler="raising.handler",
        Code={"ZipFile": package(raising_py=code)},
    )["FunctionArn"]
    machine = create_machine(invoke(function))
    arn = stack.stepfunctions.start_execution(stateMachineArn=machine, name=message_id)[
        "executionArn"
    ]

    with open_gap("its Python runtime names errors as AWS's; lambda_runtime's bootstrap can go"):
        assert wait_for_execution(stack, arn)["error"] == "Runtime.HandlerError"


# --------------------------------------------------------------------------- other services


def test_concurrency_of_an_event_source_mapping_stays_text_when_it_is_a_parameter(
    stack: Stack,
) -> None:
    cloudformation = stack.aws.client("cloudformation")
    name = f"gap-{uuid.uuid4()}"
    template = {
        "Parameters": {"Most": {"Type": "Number"}},
        "Resources": {
            "Queue": {"Type": "AWS::SQS::Queue"},
            "Mapping": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "FunctionName": stack.starter_function,
                    "Enabled": False,
                    "ScalingConfig": {"MaximumConcurrency": {"Ref": "Most"}},
                },
            },
        },
        "Outputs": {"Mapping": {"Value": {"Ref": "Mapping"}}},
    }
    cloudformation.create_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": "Most", "ParameterValue": "3"}],
    )
    try:
        outputs = wait_until(
            lambda: cloudformation.describe_stacks(StackName=name)["Stacks"][0].get("Outputs")
        )
        # boto3 would make a number of it; the poller, which fails on text, does not.
        path = f"/2015-03-31/event-source-mappings/{outputs[0]['OutputValue']}"
        with urllib.request.urlopen(f"{stack.aws.endpoint_url}{path}", timeout=60) as answer:
            mapping = json.load(answer)
        with open_gap("MaximumConcurrency is a number; local_stack need not write it out"):
            assert isinstance(mapping["ScalingConfig"]["MaximumConcurrency"], str)
    finally:
        cloudformation.delete_stack(StackName=name)


def test_alarm_of_two_metrics_is_refused(stack: Stack) -> None:
    cloudformation = stack.aws.client("cloudformation")
    name = f"gap-{uuid.uuid4()}"
    metric = {"Metric": {"Namespace": "AWS/SQS", "MetricName": "m"}, "Period": 60, "Stat": "Sum"}
    alarm = {
        "Metrics": [
            {"Id": "a", "MetricStat": metric, "ReturnData": False},
            {"Id": "b", "Expression": "a > 0"},
        ],
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    template = {"Resources": {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm}}}
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))
    try:
        status = wait_until(
            lambda: (
                found
                if (
                    found := cloudformation.describe_stacks(StackName=name)["Stacks"][0][
                        "StackStatus"
                    ]
                ).endswith("COMPLETE")
                else ""
            )
        )
        with open_gap("CloudFormation makes alarms of several metrics; local_stack may keep them"):
            assert status == "ROLLBACK_COMPLETE"
    finally:
        cloudformation.delete_stack(StackName=name)


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


def test_a_nested_template_is_deployed_without_its_transform() -> None:
    with open_gap("expand_nested in actonce/embedded/server.py can go"):
        deploys = inspect.getsource(provisioners._cfn_nested_stack_deploy)
        assert "_parse_template(template_body)" in deploys
        assert "_apply_transforms" not in deploys


def test_the_update_of_a_nested_stack_knows_no_attributes_of_what_it_leaves_alone() -> None:
    with open_gap("keep_attributes in actonce/embedded/server.py can go"):
        deploys = inspect.getsource(provisioners._cfn_nested_stack_deploy)
        (call,) = re.findall(r"= _update_resource\((.*?)\n\s*\)", deploys, re.DOTALL)
        assert "child_logical_id" in call
        assert "Attributes" not in call


def test_an_expression_is_ended_after_a_second_of_the_clock() -> None:
    with open_gap("allow_expressions_time in actonce/embedded/server.py can go"):
        assert "timeout=1000" in inspect.getsource(stepfunctions)


def test_a_retry_knows_neither_jitter_nor_a_longest_delay_of_its_own() -> None:
    text = inspect.getsource(stepfunctions)

    with open_gap("LOCAL_RETRY in actonce/embedded/local_stack.py need not be so short"):
        assert "JitterStrategy" not in text
        assert "MaxDelaySeconds" not in text
        assert "_scaled_sleep(min(sleep_sec, 60))" in text
