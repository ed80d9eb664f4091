"""A stack on moto, part by part, as the commands and the console talk to it.

Each takes the stack so far (`moto_stack` has its queues), and returns it with one part more.
"""

import dataclasses
import itertools
import json
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from tests.support.packages import packed
from tests.support.tables import make_table

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
TABLE = "rows"
ALARM_TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"

TEMPLATE = {
    "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
    "Outputs": {
        "ProcessMessageArn": {"Value": "arn:aws:states:us-east-1:123456789012:stateMachine:one"},
        "RequestsQueueUrl": {"Value": {"Ref": "Queue"}},
        "UnstartedQueueUrl": {"Value": {"Ref": "Queue"}},
        "DeadLetterQueueUrl": {"Value": {"Ref": "Queue"}},
        "StarterFunctionName": {"Value": "starter"},
        "AlarmTopicArn": {"Value": ALARM_TOPIC},
        "ActOnceVersion": {"Value": "1.0.0"},
    },
}
"""For who has to find the stack by CloudFormation."""

_ROLE = "arn:aws:iam::123456789012:role/starter"
_WAITS = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 900, "End": True}}}


def with_outputs(stack: Stack, **outputs: str) -> Stack:
    return dataclasses.replace(stack, outputs=stack.outputs | outputs)


def with_table(stack: Stack) -> Stack:
    """Its Fingerprints table, `TABLE`."""
    make_table(stack.dynamodb, TABLE, "message_id")
    return with_outputs(stack, FingerprintsTableName=TABLE)


def with_executions(stack: Stack, *message_ids: str) -> Stack:
    """A state machine, and an execution that waits for each message."""
    arn = stack.stepfunctions.create_state_machine(
        name="process-message", definition=json.dumps(_WAITS), roleArn=_ROLE
    )["stateMachineArn"]
    for message_id in message_ids:
        stack.stepfunctions.start_execution(
            stateMachineArn=arn,
            name=execution_name(message_id),
            input=json.dumps({"message_id": message_id}),
        )
    return with_outputs(stack, ProcessMessageArn=arn)


def with_log(stack: Stack) -> Stack:
    """The starter's log group, with nothing in it."""
    stack.logs.create_log_group(logGroupName="starter")
    stack.logs.create_log_stream(logGroupName="starter", logStreamName="one")
    return with_outputs(stack, StarterLogGroupName="starter")


def log(stack: Stack, line: str | dict[str, Any], at: datetime) -> None:
    """Write a line into the starter's log."""
    stack.logs.put_log_events(
        logGroupName="starter",
        logStreamName="one",
        logEvents=[
            {
                "timestamp": int(at.timestamp() * 1000),
                "message": line if isinstance(line, str) else json.dumps(line),
            }
        ],
    )


def deployed(stack: Stack, outputs: dict[str, str] | None = None, **parameters: str) -> Stack:
    """CloudFormation tells of its parameters, and of these outputs."""
    template = {
        "Parameters": {name: {"Type": "String"} for name in parameters},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in (outputs or {}).items()},
    }
    made = stack.aws.client("cloudformation").create_stack(
        StackName=stack.name,
        TemplateBody=json.dumps(template),
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()
        ],
    )
    return dataclasses.replace(stack, id=made["StackId"])


def fed(stack: Stack) -> Stack:
    """Deployed, with a function `starter` that its queue feeds."""
    client = deployed(stack).aws.client
    role = client("iam").create_role(RoleName="starter", AssumeRolePolicyDocument="{}")
    client("lambda").create_function(
        FunctionName="starter",
        Runtime="python3.13",
        Role=role["Role"]["Arn"],
        Handler="starter.handler",
        Code={"ZipFile": packed({"starter.py": ""})},
    )
    arn = stack.sqs.get_queue_attributes(
        QueueUrl=stack.requests_queue, AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    client("lambda").create_event_source_mapping(FunctionName="starter", EventSourceArn=arn)
    return with_outputs(stack, StarterFunctionName="starter", AlarmTopicArn=ALARM_TOPIC)


def forbid(stack: Stack, service: str, operation: str = "*", *, after: int = 0) -> None:
    """Every such call of that service is refused from now on, once so many were made."""
    fail(
        stack,
        service,
        operation,
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation),
        after=after,
    )


def fail(stack: Stack, service: str, operation: str, error: Exception, *, after: int = 0) -> None:
    """Every such call ends with that error from now on, once so many were made."""
    made = itertools.count()

    def end(**_: Any) -> None:
        if next(made) >= after:
            raise error

    stack.aws.client(service).meta.events.register(f"before-call.*.{operation}", end)
