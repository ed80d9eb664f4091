"""The command line, run as a person runs it, on the embedded AWS of the tests."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import embedded_variables
from actonce.stack.embedded_folder import Paths
from tests.support.actonce_server import ACTONCE, run_actonce
from tests.support.commands import without_aws


def environment(endpoint_url: str, **more: str) -> dict[str, str]:
    """The usual variables, which point at an embedded AWS, and nothing of this process's."""
    own = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    return embedded_variables(endpoint_url) | own | more


def run(state: State, *arguments: str, input_text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return run_actonce(
        arguments, environment(state.endpoint_url), input_text=input_text, seconds=300
    )


def run_json(state: State, *arguments: str, input_text: str = "") -> Any:
    """Run a command with `--json`, expect it to succeed, and return its one object."""
    answer = run(state, *arguments, "--json", input_text=input_text)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("\n") == 1
    return json.loads(answer.stdout)


def decide(state: State, decision: str, message_id: str, *more: str) -> Any:
    """Decide on the dead letter of a message that is shown; what the command tells."""
    letter = run_json(state, "dead-letters", "show", message_id)["letter"]
    return run_json(state, "dead-letters", decision, "--letter", letter, *more, message_id)


def begin(endpoint_url: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Begin a command in a process of its own.

    `options`: Popen's; else its output and its errors are piped.
    """
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    usual = pipes | {"env": environment(endpoint_url), "stdin": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([str(ACTONCE), *arguments], **usual | options)


@contextmanager
def console(endpoint_url: str, folder: Path, *arguments: str) -> Iterator[str]:
    """The console of the stack on an embedded AWS: the address that it prints, token included.

    Args:
        endpoint_url: the embedded AWS's.
        folder: where it is started.
        arguments: more of them.
    """
    process = begin(endpoint_url, "console", "--no-browser", *arguments, cwd=folder)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, output = process.communicate(timeout=60)
            raise AssertionError(f"the console did not begin: {output}")
        yield line.rpartition(" ")[2].strip()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


BAD_LINES = (
    '{"message_id": "good", "practice": "main"}',
    '{"practice": "main", "message_id": "good"}',
    '{"message_id": "good", "practice": "harbour"}',
    '{"message_id": "cut off',
    '{"message_id": NaN}',
    '{"no": "id"}',
    '{"message_id": true}',
    json.dumps({"message_id": "vast", "text": "ü" * 140_000}, ensure_ascii=False),
)
"""One message, its duplicate and its conflict; two that are no JSON, two without an id, one too
large."""


def start_demo(paths: Paths, *arguments: str) -> subprocess.Popen[str]:
    """Start it, without the audit unless the arguments ask for it."""
    audited = () if "--audit" in arguments else ("--no-audit",)
    environment = without_aws(ACTONCE_DIR=str(paths.home))
    return begin("", "demo", *audited, *arguments, env=environment)


def demo(paths: Paths, *arguments: str) -> dict[str, Any]:
    """Run it, and return what `--json` printed."""
    out, err = (process := start_demo(paths, *arguments, "--json")).communicate(timeout=400)
    assert process.returncode == 0, err
    assert out.count("\n") == 1, "exactly one object on standard output"
    answer: dict[str, Any] = json.loads(out)
    return answer
