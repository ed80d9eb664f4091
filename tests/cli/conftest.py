"""The stacks on moto that commands are tried on, and the screens that a person reads."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.stack.stack_files import version
from tests.support.moto_stack import (
    VERSION_DEPLOYED,
    Actonce,
    Ended,
    actonce,
    aws_variables,
    minute_long_looks,
    moto_stack,
)
from tests.support.snapshots import compare, with_names
from tests.support.stacks import (
    deployed,
    with_executions,
    with_log,
    with_outputs,
    with_table,
)
from tests.support.waiting import let_tasks_wait

__all__ = ["actonce", "aws_variables", "minute_long_looks", "moto_stack"]

HEADER = "On AWS: account 123456789012, Region us-east-1, stack "


@pytest.fixture
def stack(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Deployed, of this version; what is listed of its queues has an order."""
    monkeypatch.setattr(scan, "READERS", 1)
    made = with_outputs(moto_stack, ActOnceVersion=version(), **VERSION_DEPLOYED)
    return deployed(made, made.outputs)


@pytest.fixture
def machine(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The same with a state machine, whose executions may wait for a decision, and no execution."""
    let_tasks_wait(monkeypatch)
    return with_executions(with_log(with_table(stack)))


Run = Callable[..., Ended]


@pytest.fixture
def run(actonce: Actonce) -> Run:
    """Runs a command line on a stack: `run("where m-1", stack)`.

    Of what it says besides, the line that says where it works is left out.
    """

    def ended(line: str, stack: Stack | None = None, **more: str) -> Ended:
        status, out, err = actonce(*shlex.split(line), stack=stack, **more)
        lines = (one for one in err.splitlines(keepends=True) if not one.startswith(HEADER))
        return Ended(status, out, "".join(lines))

    return ended


Screen = Callable[..., None]


@pytest.fixture
def screen(run: Run, request: pytest.FixtureRequest, tmp_path: Path) -> Screen:
    """Holds what command lines show against a file in `screens/`; `pytest --update` writes it.

    `screen("list", stack, "list --limit 1", …)`. Standard error stands after `!`, and in
    brackets an exit status that is not 0.
    """

    def hold(name: str, stack: Stack | None, *lines: str) -> None:
        shown = []
        for line in lines:
            ended = run(line, stack)
            shown += [f"$ actonce {line}", *(one for one in ended.out.splitlines() if one)]
            shown += [f"! {one}" for one in ended.err.splitlines()]
            shown += [f"[{ended.status}]"] if ended.status else []
        text = "".join(f"{one.rstrip()}\n" for one in shown)
        compare(request, f"screens/{name}.txt", with_names(text, tmp_path))

    return hold
