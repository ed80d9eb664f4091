"""The command line, run as a person runs it, on the embedded AWS of the tests."""

import json
import os
import subprocess
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from tests.actonce_server import ACTONCE, run_actonce


def environment(endpoint_url: str, **more: str) -> dict[str, str]:
    """The usual variables, which point at an embedded AWS, and nothing of this process's."""
    return EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        **more,
    }


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


def begin(endpoint_url: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Begin a command in a process of its own.

    `options`: Popen's; else its output and its errors are piped.
    """
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    usual = pipes | {"env": environment(endpoint_url), "stdin": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([str(ACTONCE), *arguments], **usual | options)
