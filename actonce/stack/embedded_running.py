"""Whether the embedded AWS runs, and where; all that a command needs that only talks to it."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass

from actonce.stack.embedded_folder import Paths


@dataclass(frozen=True, slots=True)
class State:
    """What `embedded.json` says; written when the server runs, `deployed` when the stack does.

    `project` is whose template is deployed: a team's folder, or empty for the stack alone; `faults`
    is the level of faults around its effect, or empty.
    """

    pid: int
    port: int
    parameters: dict[str, str]
    deployed: str = ""
    project: str = ""
    faults: str = ""

    @property
    def endpoint_url(self) -> str:
        """Where the embedded AWS listens, on loopback only."""
        return f"http://127.0.0.1:{self.port}"


def read_state(paths: Paths) -> State | None:
    """The embedded AWS that was brought up in this folder and not stopped, running or not."""
    try:
        return State(**json.loads(paths.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def running(paths: Paths) -> State | None:
    """The embedded AWS of this folder, if its server runs."""
    state = read_state(paths)
    return state if state is not None and is_server(state.pid) and answers(state) else None


def answers(state: State) -> bool:
    """Whether the server does."""
    try:
        with urllib.request.urlopen(  # noqa: S310 - loopback
            f"{state.endpoint_url}/_ministack/health", timeout=5
        ) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def is_server(pid: int) -> bool:
    """Whether the process is our server, and not another that got its number."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    answer = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    status, _, command = answer.stdout.strip().partition(" ")
    return not status.startswith("Z") and "actonce.embedded.server" in command
