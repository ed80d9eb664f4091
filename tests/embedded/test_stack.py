"""What only a deployed stack shows, or the embedded AWS of it."""

import json
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
from tests.embedded.waiting import wait_until
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


def test_what_becomes_a_record_is_handed_to_its_stream(
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
