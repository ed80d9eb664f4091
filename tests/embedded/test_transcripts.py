"""What the commands of docs/operations.md say at a terminal.

`ACTONCE_WRITE_TRANSCRIPTS=1 pytest -m long tests/embedded/test_transcripts.py` writes what it sees
to docs/transcripts/80-columns.md.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from actonce.embedded import lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests import terminal
from tests.embedded.homes import home
from tests.embedded.running_demo import BAD_LINES, demo
from tests.embedded.test_readme import commands
from tests.embedded.waiting import wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

COLUMNS = 80
TRANSCRIPT = PROJECT / "docs" / "transcripts" / "80-columns.md"
WHOLE = 80
"""Characters of an id that can be copied out of a table."""
LONG_ID = "the-id-of-a-producer-who-has-much-to-say-" + "x" * 2_959

# ID stands for the first letter, or entry, that the list before has.
LOOKS = (
    "list",
    "where MESSAGE_ID",
    "status",
    "dead-letters list",
    "dead-letters show ID",
    "unstarted list",
    "unstarted show ID",
)
ACTS = (
    'pause --note "provider down until 14:00"',
    "status",
    "resume",
    "dead-letters retry ID",
    "dead-letters retry --all --reason not_performed --rate 20",
    "dead-letters resolve --all --match practice-7 --before 2h --note 'done by telephone'",
    "dead-letters reject --all --error Rejected --note 'out of time'",
    "unstarted redrive ID",
    "unstarted discard ID --note 'a test of ours'",
)
SEEN_ELSEWHERE = {
    "dead-letters perform --all --reason outcome_unknown "
    "--note 'none of them in the journal; Ann'": "tests/cli/test_dead_letter_decisions.py",
    "down": "tests/embedded/test_readme.py",
    "send -": "tests/embedded/test_readme.py",
    "where request-1": "tests/embedded/test_readme.py",
    "collect --day today --to records/": "tests/embedded/test_readme.py",
    "audit records/": "tests/embedded/test_readme.py",
}

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Shown(NamedTuple):
    """A command line, and what it said."""

    command: str
    said: str


class Person:
    """Somebody at a terminal in the folder of an embedded AWS after a demo."""

    def __init__(self, paths: Paths) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self._environment = kept | {"ACTONCE_DIR": str(paths.home), "TERM": "xterm-256color"}
        self._environment.pop("COLUMNS", None)
        self._folder = paths.home

    def types(self, command: str) -> Shown:
        ended = terminal.run(
            [sys.executable, "-m", "actonce.cli.app", *shlex.split(command)],
            self._environment,
            self._folder,
            answers=b"y\n",
            after=b"[y/N]",
            columns=COLUMNS,
            is_input=True,
        )
        lines = (
            line.rpartition("\r")[2].rstrip() for line in _ESCAPES.sub("", ended.told).split("\n")
        )
        shown = Shown(f"actonce {command}", "\n".join(lines).strip("\n"))
        assert ended.status == 0, shown
        assert "Traceback" not in shown.said
        return shown

    def asks(self, *command: str) -> dict[str, list[dict[str, object]]]:
        told = subprocess.run(
            [sys.executable, "-m", "actonce.cli.app", *command, "--json"],
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found: dict[str, list[dict[str, object]]] = json.loads(told)
        return found

    def ids(self, *command: str) -> list[str]:
        entries = self.asks(*command)[command[0].replace("-", "_").replace("list", "messages")]
        return [
            str(one.get("id") or one.get("message_id") or one.get("sqs_message_id"))
            for one in entries
        ]


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    paths = home(tmp_path_factory)
    try:
        demo(paths, "--messages", "24", "--faults", "many", "--seed", "7")
        state = lifecycle.running(paths)
        assert state is not None
        stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
        for body in (*BAD_LINES, json.dumps({"message_id": LONG_ID})):
            stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)
        somebody = Person(paths)
        wait_until(lambda: len(somebody.ids("unstarted", "list")) >= 6, 120)
        wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0), 120)
        yield somebody
    finally:
        lifecycle.down(paths)


def documented() -> list[str]:
    """The commands of the page, and those of README.md that are run after a demo."""
    page = (PROJECT / "docs" / "operations.md").read_text()
    of_readme = (one.rpartition("| ")[2] for one in commands())
    return [
        *re.findall(r"^ {4}actonce (.*?)(?: +#.*)?$", page, re.M),
        *(one.removeprefix("actonce ") for one in of_readme if one.startswith("actonce ")),
    ]


def test_every_documented_command_is_typed() -> None:
    assert set(documented()) <= {*LOOKS, *ACTS, *SEEN_ELSEWHERE}


def test_each_can_be_typed_and_ids_can_be_copied(person: Person) -> None:
    letters, unstarted = (
        person.ids(name, "list", *more)
        for name, more in (("dead-letters", ["--each"]), ("unstarted", ["--each"]))
    )
    messages = person.ids("list")
    assert letters
    stand_for = {
        "where MESSAGE_ID": f"where {letters[0]}",
        "dead-letters show ID": f"dead-letters show {letters[0]}",
        "unstarted show ID": f"unstarted show {unstarted[0]}",
    }
    page = [person.types(stand_for.get(command, command)) for command in LOOKS]
    for command, ids in (
        ("list", messages),
        ("dead-letters list", letters),
        ("unstarted list", unstarted),
    ):
        (said,) = (one.said for one in page if one.command == f"actonce {command}")
        assert [one for one in ids if len(one) <= WHOLE and one not in said] == [], command
    for command in ACTS:
        one = letters[-1] if command.startswith("dead") else unstarted[-1]
        if command.endswith("discard ID --note 'a test of ours'"):
            one = unstarted[0]
        page.append(person.types(re.sub(r"\bID\b", one, command)))
    if os.environ.get("ACTONCE_WRITE_TRANSCRIPTS"):
        write(page)


def write(page: list[Shown]) -> None:
    parts = [
        f"# The commands of operations, at {COLUMNS} columns\n",
        "After `actonce demo --messages 24 --faults many --seed 7`, eight bad lines, and an",
        "id of 3,000 characters.\n",
    ]
    for one in page:
        said = re.sub("x{80}(\n *x+)*", "…", one.said)
        parts.append(f"```text\n$ {one.command}\n{said}\n```\n")
    TRANSCRIPT.write_text("\n".join(parts))
