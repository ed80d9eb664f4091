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
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ministack.services import lambda_svc, stepfunctions
from ministack.services.cloudformation import provisioners

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_for_execution, wait_until

ROLE = "arn:aws:iam::000000000000:role/gap"

CreateFunction = Callable[..., str]


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


def test_time_out_may_be_an_expression(stack: Stack) -> None:
    queue = stack.sqs.create_queue(QueueName=f"gap-{uuid.uuid4()}")["QueueUrl"]
    message = {"QueueUrl": queue, "MessageBody": "{}"}

    error = error_of(stack, "sqs:sendMessage.waitForTaskToken", message, TimeoutSeconds="{% 1 %}")

    assert error == "States.Timeout"
    with open_gap("it is evaluated: `evaluate_time_outs` in actonce/embedded/server.py"):
        assert 'timeout = state_def.get("TimeoutSeconds", 99999)' in inspect.getsource(
            stepfunctions._invoke_with_callback
        )


@pytest.mark.parametrize("resource", ["emr-serverless:startJobRun.sync", "aws-sdk:s3:getObject"])
def test_an_integration_of_the_audit_is_missing(stack: Stack, resource: str) -> None:
    with open_gap("embedded/integrations/ need not stand in for it"):
        assert error_of(stack, resource, {}) == "States.Runtime"


def test_an_event_that_a_bus_does_not_take_fails_no_state(stack: Stack) -> None:
    entry = {"Source": "gap", "DetailType": "gap", "Detail": {}, "EventBusName": "no-such-bus"}

    with open_gap("test_events.py can have a bus fail, as EventBridge.FailedEntry"):
        assert error_of(stack, "events:putEvents", {"Entries": [entry]}) == "None"


def test_an_execution_that_exists_already_has_another_error(stack: Stack) -> None:
    name = f"gap-{uuid.uuid4()}"
    again = {"StateMachineArn": stack.state_machine, "Name": name, "Input": {}}
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name=name, input=json.dumps({"message_id": name})
    )

    with open_gap("embedded/local_audit.py need not rename it"):
        assert error_of(stack, "states:startExecution", again) == "ExecutionAlreadyExists"


def test_what_its_source_says_of_expressions_and_retries() -> None:
    text = inspect.getsource(stepfunctions)
    with open_gap("allow_expressions_time in actonce/embedded/server.py can go"):
        assert "timeout=1000" in text
    with open_gap("LOCAL_RETRY in actonce/embedded/local_stack.py need not be so short"):
        assert "JitterStrategy" not in text
        assert "MaxDelaySeconds" not in text
        assert "_scaled_sleep(min(sleep_sec, 60))" in text


# --------------------------------------------------------------------------- Lambda


@pytest.fixture
def create_function(stack: Stack, message_id: str) -> CreateFunction:
    """Creates a function of one file, and returns its ARN."""

    def create(runtime: str, handler: str, file: str, text: str) -> str:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            info = zipfile.ZipInfo(file)
            info.external_attr = 0o755 << 16
            archive.writestr(info, text)
        return stack.lambda_.create_function(
            FunctionName=f"gap-{message_id}",
            Runtime=runtime,  # type: ignore[arg-type]
            Role=ROLE,
            Handler=handler,
            Code={"ZipFile": packed.getvalue()},
        )["FunctionArn"]

    return create


def test_throttled_call_in_an_execution_is_called_what_aws_calls_it(
    stack: Stack, create_function: CreateFunction
) -> None:
    arn = create_function("provided.al2023", "none", "bootstrap", "#!/bin/sh\nexit 1\n")
    stack.lambda_.put_function_concurrency(FunctionName=arn, ReservedConcurrentExecutions=0)

    error = error_of(stack, "lambda:invoke", {"FunctionName": arn, "Payload": {}})

    assert error == "Lambda.TooManyRequestsException"
    with open_gap("a throttled call has a name: `name_throttling` in actonce/embedded/server.py"):
        assert "errorType" not in lambda_svc._throttle_response("code", "message")["body"]


def test_an_exception_of_a_function_in_python_has_its_own_name(
    stack: Stack, create_function: CreateFunction
) -> None:
    code = (
        "class NotPerformed(Exception): pass\n"
        "def handler(event, context): raise NotPerformed('nothing happened')\n"
    )
    arn = create_function("python3.11", "raising.handler", "raising.py", code)

    error = error_of(stack, "lambda:invoke", {"FunctionName": arn, "Payload": {}})

    assert error == "NotPerformed"
    with open_gap("its Python runtime names errors as AWS's; actonce/embedded/lambda_runtime.py"):
        assert 'error_type = "Runtime.HandlerError"' in inspect.getsource(
            lambda_svc._execute_function_warm
        )


# --------------------------------------------------------------------------- CloudFormation


@contextmanager
def created(
    stack: Stack, resources: dict[str, Any], parameters: dict[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """A stack of these resources, when CloudFormation has made it or gone back."""
    cloudformation, name = stack.aws.client("cloudformation"), f"gap-{uuid.uuid4()}"
    given = parameters or {}
    template = {
        "Parameters": {one: {"Type": "Number"} for one in given},
        "Resources": resources,
        "Outputs": {one: {"Value": {"Ref": one}} for one in resources},
    }
    cloudformation.create_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value} for name, value in given.items()
        ],
    )

    def made() -> Any:
        (one,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        return one if one["StackStatus"].endswith("COMPLETE") else None

    try:
        yield wait_until(made)
    finally:
        cloudformation.delete_stack(StackName=name)


def test_concurrency_of_an_event_source_mapping_may_be_a_parameter(stack: Stack) -> None:
    resources = {
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
    }
    with created(stack, resources, {"Most": "3"}) as made:
        outputs = {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]}
        # boto3 would make a number of it, whatever the poller has.
        path = f"/2015-03-31/event-source-mappings/{outputs['Mapping']}"
        with urllib.request.urlopen(f"{stack.aws.endpoint_url}{path}", timeout=60) as answer:
            mapping = json.load(answer)
    assert mapping["ScalingConfig"]["MaximumConcurrency"] == 3
    with open_gap("it is a number: `take_numbers` in actonce/embedded/server.py"):
        assert "MaximumConcurrency" not in inspect.getsource(provisioners._lambda_esm_create)


def test_alarm_of_two_metrics_is_refused(stack: Stack) -> None:
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
    with (
        created(stack, {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm}}) as made,
        open_gap("CloudFormation makes alarms of several metrics; local_stack may keep them"),
    ):
        assert made["StackStatus"] == "ROLLBACK_COMPLETE"


def test_there_is_no_emr_serverless(stack: Stack) -> None:
    application = {
        "Type": "AWS::EMRServerless::Application",
        "Properties": {"Type": "SPARK", "ReleaseLabel": "emr-spark-8.0.0"},
    }
    # Once it does not raise any more, embedded/local_audit.py need not make a function of it.
    with (
        pytest.raises(ClientError, match="Unrecognized resource types"),
        created(stack, {"Application": application}),
    ):
        pass


def test_a_nested_template_is_not_transformed_and_its_update_forgets_attributes() -> None:
    deploys = inspect.getsource(provisioners._cfn_nested_stack_deploy)
    with open_gap("expand_nested in actonce/embedded/server.py can go"):
        assert "_parse_template(template_body)" in deploys
        assert "_apply_transforms" not in deploys
    with open_gap("keep_attributes in actonce/embedded/server.py can go"):
        (call,) = re.findall(r"= _update_resource\((.*?)\n\s*\)", deploys, re.DOTALL)
        assert "child_logical_id" in call
        assert "Attributes" not in call


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


def test_scheduler_leaves_its_time_out_of_the_input(stack: Stack) -> None:
    name = f"gap-{uuid.uuid4()}"
    queue = stack.sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    a_minute_ago = datetime.now(UTC) - timedelta(minutes=1)
    given = '{"scheduled": "<aws.scheduler.scheduled-time>"}'
    stack.aws.client("scheduler").create_schedule(
        Name=name,
        ScheduleExpression=f"at({a_minute_ago:%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn["Attributes"]["QueueArn"], "RoleArn": ROLE, "Input": given},
    )

    (message,) = wait_until(lambda: stack.sqs.receive_message(QueueUrl=queue).get("Messages"))
    with open_gap("test_audit_night.py need not put it in"):
        assert message["Body"] == given
