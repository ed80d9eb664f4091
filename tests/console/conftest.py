"""The console in this process, asked as a browser asks it; on moto."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.console import responses
from actonce.queues import scan
from actonce.stack.clients import Stack
from tests.console.client import Client, console_of
from tests.embedded.waiting import DEADLINE
from tests.support.moto_stack import VERSION_DEPLOYED, aws_variables, moto_stack
from tests.support.snapshots import compare, with_names
from tests.support.stacks import (
    deployed,
    with_executions,
    with_log,
    with_outputs,
    with_table,
)
from tests.support.waiting import let_tasks_wait

__all__ = ["aws_variables", "moto_stack"]

Open = Callable[..., Client]

TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"


@pytest.fixture
def machine(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack on moto, as far as the views ask it, whose executions may wait for a decision."""
    let_tasks_wait(monkeypatch)
    stack = with_outputs(moto_stack, **VERSION_DEPLOYED)
    made = deployed(stack, stack.outputs)
    stack = with_executions(with_log(with_table(made)))
    return with_outputs(stack, StarterFunctionName="starter", AlarmTopicArn=TOPIC)


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a console on a stack; see `console_of`.

    Nothing of it goes on after the test: moto's queues have the same names in each, so that a scan
    which a page did not wait for would hide the next test's messages.
    """
    monkeypatch.setattr(responses, "A_MOMENT", DEADLINE)  # a page has what it has begun to read
    clients: list[Client] = []

    def opened(stack: Stack, **more: Any) -> Client:
        clients.append(console_of(stack, tmp_path, **more))
        return clients[-1]

    yield opened
    for client in clients:
        client.context.jobs.stop_all()
        client.finish()


Screen = Callable[..., None]


@pytest.fixture
def screen(request: pytest.FixtureRequest, tmp_path: Path) -> Screen:
    """Holds what pages show against a file in `screens/`; `pytest --update` writes it anew.

    `screen("stack", client, "/stack", …)`. Of a page its main part is shown as words: a row behind
    `|`, a link's address in `<>`, what can be chosen with `( )`, and a problem behind `!`.
    """

    def hold(name: str, client: Client, *paths: str) -> None:
        lines: list[str] = []
        for path in paths:
            lines += [f"GET {path}", *client.open(path).words]
        text = re.sub(r"key=[\w-]{22}", "key=KEY", "".join(f"{one}\n" for one in lines))
        compare(request, f"screens/{name}.txt", with_names(text, tmp_path))

    return hold


@pytest.fixture
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is listed of a queue has an order."""
    monkeypatch.setattr(scan, "READERS", 1)
