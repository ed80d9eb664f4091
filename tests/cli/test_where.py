"""`actonce where`, on moto: what it says of what is nowhere, or cannot be seen."""

import dataclasses
import json
import sys
from collections.abc import Callable

import pytest

from actonce.cli import where as where_command
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from tests.cli.test_deciding import TABLE, ledger
from tests.cli.test_recent import started

__all__ = ["ledger"]

Where = Callable[[Stack, str], tuple[str, str]]


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Where:
    """Runs `where` on a stack that has whatever a story is read from; what it prints and says."""

    def run_it(stack: Stack, message_id: str) -> tuple[str, str]:
        monkeypatch.setattr(where_command, "find_stack", lambda *_, **__: stack)
        monkeypatch.setattr(console, "out", console.SafeConsole())
        monkeypatch.setattr(console, "err", console.SafeConsole(stderr=True))
        try:
            where_command.where(message_id)
        except Failed as error:
            print(error, file=sys.stderr)
        told = capsys.readouterr()
        return told.out, told.err

    return run_it


def with_story(stack: Stack) -> Stack:
    """The stack with a table, a log and parameters to read."""
    outputs = {"FingerprintsTableName": TABLE, "StarterLogGroupName": "starter"}
    stack.logs.create_log_group(logGroupName="starter")
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    stack.aws.client("cloudformation").create_stack(
        StackName="actonce", TemplateBody=json.dumps(template)
    )
    return dataclasses.replace(stack, outputs=stack.outputs | outputs)


def without_ledger(stack: Stack) -> Stack:
    outputs = {name: one for name, one in stack.outputs.items() if name != "LedgerTableName"}
    return dataclasses.replace(stack, outputs=outputs)


@pytest.mark.usefixtures("minute_long_looks")
def test_where_does_not_say_that_what_another_reader_holds_lies_nowhere(
    ledger: Stack, where: Where
) -> None:
    stack = with_story(started(without_ledger(ledger)))
    stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue, MessageBody=json.dumps({"message_id": "request-1"})
    )
    stack.dynamodb.put_item(
        TableName=TABLE,
        Item={
            "message_id": {"S": "request-1"},
            "fingerprint": {"S": "f" * 64},
            "first_seen": {"S": "2026-01-31T09:30:00.000Z"},
        },
    )
    stack.sqs.receive_message(QueueUrl=stack.unstarted_queue, VisibilityTimeout=600)
    cannot = "whether it lies in UnstartedQueue cannot be told: another reader holds 1"
    assert f"No execution is known; {cannot} at this moment" in where(stack, "request-1")[0]
    _, err = where(stack, "request-2")
    assert "No part of the stack that could be read has seen a message 'request-2'." in err
    assert f"{cannot[0].upper()}{cannot[1:]} at this moment; look again." in err
