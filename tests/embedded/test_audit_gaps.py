"""Where MiniStack is not AWS on the audit's way; each test passes while the gap is there."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce.stack.clients import Stack
from tests.embedded.test_ministack_gaps import open_gap
from tests.embedded.waiting import wait_for_execution, wait_until

ROLE = "arn:aws:iam::000000000000:role/audit"


def error_of(stack: Stack, resource: str, arguments: dict[str, Any]) -> str:
    """The error of a task, in an execution of its own."""
    name = f"gap-{uuid.uuid4()}"
    task = {"Type": "Task", "Resource": resource, "Arguments": arguments, "End": True}
    machine = stack.stepfunctions.create_state_machine(
        name=name,
        definition=json.dumps(
            {"QueryLanguage": "JSONata", "StartAt": "Only", "States": {"Only": task}}
        ),
        roleArn=ROLE,
    )["stateMachineArn"]
    execution = stack.stepfunctions.start_execution(stateMachineArn=machine, name=name)
    return str(wait_for_execution(stack, execution["executionArn"]).get("error"))


def test_gap_there_is_no_emr_serverless_in_cloudformation(stack: Stack) -> None:
    application = {
        "Type": "AWS::EMRServerless::Application",
        "Properties": {"Type": "SPARK", "ReleaseLabel": "emr-spark-8.0.0"},
    }

    # Once it does not raise any more, embedded/local_audit.py need not make a function of it.
    with pytest.raises(ClientError, match="Unrecognized resource types"):
        stack.aws.client("cloudformation").create_stack(
            StackName=f"gap-{uuid.uuid4()}",
            TemplateBody=json.dumps({"Resources": {"Application": application}}),
        )


@pytest.mark.parametrize(
    ("resource", "arguments"),
    [
        ("arn:aws:states:::emr-serverless:startJobRun.sync", {"ApplicationId": "none"}),
        ("arn:aws:states:::aws-sdk:s3:getObject", {"Bucket": "none", "Key": "none"}),
    ],
)
def test_gap_an_integration_is_missing(
    stack: Stack, resource: str, arguments: dict[str, Any]
) -> None:
    with open_gap("embedded/integrations/ need not stand in for it"):
        assert error_of(stack, resource, arguments) == "States.Runtime"


def test_gap_an_execution_that_exists_already_has_another_error(stack: Stack) -> None:
    name = f"gap-{uuid.uuid4()}"
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.state_machine, name=name, input=json.dumps({"message_id": name})
    )

    with open_gap("embedded/local_audit.py need not rename it"):
        assert (
            error_of(
                stack,
                "arn:aws:states:::states:startExecution",
                {"StateMachineArn": stack.state_machine, "Name": name, "Input": {}},
            )
            == "ExecutionAlreadyExists"
        )


def test_gap_scheduler_leaves_its_time_out_of_the_input(stack: Stack) -> None:
    name = f"gap-{uuid.uuid4()}"
    queue = stack.sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    a_minute_ago = datetime.now(UTC) - timedelta(minutes=1)
    stack.aws.client("scheduler").create_schedule(
        Name=name,
        ScheduleExpression=f"at({a_minute_ago:%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": arn["Attributes"]["QueueArn"],
            "RoleArn": ROLE,
            "Input": '{"scheduled": "<aws.scheduler.scheduled-time>"}',
        },
    )

    (message,) = wait_until(
        lambda: stack.sqs.receive_message(QueueUrl=queue).get("Messages", []), 60.0
    )
    with open_gap("test_audit_night.py need not put it in"):
        assert json.loads(message["Body"]) == {"scheduled": "<aws.scheduler.scheduled-time>"}
