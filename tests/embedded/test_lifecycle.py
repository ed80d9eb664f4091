"""`actonce up` and `actonce down`, run as a person runs them, in folders of their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded import homes
from tests.embedded.waiting import wait_until
from tests.support import commands

pytestmark = pytest.mark.embedded

ACTONCE = [sys.executable, "-m", "actonce.cli.app"]


def _actonce(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = commands.without_aws(ACTONCE_DIR=str(home))
    return commands.run([*ACTONCE, *arguments], environment=environment)


def _processes_of(home: Path) -> list[str]:
    """Command lines of every process that was started for this folder."""
    return [
        line
        for line in commands.succeeds(["ps", "eww", "-eo", "pid=,command="]).splitlines()
        if str(home) in line
        and ("actonce.embedded.server" in line or "function_processes" in line or "samcli" in line)
    ]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    paths = homes.home(tmp_path_factory, built=False)
    yield paths.home
    _actonce(paths.home, "down")


@pytest.mark.long
def test_up_is_harmless_starts_over_what_is_half_and_leaves_no_process(home: Path) -> None:
    def pid() -> int:
        return int(json.loads((home / "embedded.json").read_text())["pid"])

    # What a kill in the middle of a deployment leaves: a state file without a stack.
    (home / "embedded.json").write_text(json.dumps({"pid": 1, "port": 1, "parameters": {}}))
    first = _actonce(home, "up")
    assert first.returncode == 0, first.stderr
    assert "Up at http://127.0.0.1:" in first.stdout
    assert "sam build" in first.stderr
    assert any("function_processes" in line for line in _processes_of(home))
    before = pid()

    second = _actonce(home, "up")
    assert (second.returncode, second.stdout, pid()) == (0, first.stdout, before)
    assert "sam" not in second.stderr  # nothing was built or deployed again
    other = _actonce(home, "up", "--port", "1")
    assert (other.returncode, "already" in other.stderr) == (2, True)
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:" in _actonce(home, "env").stdout

    # A deployment that was broken off is started over.
    state = json.loads((home / "embedded.json").read_text())
    (home / "embedded.json").write_text(json.dumps(state | {"deployed": ""}))
    over = _actonce(home, "up")
    assert over.returncode == 0, over.stderr
    assert "starting over" in over.stderr
    assert "sam deploy" in over.stderr
    assert "sam build" not in over.stderr  # what was built is of the same sources
    assert pid() != before

    # Killed, it takes the functions along, and the next one is at the same address.
    os.kill(pid(), signal.SIGKILL)
    wait_until(lambda: _processes_of(home) == [])
    assert "not up" in _actonce(home, "env").stderr
    assert _actonce(home, "up").stdout == first.stdout

    assert _actonce(home, "down").stdout.strip() == "Stopped."
    assert _processes_of(home) == []
    again = _actonce(home, "down")
    assert (again.returncode, again.stdout.strip()) == (0, "It was not up.")


@pytest.mark.long
def test_ctrl_c_while_it_comes_up_leaves_no_process(home: Path) -> None:
    process = subprocess.Popen(
        [*ACTONCE, "up"],
        env=commands.without_aws(ACTONCE_DIR=str(home)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: any("deploy" in line for line in _processes_of(home) if "samcli" in line))
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
    assert process.wait(timeout=60) != 0
    wait_until(lambda: _processes_of(home) == [])
