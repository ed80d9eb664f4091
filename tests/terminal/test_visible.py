"""What reaches a person's terminal, whatever is in a message: codes, and nothing that acts."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.panel import Panel
from rich.text import Text

from actonce.cli import app as cli
from actonce.cli import tables
from actonce.stack.clients import Stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed
from actonce.terminal.visible import EscapingStream, json_text, visible
from actonce_core.execution import execution_name
from tests.support.hostile import (
    ACT_HIDE_OR_REORDER,
    HOSTILE,
    HOSTILE_SENT,
    forbidden,
    texts,
    without_own,
)
from tests.support.queues import post, send_to_unstarted
from tests.support.stacks import deployed, with_executions, with_table

# --------------------------------------------------------------------------- the text


@given(texts)
def test_nothing_that_acts_hides_or_reorders_is_left(text: str) -> None:
    shown = visible(text)

    assert not forbidden(shown)
    assert "\n" not in shown
    shown.encode("utf-8")
    assert visible(shown) == shown


def test_codes_are_those_that_a_person_knows_and_what_people_write_stays() -> None:
    for one in ACT_HIDE_OR_REORDER:
        assert re.fullmatch(r"\\[ -~]+", visible(one)), ascii(one)
    assert visible("a\nb\tc\rd \x1b \x9b \u202e") == r"a\nb\tc\rd \u001b \u009b \u202e"
    text = "Zoë, Ελένη, 山田, नमस्ते, دكتور, 😀 ✓ … \\u001b C:\\new"
    assert visible(text) == text
    assert json_text({"name": "Zoë 😀"}) == '{"name": "Zoë 😀"}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(json_values)
@example(HOSTILE)
def test_json_is_the_same_value_and_harmless(value: Any) -> None:
    line = json_text(value)

    assert json.loads(line) == json.loads(json.dumps(value))  # which joins surrogates, too
    assert "\n" not in line
    assert not forbidden(line)
    line.encode("utf-8")
    assert json.loads(json_text(value, indent=2)) == json.loads(line)
    assert not forbidden(json_text(value, indent=2))


# --------------------------------------------------------------------------- what prints


@contextlib.contextmanager
def captured(*, terminal: bool = False) -> Iterator[io.StringIO]:
    """Both streams in one text."""

    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    stream = Stream()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


def failing(error: Exception) -> Callable[[], None]:
    def run() -> None:
        def app(**_: Any) -> None:
            raise error

        with patch.object(cli, "app", app), contextlib.suppress(SystemExit):
            cli.main()

    return run


def aws_says(text: str) -> ClientError:
    return ClientError({"Error": {"Code": "Bad", "Message": text}}, "SendMessage")


RENDERERS: dict[str, tuple[Callable[[str], Any], int | None]] = {
    # how it prints a text, and how many lines that makes where there is no terminal
    "print": (console.out.print, 1),
    "panel": (lambda text: console.out.print(Panel(Text(text))), None),
    "say": (console.say, 1),
    "json": (lambda text: console.print_json({text: text}), 1),
    "rows": (lambda text: tables.print_rows(("A", "B"), [(text, "b"), ("a", "")]), 3),
    "fields": (lambda text: tables.print_fields({"a": text[:19], "b": None, "c": 1}), 3),
    "failed": (lambda text: failing(Failed(text))(), None),
    "aws": (lambda text: failing(aws_says(text))(), None),
}  # fmt: skip


@pytest.mark.parametrize("terminal", [False, True], ids=["file", "terminal"])
@pytest.mark.parametrize("name", RENDERERS)
@settings(max_examples=15)
@given(text=texts)
@example(text=HOSTILE)
def test_whatever_prints_prints_codes(name: str, terminal: bool, text: str) -> None:
    show, lines = RENDERERS[name]
    with captured(terminal=terminal) as stream:
        show(text)

    got = stream.getvalue()
    assert not forbidden(without_own(got))
    got.encode("utf-8")
    if lines is not None and not terminal:
        assert got.count("\n") == lines


@pytest.mark.parametrize("name", ["print", "rows", "failed"])
def test_markup_and_names_of_pictures_are_plain_text(name: str) -> None:
    text = "[bold]a[/bold] [link=x]a[/link] [/] :x: :warning:"
    with captured() as stream:
        RENDERERS[name][0](text)
    assert text in stream.getvalue()


def test_lines_after_the_first_of_an_error_are_set_in() -> None:
    with captured() as stream:
        failing(Failed("sam build failed:\nno such file\n✓ All is well"))()
    assert stream.getvalue() == "actonce: sam build failed:\n  no such file\n  ✓ All is well\n"


# --------------------------------------------------------------------------- whatever else prints


def test_a_guarded_stream_lets_no_control_through_but_lines_and_tabs() -> None:
    stream = io.StringIO()
    guarded = EscapingStream(stream)

    guarded.write("a\x1b[2J\x9b\tb\n")
    guarded.writelines(["\u202e", "c"])

    assert stream.getvalue() == "a\\u001b[2J\\u009b\tb\n\\u202ec"
    with pytest.raises(AttributeError):
        guarded.buffer  # noqa: B018 - what goes around it is what is asked


def run_python(code: str, **variables: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"COLUMNS": "80"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return (answer.stdout + answer.stderr).decode("utf-8", "surrogateescape")


def test_what_goes_around_the_consoles_is_guarded_too() -> None:
    program = f"""
import logging, threading, typer, warnings
from actonce.cli import app as cli
text = {HOSTILE!a}
def app(**_):
    logging.error(text)
    warnings.warn(text)
    typer.echo(text, err=True)
    thread = threading.Thread(target=lambda: {{}}[text])
    thread.start()
    thread.join()
    raise RuntimeError(text)
cli.app = app
cli.main()
"""
    # In this locale Click would write to the buffer.
    got = run_python(program, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert len(re.findall(r"\\(?:u009b|x9b)1A", got)) >= 5
    assert not forbidden(got.replace("\t", ""))


# --------------------------------------------------------------------------- on a terminal


def on_a_terminal(*arguments: str) -> str:
    """Run the command line in this process, on a pseudo terminal, and say what that got."""
    ours, its = os.openpty()
    chunks: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with pytest.MonkeyPatch.context() as patch, os.fdopen(its, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "argv", ["actonce", *arguments])
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        with contextlib.suppress(SystemExit):
            cli.main()
        stream.flush()
    reader.join(timeout=30)
    os.close(ours)
    return b"".join(chunks).decode("utf-8").replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (HOSTILE_SENT,),
        ("send", HOSTILE_SENT),
    ],
    ids=lambda arguments: " ".join(arguments).replace(HOSTILE_SENT, "HOSTILE"),
)
def test_wrong_use_is_told_in_codes(arguments: tuple[str, ...]) -> None:
    got = without_own(on_a_terminal(*arguments))

    assert re.search(r"\\(u00|x)(1b\[2J|9b1A)", got)
    assert not forbidden(got)


def test_a_terminal_gets_codes_of_what_waits_in_the_queues(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead letter and an unstarted delivery, hostile in all that a producer writes."""
    stack = with_executions(with_table(deployed(moto_stack)), HOSTILE_SENT)
    monkeypatch.setattr(Stack, "find", lambda *_: stack)
    written: dict[str, Any] = dict.fromkeys(("reason", "error", "cause"), HOSTILE_SENT)
    message = {"message_id": HOSTILE_SENT, HOSTILE_SENT: [HOSTILE_SENT]}
    execution = execution_name(HOSTILE_SENT)
    post(moto_stack, HOSTILE_SENT, execution_name=execution, message=message, **written)
    send_to_unstarted(stack, json.dumps({"message_id": HOSTILE_SENT}))
    raw = stack.sqs.send_message(
        QueueUrl=stack.unstarted_queue,
        MessageBody=json.dumps({"message_id": HOSTILE_SENT}) + "\u009b\u202e\n✓ c",
        MessageAttributes={"note": {"DataType": "String", "StringValue": "\u009b\u202e\n✓ c"}},
    )["MessageId"]
    for words in (
        ("dead-letters", "list"),
        ("dead-letters", "show", HOSTILE_SENT),
        ("unstarted", "list"),
        ("unstarted", "show", raw),
    ):
        for json_ in ((), ("--json",)):
            got = without_own(on_a_terminal(*words, *json_))
            assert re.search(r"\\u00(1b|9b)", got), words
            assert not forbidden(got)
            assert not [line for line in got.split("\n") if line.startswith("✓")]


# --------------------------------------------------------------------------- the job's own prints


def test_the_job_prints_codes_too() -> None:
    program = f"""
import sys
from actonce_pipeline.audit import job as audit
text = {HOSTILE!a}
def judge(*_):
    return {{"sentence": text, "exit_status": 0}}
audit.spark_session = lambda *_, **__: None
audit.audit = judge
sys.exit(audit.main(["no-such-folder"]))
"""
    got = run_python(program)

    assert "\\u009b1A" in got
    assert not forbidden(got.replace("\t", ""))
