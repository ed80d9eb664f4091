"""The console in this process, asked as a browser asks it; on moto, with rows for executions."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actonce.console import context as context_module
from actonce.console import jobs
from actonce.console.context import Context
from actonce.stack.clients import Stack
from tests.cli.conftest import aws_variables, deployed, moto_stack
from tests.support.stacks import TABLE
from tests.web_console.asking import Client, console_of

__all__ = ["aws_variables", "moto_stack"]


@pytest.fixture
def ledger(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack with a ledger on moto, as far as the views ask it."""
    monkeypatch.setattr(jobs, "_WAIT_FOR_OTHERS", 0.0)
    monkeypatch.setattr(context_module, "_WAIT_FOR_OTHERS", 0.0)
    moto_stack.dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    outputs = {
        "LedgerTableName": TABLE,
        "FingerprintsTableName": TABLE,
        "StarterFunctionName": "starter",
        "StarterLogGroupName": "starter",
        "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
    }
    stack = dataclasses.replace(moto_stack, outputs=moto_stack.outputs | outputs)
    stack.logs.create_log_group(logGroupName="starter")
    deployed(stack.aws, {})
    return stack


Open = Callable[..., tuple[Client, Context]]


@pytest.fixture
def console(tmp_path: Path) -> Open:
    """Opens a console on a stack: a client of it, and its context."""

    def opened(stack: Stack, **more: Any) -> tuple[Client, Context]:
        return console_of(stack, tmp_path, **more)

    return opened
