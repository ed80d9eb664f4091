"""The console in this process, asked as a browser asks it; on moto, with rows for executions."""

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3
import pytest
from moto import mock_aws
from starlette.types import ASGIApp, Message

from actonce import queue_peek
from actonce.aws import Aws, Stack
from actonce.web_console import desk as desks
from actonce.web_console import tasks
from actonce.web_console.app import app
from actonce.web_console.desk import Desk, Place
from actonce.web_console.templating import renderer
from tests.cli.conftest import STATE_MACHINE, _session, aws_variables
from tests.cli.test_deciding import TABLE

__all__ = ["aws_variables"]

PORT = 8717
TOKEN = "a-token-of-this-test"
HOST = f"127.0.0.1:{PORT}"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Client:
    """Asks as a browser does that has the cookie, unless headers (a dictionary) say otherwise."""

    app: ASGIApp
    headers: dict[str, str] = field(
        default_factory=lambda: {"host": HOST, "cookie": f"actonce-console-{PORT}={TOKEN}"}
    )

    def get(self, path: str, headers: Any = None, **query: Any) -> Answer:
        return self.ask("GET", path, headers or {}, urlencode(query, doseq=True), b"")

    def post(self, path: str, headers: Any = None, **form: Any) -> Answer:
        body = urlencode(form, doseq=True).encode()
        more = {"origin": f"http://{HOST}", "content-length": str(len(body))}
        return self.ask("POST", path, more | (headers or {}), "", body)

    def ask(
        self, method: str, path: str, headers: dict[str, str], query: str, body: bytes
    ) -> Answer:
        told = {name: value for name, value in (self.headers | headers).items() if value}
        path, _, rest = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": (query or rest).encode(),
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in told.items()],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 40_000),
        }
        sent: list[Message] = []
        asked: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if asked:
                return asked.pop()
            await asyncio.Event().wait()  # whoever asks stays until it has its answer
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        async def whole() -> None:
            await self.app(scope, receive, send)

        asyncio.run(whole())
        start = sent[0]
        content = b"".join(message.get("body", b"") for message in sent[1:])
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, content.decode())


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack with a ledger on moto, as far as the views ask it."""
    monkeypatch.setattr(queue_peek, "LONG_POLL_SECONDS", 0)
    monkeypatch.setattr(tasks, "_WAIT_FOR_OTHERS", 0.0)
    monkeypatch.setattr(desks, "_WAIT_FOR_OTHERS", 0.0)
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


Open = Callable[..., tuple[Client, Desk]]


@pytest.fixture
def console(tmp_path: Path) -> Open:
    """Opens a console on a stack: a client of it, and its desk."""

    def opened(stack: Stack, *, read_only: bool = False, **more: Any) -> tuple[Client, Desk]:
        # A client of its own for each: what counts its calls is not taken off again.
        own = dataclasses.replace(stack, aws=Aws())
        place = Place("At a test, stack actonce", " --stack-name actonce", tmp_path)
        shared = {
            "place": place,
            "stack_name": "actonce",
            "read_only": read_only,
            "has_rows": stack.ledger_table is not None,
        }
        made = desks.desk(own, place, renderer(shared), read_only=read_only, **more)
        return Client(app(made, TOKEN, PORT)), made

    return opened
