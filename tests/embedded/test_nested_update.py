"""A stack nested in another, updated: what CloudFormation does and MiniStack alone does not."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actonce.stack.clients import Stack
from tests.embedded.waiting import wait_until

CHILD = {
    "Parameters": {"Seconds": {"Type": "Number"}},
    "Resources": {
        "Kept": {"Type": "AWS::SQS::Queue"},
        "Changed": {
            "Type": "AWS::SQS::Queue",
            "Properties": {
                "VisibilityTimeout": {"Ref": "Seconds"},
                "RedrivePolicy": {
                    "deadLetterTargetArn": {"Fn::GetAtt": ["Kept", "Arn"]},
                    "maxReceiveCount": 3,
                },
            },
        },
    },
    "Outputs": {
        "Kept": {"Value": {"Ref": "Kept"}},
        "KeptName": {"Value": {"Fn::GetAtt": ["Kept", "QueueName"]}},
        "Changed": {"Value": {"Ref": "Changed"}},
    },
}

Update = Callable[[int], tuple[str, dict[str, str]]]


@pytest.fixture
def update(stack: Stack) -> Iterator[Update]:
    """Deploys a stack with `CHILD` nested in it: its status, and the child's outputs."""
    name, bucket = f"nested-{uuid.uuid4()}", f"nested-{uuid.uuid4()}"
    s3, cloudformation = stack.aws.client("s3"), stack.aws.client("cloudformation")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="child.json", Body=json.dumps(CHILD).encode())
    outputs = {
        one: {"Value": {"Fn::GetAtt": ["Child", f"Outputs.{one}"]}}
        for one in ("Kept", "KeptName", "Changed")
    }

    def template(seconds: int) -> str:
        child = {
            "Type": "AWS::CloudFormation::Stack",
            "Properties": {
                "TemplateURL": f"{stack.aws.endpoint_url}/{bucket}/child.json",
                "Parameters": {"Seconds": str(seconds)},
            },
        }
        return json.dumps({"Resources": {"Child": child}, "Outputs": outputs})

    def described() -> Any:
        (one,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        return None if one["StackStatus"].endswith("IN_PROGRESS") else one

    def deploy(seconds: int) -> tuple[str, dict[str, str]]:
        there = cloudformation.update_stack if made else cloudformation.create_stack
        there(StackName=name, TemplateBody=template(seconds))
        made.append(name)
        ended = wait_until(described)
        found = {one["OutputKey"]: one["OutputValue"] for one in ended.get("Outputs", [])}
        return ended["StackStatus"], found

    made: list[str] = []
    yield deploy
    cloudformation.delete_stack(StackName=name)


def test_what_an_update_leaves_alone_keeps_its_attributes_also_where_it_goes_back(
    stack: Stack, update: Update
) -> None:
    status, before = update(30)
    assert status == "CREATE_COMPLETE"
    stack.sqs.send_message(QueueUrl=before["Kept"], MessageBody="there")

    assert update(40) == ("UPDATE_COMPLETE", before)

    changed = stack.sqs.get_queue_attributes(
        QueueUrl=before["Changed"], AttributeNames=["VisibilityTimeout"]
    )
    assert changed["Attributes"]["VisibilityTimeout"] == "40"
    (message,) = stack.sqs.receive_message(QueueUrl=before["Kept"])["Messages"]
    assert message["Body"] == "there"

    assert update(-7) == ("UPDATE_ROLLBACK_COMPLETE", before)
    assert update(50) == ("UPDATE_COMPLETE", before)
