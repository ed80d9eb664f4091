"""Transcripts: what somebody asks for and what they are shown, replayed on stacks of moto.

A section begins with `# ` and what it shows, and has a folder and queues of its own. `> ` is a line
of Python over the builders of tests/support, their stack filled in. Any other line is what somebody
asks for. What is shown is set in. `pytest --update` writes it anew; `git diff` shows what changed.
"""

import ast
import functools
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.stepfunctions.models import stepfunctions_backends

from actonce.queues import scan
from actonce.queues.depth import PAUSED_SINCE
from actonce.stack.clients import Stack
from actonce.stack.stack_files import version
from actonce_core.first_attempt import FIRST_ATTEMPT
from tests.support import queues, stacks
from tests.support.snapshots import with_names

BUILT = {
    name: function
    for module in (queues, stacks)
    for name, function in vars(module).items()
    if getattr(function, "__module__", None) == module.__name__
}
"""What sections call with their stack."""


def sections(folder: Path) -> list[tuple[Path, str]]:
    """File and title of each in a folder."""
    return [
        (file, title)
        for file in sorted(folder.glob("*.txt"))
        for title in re.findall(r"^# (.*)", file.read_text("utf-8"), re.M)
    ]


def name_of(value: Path | str) -> str:
    """For a section's test."""
    return value.stem if isinstance(value, Path) else value


class Replay:
    """A section as it is replayed; `ask` is of what is asked for there."""

    def __init__(self, moto_stack: Stack, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.patch, self.folder = patch, folder
        patch.setattr(scan, "READERS", 1)  # what is listed has an order
        self.base = stacks.with_outputs(moto_stack, ActOnceVersion=version())
        self.stack: Stack | None = None
        self.names: dict[str, str] = {}
        self.known: dict[str, Any] = {  # by the names that a section uses
            **{name: self.on_stack(function) for name, function in BUILT.items()},
            **{name: getattr(self, name) for name in dir(self) if not name.startswith("_")},
            "json": json,
            "stacks": stacks,
            "PAUSED_SINCE": PAUSED_SINCE,
        }

    def ask(self, line: str) -> list[str]:
        """What is shown to who asks for that."""
        raise NotImplementedError

    def on_stack(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            if self.stack is None:
                self.stack = self.base
            made = function(self.stack, *arguments, **named)
            if isinstance(made, Stack):  # with one part more
                self.stack, made = made, None
            return made

        return called

    def _deployed(self) -> Stack:
        return stacks.deployed(self.base, self.base.outputs)

    def lease(self) -> None:
        """Rows in the executions' place."""
        self.stack = stacks.with_log(stacks.with_lease(self._deployed()))

    def machine(self, *message_ids: str) -> None:
        """Executions that wait, and all that tells of them."""
        made = stacks.with_log(stacks.with_table(self._deployed()))
        self.stack = stacks.with_executions(made, *message_ids)

    def queue(self, name: str) -> str:
        """The address of `dead_letter`, `unstarted` or `requests`."""
        url: str = getattr(self.stack, f"{name}_queue")
        return url

    def put(self, queue: str, body: str) -> None:
        self.base.sqs.send_message(QueueUrl=self.queue(queue), MessageBody=body)

    def first_attempt(self, message_id: str, stage: str = "begun", **more: str) -> None:
        """The row of a message whose starter makes the first attempt itself."""
        assert self.stack is not None
        more = {"status": "IN_PROGRESS", "stage": stage, "attempt_id": "a-1", **more}
        more["memory"] = f"{self.stack.state_machine}{FIRST_ATTEMPT}"
        self.first_seen(message_id, updated="2026-01-31T09:30:01.000Z", **more)

    def first_seen(
        self, message_id: str, at: str = "2026-01-31T09:30:00.000Z", **more: str
    ) -> None:
        """The row of a message in the Fingerprints table."""
        row = {"message_id": message_id, "fingerprint": "f", "first_seen": at}
        row |= {"memory": self.stack.state_machine} if self.stack else {}
        item: Any = {name: {"S": value} for name, value in (row | more).items()}
        self.base.dynamodb.put_item(TableName=stacks.TABLE, Item=item)

    def starts(self, message_id: str, body: str = "a body") -> None:
        """An execution that waits."""
        assert self.stack is not None
        self.base.stepfunctions.start_execution(
            stateMachineArn=self.stack.state_machine,
            name=message_id,
            input=json.dumps({"message_id": message_id, "body": body}),
        )

    def stops(self, message_id: str, days_ago: float = 0) -> None:
        """Somebody stopped its execution then."""
        assert self.stack is not None
        arn = self.stack.execution_arn(message_id)
        self.base.stepfunctions.stop_execution(executionArn=arn)
        (machine,) = stepfunctions_backends["123456789012"]["us-east-1"].state_machines
        (stopped,) = (one for one in machine.executions if one.execution_arn == arn)
        stopped.stop_date = datetime.now(UTC) - timedelta(days=days_ago)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def files(self) -> list[str]:
        """Every file of the folder, below it too."""
        every = (one for one in self.folder.rglob("*") if one.is_file())
        return sorted(str(one.relative_to(self.folder)) for one in every)

    def _run(self, line: str) -> list[str]:
        if not line.startswith("> "):
            return self.ask(line)
        made = None
        for one in ast.parse(line[2:]).body:
            self.known |= {"stack": self.stack} if self.stack else {}
            if isinstance(one, ast.Expr):
                made = eval(ast.unparse(one), self.known)
            else:
                made = exec(ast.unparse(one), self.known)  # type: ignore[func-returns-value]
        return [] if made is None else f"{made}".splitlines()

    def _shown(self, told: list[str]) -> str:
        text = with_names("\n".join(told), self.folder, self.names)
        return "".join(f"    {one}".rstrip() + "\n" for one in text.splitlines() if one)

    def compare(self, file: Path, title: str, *, update: bool) -> None:
        """Replay a section, and hold what is shown against what stands there."""
        whole = file.read_text("utf-8")
        (expected,) = re.findall(rf"^# {re.escape(title)}\n.*?(?=^# |\Z)", whole, re.M | re.S)
        asked = [one for one in expected.splitlines() if not one.startswith("    ")]
        replayed = "".join(
            f"{one}\n{self._shown(self._run(one)) if one and one[0] != '#' else ''}"
            for one in asked
        )
        if update:
            file.write_text(whole.replace(expected, replayed), "utf-8")
        else:
            assert replayed == expected
