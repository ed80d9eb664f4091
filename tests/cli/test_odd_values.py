"""Every argument and option of every command, with each value that is odd and possible."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from actonce.cli.app import COMMANDS
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.support.moto_stack import Actonce
from tests.support.odd_values import ODD, refuse_as_aws
from tests.support.queues import dead
from tests.support.stacks import fed, with_lease, with_log

USUAL = {"message_id": "m-1", "note": "why", "day": "2026-01-31", "stream": "effects"}
"""What else a command needs; anything else is the name of a file that is there."""

OF_PLACES = ("stack_name", "config_env", "profile", "region")
"""They say where a command works, and so the stack is really looked for."""

RAW = ("ValidationException", "Traceback", "Parameter validation")
"""What nobody who typed a wrong value is told."""

FILES = ("a-folder", "a-file", "a-loop")


# Any: the types are of a copy of Click that Typer keeps to itself.
def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by the words that name it."""
    if not hasattr(command, "commands"):
        yield name, command
    for word, one in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {word}", one)


def parameters() -> dict[str, list[tuple[Any, Any]]]:
    """For each command its parameters that take a value; those that commands share are once."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    known = set()
    for top, listed in COMMANDS.items():
        for name, command in commands(top, listed.load(top)):
            for one in command.params:
                if not getattr(one, "is_flag", False) and (one.name, str(one.help)) not in known:
                    known.add((one.name, str(one.help)))
                    found.setdefault(name, []).append((command, one))
    return found


PARAMETERS = parameters()


@pytest.fixture
def nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started: what comes to that has taken its arguments."""

    def refused(*_: Any, **__: Any) -> None:
        raise Failed("Nothing is started in this test.")

    monkeypatch.setattr(subprocess.Popen, "__init__", refused)
    monkeypatch.setattr(uvicorn.Server, "run", refused)
    monkeypatch.setattr("actonce.cli.console.open_in_browser", lambda *_: None)
    for variable in ("LC_ALL", "PYSPARK_PYTHON"):  # which the audit sets for its processes
        monkeypatch.setenv(variable, os.environ.get(variable, ""))


def words(name: str, command: Any, tried: Any, value: str) -> list[str]:
    """A command line in which one parameter has that value."""
    options, arguments = [], []
    own = {one.name for one in command.params}
    takes_all = "every" in own and tried.param_type_name != "argument"
    options += ["--all"] if takes_all else []
    for one in command.params:
        given = value if one is tried else USUAL.get(one.name, "a-file")
        if one.param_type_name == "argument":
            is_named = one.required or one is tried or (one.nargs != 1 and not takes_all)
            arguments += [given] if is_named else []
        elif one is tried or one.required:
            options.append(f"{one.opts[0]}={given}" if one.opts[0][:2] == "--" else one.opts[0])
    return [*name.split(), *options, *(["--yes"] if "yes" in own else []), "--", *arguments]


@pytest.mark.usefixtures("nothing_begins")
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_value_of_any_parameter_is_more_than_refused(
    name: str, moto_stack: Stack, actonce: Actonce, tmp_path: Path
) -> None:
    stack = with_log(with_lease(fed(moto_stack)))
    dead(stack, "m-1")
    refuse_as_aws(stack, "dynamodb", "sqs", "stepfunctions", "logs", "cloudformation")
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "a-file").write_bytes(b"\xff\x00{")
    (tmp_path / "a-loop").symlink_to("a-loop")
    for command, one in PARAMETERS[name]:
        for value in (*ODD, *FILES, "\udc80"):
            line = words(name, command, one, value)
            ended = actonce(*line, stack=None if one.name in OF_PLACES else stack)
            told = ended.out + ended.err
            assert ended.status in (0, 1, 2), (line, told)
            assert not any(raw in told for raw in RAW), (line, told)
            assert ended.status == 0 or ended.err.strip(), line


@pytest.mark.parametrize("command", ["where", "dead-letters show", "unstarted show"])
def test_an_id_that_no_message_can_have_is_wrong_use(
    command: str, moto_stack: Stack, actonce: Actonce
) -> None:
    for value in ("", "a" * 2_049, "\uffff", "\udc80"):
        ended = actonce(*command.split(), value, stack=moto_stack)
        assert (ended.status, ended.out) == (2, "")
        assert len(ended.err.splitlines()) == 1
