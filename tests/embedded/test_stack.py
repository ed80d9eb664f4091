"""What only a deployed stack shows, or the embedded AWS of it."""

import importlib.util
import io
import json
import os
import sys
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient

from actonce.console.context import COUNTS_SECONDS, STATUS_SECONDS
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.actonce_server import run_actonce
from tests.embedded.waiting import wait_until
from tests.support.tables import make_table
from tests.web_console.asking import console_of

NAME = "records-path"


@pytest.fixture
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


def test_records_reach_the_bucket_but_for_the_hops_that_the_embedded_aws_leaves_out(
    stack: Stack, records: dict[str, str], send: Callable[[Any], None], message_id: str
) -> None:
    # A queue is one more target of the rule of status changes.
    queue = stack.sqs.create_queue(QueueName=f"{NAME}-events")["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    target = {"Id": "seen", "Arn": arn["Attributes"]["QueueArn"]}
    stack.aws.client("events").put_targets(Rule=records["ExecutionsRule"], Targets=[target])
    seen: dict[str, dict[str, Any]] = {}

    def both() -> bool:
        answer = stack.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        for event in (json.loads(message["Body"]) for message in answer.get("Messages", [])):
            if event["detail"]["name"] == message_id:
                seen[event["detail"]["status"]] = event
        return seen.keys() == {"RUNNING", "SUCCEEDED"}

    send({"message_id": message_id})
    wait_until(both)
    assert json.loads(seen["RUNNING"]["detail"]["input"])["message_id"] == message_id
    assert json.loads(seen["SUCCEEDED"]["detail"]["output"])["outcome"] == "performed"
    (subscription,) = stack.logs.describe_subscription_filters(
        logGroupName=stack.starter_log_group
    )["subscriptionFilters"]
    assert subscription["filterPattern"] == '{ $.stream = "deliveries" }'
    assert subscription["destinationArn"].endswith(records["DeliveriesStream"])

    # Gaps: neither Logs nor EventBridge hands anything to Firehose, which would put it at once; and
    # an export is completed without files.
    s3, firehose = stack.aws.client("s3"), stack.aws.client("firehose")
    table = stack.dynamodb.describe_table(TableName=stack.appointments_table)["Table"]
    export = stack.dynamodb.export_table_to_point_in_time(
        TableArn=table["TableArn"], S3Bucket=records["RecordsBucket"], S3Prefix="effects"
    )["ExportDescription"]["ExportArn"]

    def exported() -> bool:
        told = stack.dynamodb.describe_export(ExportArn=export)["ExportDescription"]
        return told["ExportStatus"] == "COMPLETED"

    wait_until(exported)
    assert "Contents" not in s3.list_objects_v2(Bucket=records["RecordsBucket"])
    for stream in ("Executions", "Deliveries"):
        name = records[f"{stream}Stream"]
        firehose.put_record(DeliveryStreamName=name, Record={"Data": b"as it is"})

    def folders() -> set[str]:
        listed = s3.list_objects_v2(Bucket=records["RecordsBucket"]).get("Contents", [])
        return {item["Key"].partition("/dt=")[0] for item in listed}

    wait_until(lambda: folders() == {"executions", "deliveries"})


MOST_BYTES = 5_000_000
"""Unpacked, as sam build leaves it; Lambda takes up to 250 MB."""


@pytest.mark.parametrize("function", ["StarterFunction", "AppointmentsFunction"])
def test_a_functions_package_is_small(
    state: State,  # noqa: ARG001 - it is built for it
    embedded_paths: Paths,
    function: str,
) -> None:
    package = embedded_paths.build / function

    sizes = [
        one.stat().st_size
        for one in package.rglob("*")
        if one.is_file() and "__pycache__" not in one.parts
    ]

    assert len(sizes) > 50  # it is there
    assert sum(sizes) <= MOST_BYTES


_SOURCE = PROJECT / "actonce" / "embedded" / "integrations" / "integrations.py"


def test_what_a_job_changes_writes_and_removes_is_changed_in_s3(
    stack: Stack, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("integrations", _SOURCE)  # it is in no package
    assert spec is not None
    assert spec.loader is not None
    integrations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(integrations)
    s3, bucket = stack.aws.client("s3"), f"mirrored-{uuid.uuid4()}"
    s3.create_bucket(Bucket=bucket)
    for key in ("audit/changed", "audit/day=1/gone", "audit/kept", "records/other"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"1")
    kept = s3.head_object(Bucket=bucket, Key="audit/kept")["LastModified"]

    mirror = integrations.Mirror(s3, tmp_path)
    option, place = mirror.translated(["--out", f"s3://{bucket}/audit"])
    shown = Path(place)
    assert option == "--out"
    assert {file.name for file in shown.rglob("*") if file.is_file()} == {"changed", "gone", "kept"}
    (shown / "changed").write_text("2")
    (shown / "day=1" / "gone").unlink()
    (shown / "made").write_text("3")
    (shown / ".made.crc").write_text("of Hadoop")
    mirror.put_back()

    contents = {
        one["Key"]: s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        for one in s3.list_objects_v2(Bucket=bucket)["Contents"]
    }
    assert contents == {
        "audit/changed": b"2",
        "audit/kept": b"1",
        "audit/made": b"3",
        "records/other": b"1",
    }
    assert s3.head_object(Bucket=bucket, Key="audit/kept")["LastModified"] == kept


MOST_OF_AN_HOUR = 1_800
"""docs/console.md."""


def test_a_quiet_page_costs_little_and_hides_no_message(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    call: Any = BaseClient._make_api_call  # type: ignore[attr-defined]

    def counted(client: Any, operation: str, parameters: Any) -> Any:
        asked.append(operation)
        return call(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    client = console_of(stack, tmp_path)
    client.get("/stopped")  # what has ended is looked up once
    client.context.stopped.expire()
    asked.clear()
    for _ in range(3):  # tabs
        client.get("/")
        client.get("/waiting")
    counts = Counter(asked)
    asked.clear()
    for _ in range(3):
        client.get("/stack")
        client.get("/stopped")
    assert counts == {"GetQueueAttributes": 3}
    assert len(asked) <= 18
    hides = {"ReceiveMessage", "Scan", "GetExecutionHistory", "ChangeMessageVisibility"}
    assert not hides & set(asked)
    hour = counts.total() * 3600 / COUNTS_SECONDS + len(asked) * 3600 / STATUS_SECONDS
    assert hour <= MOST_OF_AN_HOUR, (counts, asked)


GIFT_CARDS = PROJECT / "examples" / "gift_cards" / "gift_cards.py"


@pytest.fixture
def gift_cards(stack: Stack) -> str:
    """A function that knows nothing of ActOnce, with a minute for a call."""
    make_table(stack.dynamodb, "gift-cards", "message_id")
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as opened:
        opened.write(GIFT_CARDS, GIFT_CARDS.name)
    return stack.lambda_.create_function(
        FunctionName="gift-cards",
        Runtime=f"python3.{sys.version_info.minor}",  # type: ignore[arg-type]
        Role="arn:aws:iam::000000000000:role/gift-cards",
        Handler="gift_cards.handler",
        Code={"ZipFile": package.getvalue()},
        Timeout=60,
        Environment={"Variables": {"GIFT_CARDS_TABLE": "gift-cards"}},
    )["FunctionArn"]


@pytest.mark.long
def test_the_contract_is_tried_on_a_function_where_it_is_deployed(
    gift_cards: str, embedded_paths: Paths
) -> None:
    checked = run_actonce(
        (
            *("effect", "check", "--json", "--yes", gift_cards, "--find", gift_cards),
            *("--body", '{"amount": 20}', "--rejected", "{}", "--timeout", "60"),
        ),
        {"PATH": os.environ["PATH"], "ACTONCE_DIR": str(embedded_paths.home)},
        seconds=300,
    )
    assert checked.returncode == 0, checked.stderr + checked.stdout
    found = {one["check"]: one["status"] for one in json.loads(checked.stdout)["checks"]}
    assert found["killed-in"] == found["two-at-once"] == "passed"
    assert found["killed-after"] == "not tried"
