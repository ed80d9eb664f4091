"""What every command keeps to: its help, its exit status, its JSON, and nothing on a guess."""

import errno
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.parsers import ResponseParserError

from actonce.cli import app as cli
from actonce.stack import extras
from actonce.stack.embedded_folder import PROJECT
from actonce.stack.stack_files import version
from actonce.terminal import output
from actonce.terminal.errors import UsageError
from tests.support.actonce_server import ACTONCE
from tests.support.moto_stack import Actonce, Ended

# --------------------------------------------------------------------------- the commands

ON_A_STACK = (
    "send -",
    "where m-1",
    "list",
    "status",
    "doctor",
    "pause",
    "resume",
    "console",
    "collect --day today --to records",
    "dead-letters list",
    "dead-letters show m-1",
    "dead-letters retry m-1",
    "dead-letters perform m-1 --note x",
    "dead-letters resolve m-1 --note x",
    "dead-letters reject m-1 --note x",
    "unstarted list",
    "unstarted show m-1",
    "unstarted send-back --all",
    "unstarted discard --all --note x",
)
"""Each command that works on a stack, with what it cannot do without."""

ELSEWHERE = {"effect check"}
"""Takes a stack of the embedded AWS alone."""


def commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and, if it is a group, those in it, by their words."""
    yield words, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(f"{words} {name}", child)


ALL: dict[str, Any] = {
    words: command
    for name, one in cli.COMMANDS.items()
    for words, command in commands(name, one.load(name))
}


def has(words: str, option: str) -> bool:
    return any(option in one.opts for one in ALL[words].params)


def name_of(line: str) -> str:
    return max((name for name in ALL if f"{line} ".startswith(f"{name} ")), key=len)


def words_of(line: str) -> list[str]:
    """The words of a line, with all that is said where nobody is to be asked, and for machines."""
    more = [one for one in ("--yes", "--json") if has(name_of(line), one)]
    return [*shlex.split(line), *more]


def in_one_sentence(ended: Ended) -> str:
    assert ended.out == ""
    *_, sentence = lines = ended.err.splitlines()
    assert len(lines) == 1 or (len(lines) == 2 and lines[0].startswith("On AWS: ")), ended.err
    assert sentence.startswith("actonce: ")
    return sentence


def test_the_table_has_every_command_that_works_on_a_stack() -> None:
    assert {name_of(line) for line in ON_A_STACK} | ELSEWHERE == {
        name for name in ALL if has(name, "--stack-name")
    }


@pytest.mark.parametrize("words", ALL)
def test_help_shows_an_example_and_its_first_line_is_what_the_list_says_whole(words: str) -> None:
    command, context = ALL[words], None
    for name in words.split() if words not in cli.COMMANDS else [words]:
        context = typer.Context(command, parent=context, info_name=name, terminal_width=78)
    text = str(command.get_help(context))
    assert re.search(r"^  Examples?:$", text, re.MULTILINE)
    assert re.search(rf"^      .*\bactonce {words}\b", text, re.MULTILINE)
    if words in cli.COMMANDS:
        assert command.get_short_help_str(500) == cli.COMMANDS[words].help
    if hasattr(command, "commands"):
        assert "..." not in text.partition("Commands:")[2]


# --------------------------------------------------------------------------- exit status


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What AWS is asked for, all of which it refuses."""

    def refuse(_: Any, operation: str, __: Any) -> None:
        operations.append(operation)
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation)

    operations: list[str] = []
    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    (tmp_path / "archive").mkdir()
    return operations


@pytest.mark.parametrize("line", ON_A_STACK)
def test_where_nothing_may_be_asked_nothing_is_done_and_the_exit_status_is_1(
    line: str,
    actonce: Actonce,
    questions: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = actonce(*words_of(line), "--region", "us-east-1", text="{}\n")
    assert (refused.status, "AccessDenied" in in_one_sentence(refused)) == (1, True)
    assert questions == ["GetCallerIdentity", "DescribeStacks"]

    questions.clear()
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path / "crashed"))
    (tmp_path / "crashed").mkdir()
    # No process has this number: it is more than Linux and macOS give.
    crashed = '{"pid": 4194305, "port": 9, "parameters": {}}'
    (tmp_path / "crashed" / "embedded.json").write_text(crashed)
    ended = actonce(*words_of(line), AWS_PROFILE="prod")
    assert ended.status == 1
    assert f"{tmp_path / 'crashed'} was up and does not answer" in in_one_sentence(ended)
    assert questions == [], "whose credentials these are is nobody's guess"


@pytest.mark.parametrize(
    "line",
    [
        one
        for one in ON_A_STACK
        # These look first, and ask about what they show.
        if has(name_of(one), "--yes") and "--all" not in one
    ],
)
def test_what_changes_something_on_aws_is_asked_about_and_without_a_yes_nothing_is_done(
    line: str, actonce: Actonce, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, status in ((None, 2), (False, 1)):
        monkeypatch.setattr(output, "ask", lambda _, answer=answer: answer)
        ended = actonce(*shlex.split(line), "--region", "us-east-1", text="{}\n")
        assert (ended.status, "Say --yes" in in_one_sentence(ended)) == (status, answer is None)
    assert {*questions} == {"GetCallerIdentity"}


@pytest.mark.parametrize(
    ("variables", "status", "message"),
    [({"AWS_DEFAULT_REGION": "us-east-1"}, 1, "credentials"), ({}, 2, "--region")],
)
def test_without_credentials_or_a_region_it_is_told_what_to_say(
    actonce: Actonce, variables: dict[str, str], status: int, message: str
) -> None:
    none = dict.fromkeys(name for name in os.environ if name.startswith("AWS_"))
    where = none | {"AWS_EC2_METADATA_DISABLED": "true"} | variables
    ended = actonce("where", "m-1", **where)
    assert (ended.status, message in in_one_sentence(ended)) == (status, True)
    assert "it is not up, and actonce up brings it up" in ended.err


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (
            ClientError({"Error": {"Code": "QueueDoesNotExist", "Message": "gone"}}, "GetQueueUrl"),
            1,
            "The stack, or a part of it, may be gone: actonce status looks.",
        ),
        (ClientError({"Error": {"Code": "ExpiredToken", "Message": ""}}, "X"), 1, "aws sso login"),
        (
            EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
            1,
            'http://127.0.0.1:1". Nothing answers there; the embedded AWS is brought up by',
        ),
        (ResponseParserError("cut off"), 1, "AWS: cut off"),
        (OSError(errno.ENOSPC, "No space left on device", "x.jsonl"), 1, "no room for x.jsonl"),
        (KeyboardInterrupt(), 130, "Interrupted. What was done stays done; the same command"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_what_ends_a_command_in_the_middle_is_told_in_one_sentence(
    actonce: Actonce,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    message: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("actonce.cli.where.find_stack", fail)
    ended = actonce("where", "m-1")
    assert ended.status == status
    assert message in in_one_sentence(ended)
    monkeypatch.setattr(cli, "app", fail)  # before a command has begun
    assert actonce("where", "m-1").status == status


def test_output_that_cannot_be_written_is_1_and_a_reader_that_is_gone_is_no_failure(
    tmp_path: Path,
) -> None:
    def started(*words: str, into: int) -> tuple[int, str]:
        ended = subprocess.run(
            [str(ACTONCE), *words], cwd=tmp_path, stdout=into, stderr=subprocess.PIPE, check=False
        )
        return ended.returncode, ended.stderr.decode()

    with Path("/dev/full").open("w") as full:
        status, err = started("--version", into=full.fileno())
        assert (status, len(err.splitlines())) == (1, 1)
        assert err.startswith("actonce: The output cannot be written: No space left on device.")
    reading, writing = os.pipe()
    os.close(reading)  # as head does when it has its line
    assert started("where", "--help", into=writing) == (0, "")
    os.close(writing)


# --------------------------------------------------------------------------- what is printed


def test_the_version_is_printed(actonce: Actonce) -> None:
    assert actonce("--version") == (0, f"actonce {version()}\n", "")


def test_a_shell_completes_commands_below_a_group(tmp_path: Path) -> None:
    # As the script of --show-completion asks when the Tab key is pressed.
    questions = {"COMP_WORDS": "actonce dead-letters re", "COMP_CWORD": "2"}
    environment = {"PATH": os.environ["PATH"], "_ACTONCE_COMPLETE": "complete_bash"}
    message = subprocess.check_output([str(ACTONCE)], env=environment | questions, cwd=tmp_path)
    assert sorted(message.decode().split()) == ["reject", "resolve", "retry"]


# --------------------------------------------------------------------------- what is imported

ONLY_SOME_NEED = (
    *("aws_lambda_powertools", "awslambdaric", "jinja2", "ministack", "numpy", "packaging"),
    *("pyarrow", "pyspark", "samcli", "samtranslator", "yaml"),
)
"""What the extras bring; `rich` is everybody's."""

BOTO3 = ("boto3", "botocore.compat", "botocore.config", "urllib3")
"""What a command that works on a stack needs, and no help; `botocore.exceptions` is light."""

LIST = "try: cli.app(['--help'])\nexcept SystemExit: pass"
HELP = (
    "for words in {}:\n"
    "    try: cli.app([*words.split(), '--help'])\n"
    "    except SystemExit as ended: assert not ended.code, words"
)


@pytest.mark.parametrize(
    ("code", "slow"),
    [
        (LIST, ("botocore", "rich", *BOTO3, *ONLY_SOME_NEED)),
        (HELP.format([*ALL]), (*BOTO3, "numpy", "pyarrow", "pyspark")),
    ],
    ids=["list", "help of all"],
)
def test_nothing_is_imported_that_only_others_need(code: str, slow: tuple[str, ...]) -> None:
    assert not set(slow) & imported(code)


def imported(code: str) -> set[str]:
    code = (
        f"import os, sys\nfrom actonce.cli import app as cli\n{code}\nprint(); print(*sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("name", "missing"),
    [("up", "samcli"), ("audit", "jinja2"), ("console", "uvicorn"), ("backfill", "pyspark")],
)
def test_a_command_without_its_extra_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, name: str, missing: str
) -> None:
    found = {missing: None}
    monkeypatch.setattr(extras, "find_spec", lambda one: found.get(one, find_spec(one)))
    with pytest.raises(UsageError) as raised:
        cli.COMMANDS[name].load(name)
    assert str(raised.value) == (
        f"actonce {name} needs {missing}, which is not installed: "
        f"pip install '{PROJECT}[{cli.COMMANDS[name].extra}]'"
    )


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    optional = declared["optional-dependencies"]
    of_distribution = packages_distributions()
    for extra, modules in extras.MODULES.items():
        named = {re.split(r"[\[<>=~ ]", one)[0].lower() for one in optional[extra]}
        distributions = [name for module in modules for name in of_distribution[module]]
        brought = {name.lower().replace("_", "-") for name in distributions}
        assert brought == named
