"""The console in this process, asked as a browser asks it; on moto, with rows for executions."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from actonce.console import context as context_module
from actonce.console import jobs
from actonce.console.context import Context
from actonce.queues import scan
from actonce.stack.clients import Aws, Stack
from tests.cli.conftest import STATE_MACHINE, _session, aws_variables
from tests.cli.test_deciding import TABLE
from tests.web_console.asking import Client, console_of

__all__ = ["aws_variables"]


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack with a ledger on moto, as far as the views ask it."""
    monkeypatch.setattr(scan, "LONG_POLL_SECONDS", 0)
    monkeypatch.setattr(jobs, "_WAIT_FOR_OTHERS", 0.0)
    monkeypatch.setattr(context_module, "_WAIT_FOR_OTHERS", 0.0)
    with mock_aws():
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", _session())
        aws = Aws()
        sqs = aws.client("sqs")
        outputs = {
            f"{name}Url": sqs.create_queue(QueueName=name)["QueueUrl"]
            for name in ("RequestsQueue", "UnstartedQueue", "DeadLetterQueue")
        }
        stack = Stack(
            aws,
            "actonce",
            outputs
            | {
                "ProcessMessageArn": STATE_MACHINE,
                "LedgerTableName": TABLE,
                "FingerprintsTableName": TABLE,
                "StarterFunctionName": "starter",
                "StarterLogGroupName": "starter",
                "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
            },
        )
        stack.dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        stack.logs.create_log_group(logGroupName="starter")
        aws.client("cloudformation").create_stack(
            StackName="actonce", TemplateBody='{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}'
        )
        yield stack


Open = Callable[..., tuple[Client, Context]]


@pytest.fixture
def console(tmp_path: Path) -> Open:
    """Opens a console on a stack: a client of it, and its context."""

    def opened(stack: Stack, **more: Any) -> tuple[Client, Context]:
        return console_of(stack, tmp_path, **more)

    return opened
