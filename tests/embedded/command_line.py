"""The command line, run as a person runs it, on the embedded AWS of the tests."""

import json
import os
import subprocess
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from tests.actonce_server import run_actonce


def run(state: State, *arguments: str, input_text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command; the usual variables point it at the embedded AWS."""
    environment = EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": state.endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
    }
    return run_actonce(arguments, environment, input_text=input_text, seconds=300)


def run_json(state: State, *arguments: str, input_text: str = "") -> Any:
    """Run a command with `--json`, expect it to succeed, and return its one object."""
    answer = run(state, *arguments, "--json", input_text=input_text)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("\n") == 1
    return json.loads(answer.stdout)
