"""What commands print at 80 columns; tests/terminal/test_tables.py tries every width."""

import json
import re
import shlex
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.command_line import BAD_LINES, demo
from tests.embedded.waiting import wait_until
from tests.support import terminal
from tests.support.actonce_server import ACTONCE, run_actonce
from tests.support.commands import without_aws

COLUMNS = 80
SENT = BAD_LINES[:4]
"""A message, its duplicate, its conflict, and one that is no JSON."""

COMMANDS = (
    "status",
    "where LETTER",
    "dead-letters show LETTER",
    "unstarted list",
)
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
        told = run_actonce((command, "list", "--json", "--each"), environment).stdout
        return [str(entry[key]) for entry in json.loads(told)[command.replace("-", "_")]]

    letter, *_ = ids("dead-letters", "message_id")
    unstarted = ids("unstarted", "sqs_message_id")
    shown = {}
    for template in COMMANDS:
        command = template.replace("LETTER", letter)
        shown[command] = _typed(command, environment, paths.home)
    assert letter in shown[f"dead-letters show {letter}"]
    assert [one for one in unstarted if one not in shown["unstarted list"]] == []


def _typed(command: str, environment: dict[str, str], folder: Path) -> str:
    """What stands on the terminal afterwards."""
    ended = terminal.run(
        [str(ACTONCE), *shlex.split(command)], environment, folder, columns=COLUMNS, is_input=True
    )
    lines = _ESCAPES.sub("", ended.told).split("\n")
    said = "\n".join(line.rpartition("\r")[2].rstrip() for line in lines).strip("\n")
    assert ended.status == 0, said
    return said
