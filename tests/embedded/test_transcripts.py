"""What the commands say at a terminal of 80 columns, after a demo.

`ACTONCE_WRITE_TRANSCRIPTS=1 pytest -m long tests/embedded/test_transcripts.py` writes the first two
to docs/transcripts.md. Every width is tried by tests/terminal/test_tables.py.
"""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.command_line import BAD_LINES, demo
from tests.embedded.waiting import wait_until
from tests.support import terminal
from tests.support.actonce_server import ACTONCE, run_actonce
from tests.support.commands import without_aws

COLUMNS = 80
PAGE = PROJECT / "docs" / "transcripts.md"
SENT = BAD_LINES[:4]
"""A message, its duplicate, its conflict, and one that is no JSON."""

COMMANDS = (
    "status",
    "where LETTER",
    "dead-letters show LETTER",
    "unstarted list",
)
INTRODUCTION = """\
# What the commands say

At a terminal of 80 columns, after `actonce demo --messages 24 --faults many --seed 7`. Then came a
message, the same id with another content, and a text that is no JSON.
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.embedded
@pytest.mark.long
def test_it_can_be_read_and_ids_can_be_copied(paths: Paths) -> None:
    demo(paths, "--messages", "24", "--faults", "many", "--seed", "7")
    state = lifecycle.running(paths)
    assert state is not None
    stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    for body in SENT:
        stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)
    wait_until(lambda: counts(stack.sqs, stack.unstarted_queue)[0] >= 2)
    wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0))
    environment = without_aws(ACTONCE_DIR=str(paths.home), TERM="xterm-256color")
    environment.pop("COLUMNS", None)

    def ids(command: str, key: str) -> list[str]:
        told = run_actonce((command, "list", "--json"), environment).stdout
        return [str(entry[key]) for entry in json.loads(told)[command.replace("-", "_")]]

    letter, *_ = ids("dead-letters", "message_id")
    unstarted = ids("unstarted", "sqs_message_id")
    shown = {}
    for template in COMMANDS:
        command = template.replace("LETTER", letter)
        shown[command] = _typed(command, environment, paths.home)
    assert letter in shown[f"dead-letters show {letter}"]
    assert [one for one in unstarted if one not in shown["unstarted list"]] == []
    if os.environ.get("ACTONCE_WRITE_TRANSCRIPTS"):
        of_page = list(shown.items())[:2]
        blocks = [f"```text\n$ actonce {name}\n{said}\n```\n" for name, said in of_page]
        PAGE.write_text("\n".join([INTRODUCTION, *blocks]))


def _typed(command: str, environment: dict[str, str], folder: Path) -> str:
    """What stands on the terminal afterwards."""
    ended = terminal.run(
        [str(ACTONCE), *shlex.split(command)], environment, folder, columns=COLUMNS, is_input=True
    )
    lines = _ESCAPES.sub("", ended.told).split("\n")
    said = "\n".join(line.rpartition("\r")[2].rstrip() for line in lines).strip("\n")
    assert ended.status == 0, said
    return said
