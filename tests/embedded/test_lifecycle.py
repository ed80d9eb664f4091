"""`actonce up` and `actonce down`, run as a person runs them, in folders of their own."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.embedded import homes

pytestmark = pytest.mark.embedded

ACTONCE = [sys.executable, "-m", "actonce.cli.app"]


def _environment(home: Path) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return environment | {"ACTONCE_DIR": str(home)}


def _actonce(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ACTONCE, *arguments],
        env=_environment(home),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _processes_of(home: Path) -> list[str]:
    """Command lines of every process that was started for this folder."""
    listing = subprocess.run(
        ["ps", "eww", "-eo", "pid=,command="], capture_output=True, text=True, check=True
    ).stdout
    return [
        line
        for line in listing.splitlines()
        if str(home) in line
        and ("actonce.embedded.server" in line or "function_processes" in line or "samcli" in line)
    ]


def _wait_until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


@pytest.fixture
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder with the stack built in it, unless the test is `nothing_built`."""
    paths = homes.home(tmp_path_factory, built=not request.node.get_closest_marker("nothing_built"))
    yield paths.home
    _actonce(paths.home, "down")


@pytest.mark.nothing_built
@pytest.mark.long
def test_up_twice_is_harmless_up_after_half_starts_over_and_down_leaves_no_process(
    home: Path,
) -> None:
    first = _actonce(home, "up")
    assert first.returncode == 0, first.stderr
    assert "Up at http://127.0.0.1:" in first.stdout
    assert "sam build" in first.stderr
    assert any("function_processes" in line for line in _processes_of(home))
    pid = json.loads((home / "embedded.json").read_text())["pid"]

    second = _actonce(home, "up")
    assert second.returncode == 0
    assert second.stdout == first.stdout
    assert json.loads((home / "embedded.json").read_text())["pid"] == pid
    assert "sam" not in second.stderr  # nothing was built or deployed again

    other = _actonce(home, "up", "--port", "1")
    assert other.returncode == 2
    assert "already" in other.stderr

    variables = _actonce(home, "env").stdout
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:" in variables

    # A deployment that was broken off is started over.
    state = json.loads((home / "embedded.json").read_text())
    (home / "embedded.json").write_text(json.dumps(state | {"deployed": ""}))
    over = _actonce(home, "up")
    assert over.returncode == 0, over.stderr
    assert "starting over" in over.stderr
    assert "sam deploy" in over.stderr
    assert "sam build" not in over.stderr  # what was built is of the same sources
    assert json.loads((home / "embedded.json").read_text())["pid"] != pid

    assert _actonce(home, "down").stdout.strip() == "Stopped."
    assert _processes_of(home) == []
    again = _actonce(home, "down")
    assert (again.returncode, again.stdout.strip()) == (0, "It was not up.")


@pytest.mark.nothing_built
def test_a_taken_port_is_said_in_one_sentence(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = _actonce(home, "up", "--port", str(port))
    assert answer.returncode == 2
    assert f"Port {port} is taken" in answer.stderr
    assert "sam build" not in answer.stderr  # nobody waits for that first
    assert _processes_of(home) == []


def test_ctrl_c_while_it_comes_up_leaves_no_process(home: Path) -> None:
    process = subprocess.Popen(
        [*ACTONCE, "up"],
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _wait_until(lambda: any("samcli" in line for line in _processes_of(home)), "sam runs")
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
    assert process.wait(timeout=60) != 0
    _wait_until(lambda: _processes_of(home) == [], "every process has ended")


def test_a_killed_terminal_leaves_no_process(home: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # the child: a shell's place, with this pty as its terminal
        os.execvpe(sys.executable, [*ACTONCE, "up"], _environment(home))
    os.set_blocking(terminal, False)
    said = b""

    def is_up() -> bool:
        nonlocal said
        with contextlib.suppress(OSError):  # nothing to read yet
            said += os.read(terminal, 4096)
        return b"Up at" in said

    _wait_until(is_up, f"up, in a terminal; it said {said!r}", 120)
    os.waitpid(pid, 0)
    assert any("actonce.embedded.server" in line for line in _processes_of(home))
    os.close(terminal)
    _wait_until(lambda: _processes_of(home) == [], "every process has ended")


def test_a_server_that_was_killed_is_replaced(home: Path) -> None:
    # What a kill in the middle of a deployment leaves: a state file without a stack.
    (home / "embedded.json").write_text(json.dumps({"pid": 1, "port": 1, "parameters": {}}))
    answer = _actonce(home, "up")
    assert answer.returncode == 0, answer.stderr
    pid = json.loads((home / "embedded.json").read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    _wait_until(lambda: _processes_of(home) == [], "the functions end with their server")
    assert "not up" in _actonce(home, "env").stderr
