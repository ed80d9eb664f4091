"""Where MiniStack is not AWS, and this project knows it.

Each test passes while the gap is there, and says what can go when it closes.
"""

import inspect
import json
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ministack.services import lambda_svc
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import handlers
from ministack.services.cloudformation import provisioners as cfn

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, Stack
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


# --------------------------------------------------------------------------- CloudFormation


@contextmanager
def created(stack: Stack, resource: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What becomes of a stack of this resource: its status in the end, and the reasons."""
    cloudformation, name = stack.aws.client("cloudformation"), f"gap-{uuid.uuid4()}"
    template = {"Resources": {"Only": resource}}
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))

    def ended() -> str:
        (one,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        return one["StackStatus"] if one["StackStatus"].endswith("COMPLETE") else ""

    try:
        status = wait_until(ended)
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        yield status, " ".join(one.get("ResourceStatusReason", "") for one in events)
    finally:
        cloudformation.delete_stack(StackName=name)


def test_a_package_that_is_not_there_is_refused_by_its_name(stack: Stack) -> None:
    code = {"S3Bucket": "of-another-account", "S3Key": "shop.zip"}
    function = {"Code": code, "Runtime": "python3.13", "Handler": "a.b", "Role": ROLE}
    with created(stack, {"Type": "AWS::Lambda::Function", "Properties": function}) as (status, why):
        assert status == "ROLLBACK_COMPLETE"
        assert "s3://of-another-account/shop.zip is not on the embedded AWS" in why


@pytest.mark.long
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
        created(stack, {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm}) as (status, _),
        open_gap("CloudFormation makes alarms of several metrics; local_stack may keep them"),
    ):
        assert status == "ROLLBACK_COMPLETE"


@pytest.mark.long
def test_there_is_no_emr_serverless(stack: Stack) -> None:
    application = {
        "Type": "AWS::EMRServerless::Application",
        "Properties": {"Type": "SPARK", "ReleaseLabel": "emr-spark-8.0.0"},
    }
    # Once it does not raise any more, embedded/local_audit.py need not make a function of it.
    with (
        pytest.raises(ClientError, match="Unrecognized resource types"),
        created(stack, application),
    ):
        pass


# --------------------------------------------------------------------------- other services


@pytest.mark.parametrize(
    ("service", "operation", "arguments"),
    [
        (
            "xray",
            "get_trace_summaries",
            {"StartTime": datetime.now(UTC), "EndTime": datetime.now(UTC)},
        ),
        ("schemas", "describe_registry", {"RegistryName": "lambda-testevent-schemas"}),
    ],
)
def test_sam_traces_and_remote_test_event_have_no_service(
    state: State, service: str, operation: str, arguments: dict[str, Any]
) -> None:
    # Once one does not raise any more, docs/adopting.md can say that its command works there.
    call = getattr(Aws(state.endpoint_url).client(service), operation)
    with pytest.raises(ClientError, match=r"\(400\)"):
        call(**arguments)


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


@pytest.mark.long
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


# --------------------------------------------------------------------------- its source

NESTED = cfn._cfn_nested_stack_deploy


@pytest.mark.parametrize(
    ("what_can_go", "source", "says", "does_not_say"),
    [
        ("allow_expressions_time", sfn, "timeout=1000", None),
        ("evaluate_time_outs", sfn._invoke_with_callback, '"TimeoutSeconds", 99999', "_jsonata"),
        ("close_tasks_of_aborted", sfn._stop_execution, '"ABORTED"', "_task_tokens"),
        ("adopting.md's word of it", sfn.handle_request, '"StopExecution"', "RedriveExecution"),
        ("run_mocked_tasks", sfn._test_state, "_apply_result_selector", "_apply_jsonata"),
        ("add_layers", lambda_svc._provided_worker_env, "AWS_LAMBDA_RUNTIME_API", "ayer"),
        ("name_throttling", lambda_svc._throttle_response, "retryAfterSeconds", "errorType"),
        ("name_errors", lambda_svc, 'type = "Runtime.HandlerError"', None),
        ("take_numbers", cfn._lambda_esm_create, "ScalingConfig", "MaximumConcurrency"),
        ("recover_table", cfn._ddb_create, "SSEDescription", "PointInTimeRecovery"),
        ("expand_nested", NESTED, r"_parse_template\(template_body\)", "_apply_transforms"),
        ("keep_attributes", NESTED, r"child_name, child_logical_id,\s+\)", None),
        ("find_by_physical_id", handlers._describe_stack_resources, "Stack", '_p(params, "Phys'),
        ("retain_nested", cfn._cfn_nested_stack_delete, r"_delete_resource\(", "DeletionPolicy"),
        # In local_stack.py: it need not be so short.
        ("LOCAL_RETRY", sfn, r"_scaled_sleep\(min\(sleep_sec, 60\)\)", "JitterStrategy"),
    ],
)
def test_what_is_worked_around_is_there(
    what_can_go: str, source: Any, says: str, does_not_say: str | None
) -> None:
    text = inspect.getsource(source)
    with open_gap(f"{what_can_go} in actonce/embedded/server.py"):
        assert re.search(says, text)
        assert does_not_say is None or does_not_say not in text
