"""Where MiniStack is not AWS, and this project knows it.

Each test passes while the gap is there, and says what can go when it closes.
"""

import inspect
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ministack.services import lambda_svc
from ministack.services import stepfunctions as sfn
from ministack.services.cloudformation import handlers
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


def ended(stack: Stack, resource: dict[str, Any]) -> tuple[str, str]:
    """What becomes of a stack of this resource: its status in the end, and the reasons."""
    cloudformation, name = stack.aws.client("cloudformation"), f"gap-{uuid.uuid4()}"
    template = {"Resources": {"Only": resource}}
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))

    def status() -> str:
        (one,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        return one["StackStatus"] if one["StackStatus"].endswith("COMPLETE") else ""

    try:
        found = wait_until(status)
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        return found, " ".join(one.get("ResourceStatusReason", "") for one in events)
    finally:
        cloudformation.delete_stack(StackName=name)


def test_a_package_that_is_not_there_is_refused_by_its_name(stack: Stack) -> None:
    code = {"S3Bucket": "of-another-account", "S3Key": "shop.zip"}
    function = {"Code": code, "Runtime": "python3.13", "Handler": "a.b", "Role": ROLE}
    status, why = ended(stack, {"Type": "AWS::Lambda::Function", "Properties": function})
    assert status == "ROLLBACK_COMPLETE"
    assert "s3://of-another-account/shop.zip is not on the embedded AWS" in why


def test_an_alarm_of_two_metrics_is_refused(stack: Stack) -> None:
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
    with open_gap("CloudFormation makes alarms of several metrics; local_stack may keep them"):
        status, _ = ended(stack, {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm})
        assert status == "ROLLBACK_COMPLETE"


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ("emr-serverless:startJobRun.sync", "States.Runtime"),
        ("aws-sdk:s3:getObject", "States.Runtime"),
        ("states:startExecution", "ExecutionAlreadyExists"),
    ],
)
def test_the_audits_integrations_are_missing_or_name_another_error(
    stack: Stack, resource: str, error: str
) -> None:
    name = f"gap-{uuid.uuid4()}"
    stepfunctions = stack.stepfunctions

    def start(task_resource: str, arguments: dict[str, Any]) -> str:
        task = {"Type": "Task", "Resource": task_resource, "Arguments": arguments, "End": True}
        definition = {"QueryLanguage": "JSONata", "StartAt": "Only", "States": {"Only": task}}
        machine = stepfunctions.create_state_machine(
            name=name, definition=json.dumps(definition), roleArn=ROLE
        )["stateMachineArn"]
        return stepfunctions.start_execution(stateMachineArn=machine, name=name, input="{}")[
            "executionArn"
        ]

    again = {"StateMachineArn": stack.state_machine, "Name": name, "Input": {}}
    stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name=name, input=json.dumps({"message_id": name})
    )
    with open_gap("embedded/local_audit.py and embedded/integrations/ need not help"):
        arn = start(f"arn:aws:states:::{resource}", again if error.startswith("Execution") else {})
        assert wait_for_execution(stack, arn).get("error") == error


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
