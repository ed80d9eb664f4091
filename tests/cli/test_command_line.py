"""The commands as a person runs them, where no stack is needed or none can be found."""

import errno
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.parsers import ResponseParserError
from typer.main import get_command

from actonce.cli import app as cli
from actonce.stack import extras
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT
from actonce.stack.endpoint import Chosen
from actonce.stack.sources import version
from actonce.stack.target import find_stack
from actonce.terminal.errors import WrongUse
from tests.actonce_server import ACTONCE, run_actonce


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ACTONCE_DIR": str(tmp_path / "actonce"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "COLUMNS": "80",
    }


def run(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in an environment that names no account and no Region."""
    return run_actonce(arguments, environment(tmp_path) | variables, folder=tmp_path)


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """As `run`, in this process: most of a command's time is that of importing boto3."""

    def run_here(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in (environment(tmp_path) | variables).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
        monkeypatch.setattr(sys, "argv", ["actonce", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out, err)

    return run_here


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


ONLY_SOME_NEED = (
    "aws_lambda_powertools",
    "awslambdaric",
    "jinja2",
    "ministack",
    "numpy",
    "packaging",
    "pyarrow",
    "pyspark",
    "samcli",
    "samtranslator",
    "yaml",
)
"""What the extras bring; `boto3` and `rich` are everybody's, and half a second to import."""


def imported(code: str, names: tuple[str, ...]) -> str:
    code = f"import sys\n{code}\nsys.stdout.write(' '.join(set({names}) & set(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return answer.stdout.rpartition("\n")[2]


def test_list_of_all_commands_waits_for_none_of_them() -> None:
    code = "from actonce.cli import app as cli\ntry: cli.app(['--help'])\nexcept SystemExit: pass"
    slow = ("boto3", "botocore", "rich", "urllib3", "actonce.terminal.output")
    assert imported(code, slow + ONLY_SOME_NEED) == ""


def test_no_command_waits_for_what_only_some_need() -> None:
    names = ("send", "where", "dead-letters", "unstarted", "worker", "collect", "init")
    code = f"from actonce.cli import app as cli\nfor name in {names}: cli.COMMANDS[name].load(name)"
    assert imported(code, ONLY_SOME_NEED) == ""


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_list_says_of_a_command_what_the_command_says(name: str) -> None:
    command: Any = get_command(cli.app)
    assert command.commands[name].get_short_help_str(500) == cli.COMMANDS[name].help


def test_the_list_fits_the_screen(tmp_path: Path) -> None:
    lines = run(tmp_path, "--help", COLUMNS="60").stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert any(line.endswith("...") for line in lines)


def test_version_is_said(tmp_path: Path) -> None:
    answer = run(tmp_path, "--version")
    assert (answer.returncode, answer.stdout) == (0, f"actonce {version()}\n")


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({"ActOnceVersion": "0.0.9"}, "of version 0.0.9, older than this actonce"),
        ({"ActOnceVersion": "99.0.0"}, "newer than this actonce"),
        ({}, "does not say its version"),
        ({"ActOnceVersion": version()}, ""),
    ],
)
def test_a_stack_of_another_version_is_worked_with_and_told_of_on_standard_error(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    outputs: dict[str, str],
    said: str,
) -> None:
    found = Stack(Aws(), "orders", outputs)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # not this machine's embedded AWS
    monkeypatch.setattr(Stack, "find", lambda *_: found)
    monkeypatch.setenv("COLUMNS", "300")
    assert find_stack(Chosen("orders")) is found
    out, err = capfd.readouterr()
    assert out == ""
    where, *more = err.splitlines()
    assert where == "At http://127.0.0.1:9 (AWS_ENDPOINT_URL), stack orders"
    assert said in " ".join(more)
    assert len(more) == (1 if said else 0)


# --------------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("wh", ["where"]),
        ("dead-letters re", ["reject", "resolve", "retry"]),
        ("audit package --t", ["--to"]),
        ("demo --strategy le", ["lease", "ledger"]),
        ("nonsense x", []),
    ],
)
def test_a_shell_completes_commands_options_and_their_values(
    tmp_path: Path, words: str, completed: list[str]
) -> None:
    # As the script of --show-completion asks when the Tab key is pressed.
    answer = subprocess.run(
        [str(ACTONCE)],
        env=environment(tmp_path)
        | {"_ACTONCE_COMPLETE": "complete_bash", "COMP_WORDS": f"actonce {words}"}
        | {"COMP_CWORD": str(len(words.split()))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert sorted(answer.stdout.split()) == completed, answer.stderr


def test_to_list_the_commands_for_a_shell_none_of_them_is_loaded() -> None:
    code = (
        "import os\nos.environ.update(_ACTONCE_COMPLETE='complete_bash',"
        " COMP_WORDS='actonce ', COMP_CWORD='1')\n"
        "from actonce.cli import app as cli\ntry: cli.main()\nexcept SystemExit: pass"
    )
    assert imported(code, ("boto3", "botocore", *ONLY_SOME_NEED)) == ""


# --------------------------------------------------------------------------- extras


NOT_THERE = {
    "embedded": "samcli",
    "audit": "jinja2",
    "console": "uvicorn",
    "pipeline": "pyspark",
}


@pytest.mark.parametrize(
    ("name", "extra"), [(name, one.extra) for name, one in cli.COMMANDS.items() if one.extra]
)
def test_command_without_its_extra_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    missing = NOT_THERE[extra]
    monkeypatch.setattr(
        extras, "find_spec", lambda module: None if module == missing else find_spec(module)
    )
    command: Any = get_command(cli.app)
    with pytest.raises(WrongUse) as raised:
        command.commands[name]
    assert str(raised.value) == (
        f"actonce {name} needs {missing}, which is not installed: pip install '{PROJECT}[{extra}]'"
    )


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    optional = declared["optional-dependencies"]
    of_distribution = packages_distributions()
    for extra, modules in extras.MODULES.items():
        named = {
            re.split(r"[\[<>=~ ]", requirement)[0].lower()
            for one in (extra, *INCLUDED.get(extra, ()))
            for requirement in optional[one]
        }
        brought = {name.lower() for module in modules for name in of_distribution[module]}
        assert brought <= named
        if extra != "pipeline":
            assert brought == named


INCLUDED = {"pipeline": ("audit",)}


@pytest.mark.parametrize("path", ALL_COMMANDS, ids=" ".join)
def test_every_commands_help_shows_an_example(path: tuple[str, ...]) -> None:
    text = as_seen(path)
    assert re.search(r"^  Examples?:$", text, re.MULTILINE)
    assert re.search(rf"^      .*\bactonce {' '.join(path)}\b", text, re.MULTILINE)


def in_one_sentence(answer: subprocess.CompletedProcess[str]) -> str:
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1, answer.stderr
    assert answer.stderr.startswith("actonce: ")
    return answer.stderr


def test_without_credentials_it_fails_in_one_sentence(
    here: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    answer = here("where", "m-1", AWS_DEFAULT_REGION="us-east-1")
    assert (answer.returncode, "credentials" in in_one_sentence(answer)) == (1, True)


def test_without_a_region_it_fails_in_one_sentence(tmp_path: Path) -> None:
    answer = run(tmp_path, "where", "m-1")
    assert (answer.returncode, "--region" in in_one_sentence(answer)) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("send", "-"),
        ("where", "m-1"),
        ("status",),
        ("pause",),
        ("dead-letters", "reject", "m-1", "--note", "x"),
        ("unstarted", "redrive", "--all", "--yes"),
        ("collect", "--day", "today", "--to", "records"),
        ("worker",),
    ],
    ids=" ".join,
)
def test_where_the_embedded_aws_crashed_nothing_goes_to_the_credentials_that_are_there(
    here: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    (tmp_path / "actonce").mkdir()
    # No process has this number: it is more than Linux and macOS give.
    crashed = '{"pid": 4194305, "port": 9, "parameters": {}}'
    (tmp_path / "actonce" / "embedded.json").write_text(crashed)
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_PROFILE": "prod"}
    answer = here(*arguments, AWS_DEFAULT_REGION="us-east-1", **keys)
    assert answer.returncode == 1
    assert f"{tmp_path / 'actonce'} was up and does not answer" in in_one_sentence(answer)


@pytest.mark.parametrize(
    ("text", "said"), [('{\n"message_id": "a"\n}', "jq -c . "), ("[\n{}\n]", "jq -c '.[]' ")]
)
def test_pretty_printed_json_is_explained_and_not_sent(
    here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "pretty.json").write_text(text)
    answer = here("send", "pretty.json")
    assert answer.returncode == 2
    assert f"{said}pretty.json | actonce send -" in in_one_sentence(answer)


@pytest.mark.parametrize(
    "line",
    [
        "send no-such-file.jsonl",
        "send .",
        "audit nowhere",  # which is told before Spark is started
        "where ''",
        "list --status gone --since then",
        "dead-letters list --reason refused",
        "dead-letters list --before yesterday",
        "dead-letters show ''",
        "dead-letters retry",
        "dead-letters retry ''",
        "dead-letters retry --all",  # nobody can be asked
        "dead-letters retry --all --json",
        "dead-letters retry --all m-1 --yes",
        "dead-letters retry --all --yes --reason refused",
        "dead-letters retry m-1 --reason rejected",
        "dead-letters retry m-1 --rate 5",
        "dead-letters retry m-1 --dry-run",
        "dead-letters perform m-1 --note ''",
        "dead-letters resolve m-1 --note ' '",
        "dead-letters reject --all --yes --note ''",
        "unstarted list --reason conflicts",
        "unstarted show ''",
        "unstarted redrive",
        "unstarted redrive --all",
        "unstarted redrive --all some-id",
        "unstarted redrive --reason conflict",
        "unstarted discard some-id --note ''",
        "unstarted discard --all --note x",
    ],
)
def test_what_cannot_be_asked_for_is_wrong_use_before_anything_is_read(
    here: Callable[..., subprocess.CompletedProcess[str]], line: str
) -> None:
    answer = here(*shlex.split(line))
    assert answer.returncode == 2
    in_one_sentence(answer)


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("where", "--help")],
    ids=" ".join,
)
def test_output_that_cannot_be_written_is_told_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [str(ACTONCE), *arguments],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert answer.returncode == 1
    assert answer.stderr.startswith(
        "actonce: The output cannot be written: No space left on device."
    )
    assert len(answer.stderr.splitlines()) == 1


def test_a_reader_that_is_gone_is_no_failure_of_ours(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)  # as head does when it has its line
    answer = subprocess.run(
        [str(ACTONCE), "--help"], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (answer.returncode, answer.stderr) == (141, b""), "as of git log | head"


@pytest.fixture
def ends_with(
    here: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[[BaseException], subprocess.CompletedProcess[str]]:
    """`actonce where m-1`, in which an error comes up once it has found the stack."""

    def run_where(error: BaseException) -> subprocess.CompletedProcess[str]:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr("actonce.cli.where.find_stack", fail)
        return here("where", "m-1")

    return run_where


def test_ctrl_c_is_130_and_says_how_to_go_on(
    ends_with: Callable[[BaseException], subprocess.CompletedProcess[str]],
) -> None:
    answer = ends_with(KeyboardInterrupt())
    assert answer.returncode == 130
    assert in_one_sentence(answer) == "actonce: Interrupted. Say the same again to begin anew.\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ClientError({"Error": {"Code": "QueueDoesNotExist", "Message": "gone"}}, "GetQueueUrl"),
            "The stack, or a part of it, may be gone: actonce status looks.",
        ),
        (ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "X"), "AccessDenied"),
        (
            EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
            'http://127.0.0.1:1". Nothing answers there; the embedded AWS is brought up by',
        ),
        (ResponseParserError("cut off"), "AWS: cut off"),
        (OSError(errno.ENOSPC, "No space left on device", "x.jsonl"), "no room for x.jsonl"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
def test_what_ends_a_command_in_the_middle_is_told_in_one_sentence(
    ends_with: Callable[[BaseException], subprocess.CompletedProcess[str]],
    error: Exception,
    said: str,
) -> None:
    answer = ends_with(error)
    assert answer.returncode == 1
    assert said in in_one_sentence(answer)


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
    here: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...]
) -> None:
    answer = here(*arguments)
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr


def test_the_installed_script_is_the_same(tmp_path: Path) -> None:
    by_script = subprocess.run(
        [str(ACTONCE), "where"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    forked = run(tmp_path, "where")
    assert by_script.returncode == forked.returncode == 2
    assert (by_script.stdout, by_script.stderr) == (forked.stdout, forked.stderr)


def test_conformance_is_for_a_clone_only(
    here: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actonce.cli.conformance.in_clone", lambda: False)
    answer = here("conformance")
    assert answer.returncode == 2
    assert "needs a clone" in in_one_sentence(answer)
