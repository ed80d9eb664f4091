"""The way of the records to S3, as far as the embedded AWS goes."""

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


@pytest.fixture(scope="module")
def events(stack: Stack, records: dict[str, str]) -> Callable[[], list[dict[str, Any]]]:
    """Reads what the rule sends, from a queue that is one more target of it."""
    queue = stack.sqs.create_queue(QueueName=f"{NAME}-events")["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    target = {"Id": "seen", "Arn": arn["Attributes"]["QueueArn"]}
    stack.aws.client("events").put_targets(Rule=records["ExecutionsRule"], Targets=[target])
    seen: list[dict[str, Any]] = []

    def read() -> list[dict[str, Any]]:
        answer = stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        seen.extend(json.loads(message["Body"]) for message in answer.get("Messages", []))
        return seen

    return read


def objects(stack: Stack, records: dict[str, str], prefix: str) -> list[tuple[str, bytes]]:
    """Names and contents of what lies in the bucket, oldest first."""
    s3, bucket = stack.aws.client("s3"), records["RecordsBucket"]
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
    return [
        (item["Key"], s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())
        for item in sorted(listed, key=lambda item: item["LastModified"])
    ]


def test_status_changes_of_this_state_machine_reach_the_bucket(
    stack: Stack,
    records: dict[str, str],
    events: Callable[[], list[dict[str, Any]]],
    send: Callable[[Any], None],
    message_id: str,
) -> None:
    send({"message_id": message_id})
    wait_for_execution(stack, stack.execution_arn(message_id))

    def of_message() -> dict[str, dict[str, Any]]:
        return {e["detail"]["status"]: e for e in events() if e["detail"]["name"] == message_id}

    wait_until(lambda: of_message().keys() == {"RUNNING", "SUCCEEDED"})
    # Gap: neither Logs nor EventBridge hands anything to Firehose. Both targets of the rule are
    # served by one event; a put would be in the bucket at once.
    assert objects(stack, records, "") == []
    for event in of_message().values():
        assert event["detail-type"] == "Step Functions Execution Status Change"
        assert json.loads(event["detail"]["input"])["message_id"] == message_id
        # The hop that the embedded AWS leaves out: EventBridge puts the event.
        stack.aws.client("firehose").put_record(
            DeliveryStreamName=records["ExecutionsStream"],
            Record={"Data": json.dumps(event).encode()},
        )
    succeeded = of_message()["SUCCEEDED"]["detail"]
    assert json.loads(succeeded["output"])["outcome"] == "performed"
    assert succeeded["startDate"] <= succeeded["stopDate"]

    found = wait_until(lambda: [o for o in objects(stack, records, "executions/") if o[1]])
    prefix = f"executions/dt={datetime.now(UTC).date().isoformat()}/"
    assert all(name.startswith(prefix) for name, _ in found)
    assert {json.loads(content)["detail"]["name"] for _, content in found} == {message_id}


def test_deliveries_as_cloudwatch_logs_puts_them_reach_the_bucket(
    stack: Stack,
    records: dict[str, str],
    deliveries: Callable[[str], list[dict[str, Any]]],
    send: Callable[[Any], None],
    message_id: str,
) -> None:
    (subscription,) = stack.logs.describe_subscription_filters(
        logGroupName=stack.starter_log_group
    )["subscriptionFilters"]
    assert subscription["filterPattern"] == '{ $.stream = "deliveries" }'
    assert subscription["destinationArn"].endswith(records["DeliveriesStream"])

    send({"message_id": message_id})
    (line,) = wait_until(lambda: deliveries(message_id))
    envelope = {
        "messageType": "DATA_MESSAGE",
        "logEvents": [{"id": "1", "timestamp": 0, "message": json.dumps(line)}],
    }
    # The hop that the embedded AWS leaves out, for any destination but a function.
    stack.aws.client("firehose").put_record(
        DeliveryStreamName=records["DeliveriesStream"],
        Record={"Data": gzip.compress(json.dumps(envelope).encode())},
    )

    ((name, content),) = wait_until(lambda: objects(stack, records, "deliveries/"))
    assert name.startswith(f"deliveries/dt={datetime.now(UTC).date().isoformat()}/")
    assert json.loads(gzip.decompress(content)) == envelope


def test_gap_an_export_is_completed_without_files(stack: Stack, records: dict[str, str]) -> None:
    table = stack.dynamodb.describe_table(TableName=stack.appointments_table)["Table"]
    export = stack.dynamodb.export_table_to_point_in_time(
        TableArn=table["TableArn"], S3Bucket=records["RecordsBucket"], S3Prefix="effects"
    )["ExportDescription"]

    def status() -> str:
        return stack.dynamodb.describe_export(ExportArn=export["ExportArn"])["ExportDescription"][
            "ExportStatus"
        ]

    wait_until(lambda: status() == "COMPLETED")
    assert objects(stack, records, "effects") == []
