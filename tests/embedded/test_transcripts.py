"""What the commands say at a terminal of 80 columns, after a demo.

`ACTONCE_WRITE_TRANSCRIPTS=1 pytest -m long tests/embedded/test_transcripts.py` writes what it sees
to docs/transcripts.md. Every width is tried by tests/cli/test_tables.py.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests import terminal
from tests.embedded.homes import home
from tests.embedded.running_demo import BAD_LINES, demo
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

COLUMNS = 80
PAGE = PROJECT / "docs" / "transcripts.md"
SENT = BAD_LINES[:4]
"""A message, its duplicate, its conflict, and one that is no JSON."""

COMMANDS = (
    "status",
    "where LETTER",
    "dead-letters list",
    "dead-letters show LETTER",
    "dead-letters retry LETTER",
    "unstarted list",
)
INTRODUCTION = """\
# What the commands say

At a terminal of 80 columns, after `actonce demo --messages 24 --faults many --seed 7`. Then came a
message, the same id with another content, and a text that is no JSON. Another width only lays the
tables out differently.
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Person:
    """Somebody at a terminal in the folder of an embedded AWS after a demo."""

    def __init__(self, paths: Paths) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self._environment = kept | {"ACTONCE_DIR": str(paths.home), "TERM": "xterm-256color"}
        self._environment.pop("COLUMNS", None)
        self._folder = paths.home

    def types(self, command: str) -> str:
        """What stands on the terminal afterwards."""
        ended = terminal.run(
            [sys.executable, "-m", "actonce.cli.app", *shlex.split(command)],
            self._environment,
            self._folder,
            columns=COLUMNS,
            is_input=True,
        )
        lines = (
            line.rpartition("\r")[2].rstrip() for line in _ESCAPES.sub("", ended.told).split("\n")
        )
        said = "\n".join(lines).strip("\n")
        assert ended.status == 0, said
        return said

    def ids(self, command: str, key: str) -> list[str]:
        told = subprocess.run(
            [sys.executable, "-m", "actonce.cli.app", command, "list", "--json", "--each"],
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return [str(entry[key]) for entry in json.loads(told)[command.replace("-", "_")]]


@pytest.fixture
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    paths = home(tmp_path_factory)
    try:
        demo(paths, "--messages", "24", "--faults", "many", "--seed", "7")
        state = lifecycle.running(paths)
        assert state is not None
        stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
        for body in SENT:
            stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)
        wait_until(lambda: counts(stack.sqs, stack.unstarted_queue)[0] >= 2, 120)
        wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0), 120)
        yield Person(paths)
    finally:
        lifecycle.down(paths)


def test_it_can_be_read_and_ids_can_be_copied(person: Person) -> None:
    letter, *_ = person.ids("dead-letters", "message_id")
    unstarted = person.ids("unstarted", "sqs_message_id")
    shown: dict[str, str] = {}
    for template in COMMANDS:
        command = template.replace("LETTER", letter)
        shown[command] = person.types(command)
    assert letter in shown["dead-letters list"]
    assert [one for one in unstarted if one not in shown["unstarted list"]] == []
    if os.environ.get("ACTONCE_WRITE_TRANSCRIPTS"):
        write(shown, PAGE)


def write(shown: dict[str, str], page: Path) -> None:
    blocks = (f"```text\n$ actonce {command}\n{said}\n```\n" for command, said in shown.items())
    page.write_text("\n".join([INTRODUCTION, *blocks]))
