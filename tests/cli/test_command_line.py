"""The commands as a person runs them, where no stack is needed or none can be found."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from actonce import cli

ACTONCE = Path(sysconfig.get_path("scripts")) / "actonce"


def run(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in an environment that names no account and no Region."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ACTONCE_DIR": str(tmp_path / "actonce"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "COLUMNS": "80",
    }
    return subprocess.run(
        [str(ACTONCE), *arguments],
        env=environment | variables,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


def as_seen(path: tuple[str, ...]) -> str:
    """A command's help, without starting Python for each."""
    command: Any = get_command(cli.app)
    context = typer.Context(command, info_name="actonce")
    for name in path:
        command = command.commands[name]
        context = typer.Context(command, parent=context, info_name=name)
    return str(command.get_help(context))


ALL_COMMANDS = list(commands(get_command(cli.app)))


def test_no_command_waits_for_what_only_some_need() -> None:
    slow = ("matplotlib", "numpy", "pyarrow", "pyspark", "samcli")
    code = f"import sys, actonce.cli; print([name for name in {slow} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"


def test_these_are_the_commands() -> None:
    names = {" ".join(path) for path in ALL_COMMANDS}
    assert names >= {
        "demo",
        "up",
        "down",
        "send",
        "where",
        "dead-letters list",
        "dead-letters show",
        "dead-letters retry",
        "dead-letters resolve",
        "dead-letters reject",
        "unstarted list",
        "unstarted show",
        "unstarted redrive",
        "unstarted discard",
    }


@pytest.mark.parametrize("path", ALL_COMMANDS, ids=" ".join)
def test_every_commands_help_shows_an_example(path: tuple[str, ...]) -> None:
    text = as_seen(path)
    assert re.search(r"^  Examples?:$", text, re.MULTILINE)
    assert re.search(rf"^      .*\bactonce {' '.join(path)}\b", text, re.MULTILINE)


def test_help_is_printed_and_is_no_error(tmp_path: Path) -> None:
    answer = run(tmp_path, "send", "--help")
    assert answer.returncode == 0
    assert "actonce send requests.jsonl" in answer.stdout


def in_one_sentence(answer: subprocess.CompletedProcess[str]) -> str:
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1, answer.stderr
    assert answer.stderr.startswith("actonce: ")
    return answer.stderr


NEED_A_STACK = [
    ("send", "-"),
    ("where", "m-1"),
    ("dead-letters", "list"),
    ("dead-letters", "show", "m-1"),
    ("dead-letters", "retry", "m-1"),
    ("dead-letters", "resolve", "m-1", "--note", "x"),
    ("dead-letters", "reject", "m-1", "--note", "x"),
    ("unstarted", "list"),
    ("unstarted", "show", "m-1"),
    ("unstarted", "redrive", "--all", "--yes"),
]


@pytest.mark.parametrize("arguments", NEED_A_STACK, ids=" ".join)
def test_without_credentials_it_fails_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    answer = run(tmp_path, *arguments, AWS_DEFAULT_REGION="us-east-1")
    assert answer.returncode == 1
    assert "credentials" in in_one_sentence(answer)


def test_without_a_region_it_fails_in_one_sentence(tmp_path: Path) -> None:
    answer = run(tmp_path, "where", "m-1")
    assert answer.returncode == 1
    assert "region" in in_one_sentence(answer)


def test_a_file_that_is_missing_is_wrong_use(tmp_path: Path) -> None:
    answer = run(tmp_path, "send", "no-such-file.jsonl")
    assert answer.returncode == 2
    assert "no-such-file.jsonl cannot be read: No such file" in in_one_sentence(answer)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    answer = run(tmp_path, "send", str(tmp_path))
    assert answer.returncode == 2
    assert "directory" in in_one_sentence(answer)


@pytest.mark.parametrize(
    "arguments",
    [
        ("unstarted", "redrive"),
        ("unstarted", "redrive", "--reason", "conflict"),
        ("unstarted", "redrive", "--all", "some-id"),
        ("unstarted", "redrive", "--all", "--reason", "conflicts"),
        ("unstarted", "list", "--reason", "conflicts"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_for_is_wrong_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    answer = run(tmp_path, *arguments)
    assert answer.returncode == 2
    in_one_sentence(answer)


@pytest.mark.parametrize(
    "arguments",
    [
        ("send",),
        ("where",),
        ("dead-letters", "resolve", "m-1"),
        ("dead-letters", "reject", "m-1"),
        ("dead-letters", "postpone", "m-1"),
        ("send", "--retry-for", "-1", "-"),
    ],
    ids=" ".join,
)
def test_missing_and_unknown_arguments_are_wrong_use(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    answer = run(tmp_path, *arguments)
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr


def test_it_runs_as_a_module_too(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "actonce.cli", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0
    assert "where" in answer.stdout
