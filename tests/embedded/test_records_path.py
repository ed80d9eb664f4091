"""The way of the records to S3, as far as the embedded AWS goes; what lies there is the audit's."""

import gzip
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from tests.embedded.waiting import wait_for_execution, wait_until

NAME = "records-path"
Objects = Callable[[str], dict[str, bytes]]


@pytest.fixture(scope="module")
def records(stack: Stack) -> Iterator[dict[str, str]]:
    """The nested stack's resources, logical to physical name, beside the stack of all tests."""
    cloudformation = stack.aws.client("cloudformation")
    parameters = {
        "StarterLogGroupName": stack.starter_log_group,
        "ProcessMessageArn": stack.state_machine,
        "AlarmTopicArn": stack.outputs["AlarmTopicArn"],
        "RecordsRetentionDays": "400",
        "LogRetentionDays": "30",
    }
    cloudformation.create_stack(
        StackName=NAME,
        TemplateBody=(PROJECT / "records.yaml").read_text(),
        Capabilities=["CAPABILITY_IAM"],
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()
        ],
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    yield {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for resource in cloudformation.describe_stack_resources(StackName=NAME)["StackResources"]
    }
    cloudformation.delete_stack(StackName=NAME)


@pytest.fixture
def objects(stack: Stack, records: dict[str, str]) -> Objects:
    """What lies in the bucket below a prefix."""
    s3, bucket = stack.aws.client("s3"), records["RecordsBucket"]

    def found(prefix: str) -> dict[str, bytes]:
        listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
        keys = [item["Key"] for item in listed]
        return {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}

    return found


def test_status_changes_of_this_state_machine_reach_the_bucket(
    stack: Stack,
    records: dict[str, str],
    objects: Objects,
    send: Callable[[Any], None],
    message_id: str,
) -> None:
    # What the rule sends is read from a queue that is one more target of it.
    queue = stack.sqs.create_queue(QueueName=f"{NAME}-events")["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    target = {"Id": "seen", "Arn": arn["Attributes"]["QueueArn"]}
    stack.aws.client("events").put_targets(Rule=records["ExecutionsRule"], Targets=[target])
    events: dict[str, dict[str, Any]] = {}

    def of_message() -> set[str]:
        answer = stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        for message in answer.get("Messages", []):
            event = json.loads(message["Body"])
            if event["detail"]["name"] == message_id:
                events[event["detail"]["status"]] = event
        return set(events)

    send({"message_id": message_id})
    wait_for_execution(stack, stack.execution_arn(message_id))
    wait_until(lambda: of_message() == {"RUNNING", "SUCCEEDED"})

    # One event serves both targets, and a put would be in the bucket at once: the embedded AWS
    # leaves EventBridge's hop to Firehose out (and that of CloudWatch Logs).
    assert objects("") == {}
    for event in events.values():
        assert event["detail-type"] == "Step Functions Execution Status Change"
        assert json.loads(event["detail"]["input"])["message_id"] == message_id
        stack.aws.client("firehose").put_record(
            DeliveryStreamName=records["ExecutionsStream"],
            Record={"Data": json.dumps(event).encode()},
        )
    succeeded = events["SUCCEEDED"]["detail"]
    assert json.loads(succeeded["output"])["outcome"] == "performed"
    assert succeeded["startDate"] <= succeeded["stopDate"]
    found = wait_until(lambda: objects("executions/"))
    prefix = f"executions/dt={datetime.now(UTC).date().isoformat()}/"
    assert all(name.startswith(prefix) for name in found)


def test_deliveries_as_cloudwatch_logs_puts_them_reach_the_bucket(
    stack: Stack, records: dict[str, str], objects: Objects
) -> None:
    (subscription,) = stack.logs.describe_subscription_filters(
        logGroupName=stack.starter_log_group
    )["subscriptionFilters"]
    assert subscription["filterPattern"] == '{ $.stream = "deliveries" }'
    assert subscription["destinationArn"].endswith(records["DeliveriesStream"])
    envelope = {
        "messageType": "DATA_MESSAGE",
        "logEvents": [{"id": "1", "timestamp": 0, "message": '{"stream": "deliveries"}'}],
    }
    stack.aws.client("firehose").put_record(
        DeliveryStreamName=records["DeliveriesStream"],
        Record={"Data": gzip.compress(json.dumps(envelope).encode())},
    )

    ((name, content),) = wait_until(lambda: objects("deliveries/")).items()

    assert name.startswith(f"deliveries/dt={datetime.now(UTC).date().isoformat()}/")
    assert json.loads(gzip.decompress(content)) == envelope


def test_gap_an_export_is_completed_without_files(
    stack: Stack, records: dict[str, str], objects: Objects
) -> None:
    table = stack.dynamodb.describe_table(TableName=stack.appointments_table)["Table"]
    export = stack.dynamodb.export_table_to_point_in_time(
        TableArn=table["TableArn"], S3Bucket=records["RecordsBucket"], S3Prefix="effects"
    )["ExportDescription"]["ExportArn"]

    def description() -> Any:
        return stack.dynamodb.describe_export(ExportArn=export)["ExportDescription"]

    wait_until(lambda: description()["ExportStatus"] == "COMPLETED")
    assert objects("effects") == {}
