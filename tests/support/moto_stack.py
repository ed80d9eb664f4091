import functools
import io
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import boto3
import pytest
from moto import mock_aws
from moto.sqs.models import SQSBackend

from actonce.cli import app as cli
from actonce.queues import scan
from actonce.stack.clients import Aws, Stack
from actonce.terminal import output
from tests.support.histories import STATE_MACHINE
from tests.support.stacks import deployed, with_executions, with_log, with_outputs, with_table
from tests.support.waiting import let_tasks_wait


@pytest.fixture(autouse=True)
def aws_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    unset = (
        "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN", "ACTONCE_STACK_NAME",
    )  # fmt: skip
    for name in unset:
        monkeypatch.delenv(name, raising=False)
    # An embedded AWS that this clone has up is no test's.
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path_factory.getbasetemp() / "no-embedded-aws"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@functools.cache
def _session() -> boto3.Session:
    """One for all tests: a session of each test's own reads the services' models again."""
    return boto3.Session()


@pytest.fixture
def minute_long_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of a queue find that a minute has gone by whenever they look at the clock."""
    minutes = itertools.count(1)
    clock = SimpleNamespace(monotonic=lambda: 60.0 * next(minutes), sleep=lambda _: None)
    monkeypatch.setattr(scan, "time", clock)


VERSION_DEPLOYED = {
    "EffectFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:effect:2",
    "FindFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:effect:7",
    "EffectTimeoutSeconds": "120",
    "StragglerMarginSeconds": "40",
}
"""Outputs of the stack that is deployed by now."""


def one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two at the same moment moto may fail one, which then hides what it took, or gives back."""
    lock = threading.RLock()

    def alone(call: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            with lock:
                return call(*args, **kwargs)

        return called

    for name in ("receive_message", "change_message_visibility", "delete_message"):
        monkeypatch.setattr(SQSBackend, name, alone(getattr(SQSBackend, name)))


@pytest.fixture
def moto_stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """The stack's queues, on moto in this process: one server, so no poll need be long."""
    monkeypatch.setattr(scan, "LONG_POLL_SECONDS", 0)
    one_call_at_a_time(monkeypatch)
    with mock_aws():
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", _session())
        aws = Aws()
        sqs = aws.client("sqs")
        outputs = {
            f"{name}Url": sqs.create_queue(QueueName=name)["QueueUrl"]
            for name in ("RequestsQueue", "UnstartedQueue", "DeadLetterQueue")
        }
        yield Stack(aws, "actonce", outputs | {"ProcessMessageArn": STATE_MACHINE})
        # A console's scan that went on would hide the next test's messages: the queues are called
        # the same.
        for thread in threading.enumerate():
            if thread.name == "queue scan":
                thread.join(60)


class Ended(NamedTuple):
    """How a command ended: its exit status, what it printed, and what it said besides."""

    status: int
    out: str
    err: str


Actonce = Callable[..., Ended]


@pytest.fixture
def actonce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Actonce:
    """Runs `actonce WORDS` in this process, in an empty folder, as where nobody can be asked.

    `stack`: the one that it finds; `variables`: of its environment, None for one that is unset.
    """

    def run(
        *words: str, stack: Stack | None = None, text: str = "", **variables: str | None
    ) -> Ended:
        for name, value in ({"HOME": str(tmp_path), "COLUMNS": "200"} | variables).items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        if stack is None:
            monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        else:
            monkeypatch.setattr(Stack, "find", lambda *_: stack)
        monkeypatch.setattr(output, "out", output.SafeConsole())
        monkeypatch.setattr(output, "err", output.SafeConsole(stderr=True))
        monkeypatch.setattr(sys, "argv", ["actonce", *words])
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
        )
        monkeypatch.chdir(tmp_path)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def machine(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The same with a state machine, whose executions may wait for a decision, and no execution."""
    let_tasks_wait(monkeypatch)
    stack = with_executions(with_log(with_table(with_outputs(moto_stack, **VERSION_DEPLOYED))))
    return deployed(stack, stack.outputs)
