"""An audit that is killed while it writes leaves nothing clean, and the next one is not misled."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests.pipeline.nights import verdicts_of
from tests.pipeline.streams_on_disk import DAY, EFFECTS, performed, write

pytestmark = pytest.mark.long

MESSAGES = 3_000


def is_writing(out: Path) -> bool:
    """Whether a task has begun a file of the table, which nothing has put in its place yet."""
    return any(
        next(out.glob(f"messages/{place}/**/*.parquet"), None) is not None
        for place in ("_temporary", ".spark-staging-*")
    )


def kill_all(pid: int) -> None:
    """Kill a process with all that it has started, as the end of their machine does."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parents = {int(one): int(of) for one, of in map(str.split, listing.splitlines())}
    started = {pid}
    while more := {child for child, parent in parents.items() if parent in started} - started:
        started |= more
    for one in started:
        with contextlib.suppress(ProcessLookupError):  # Java's own short-lived ones, a chmod
            os.kill(one, signal.SIGKILL)


def killed_while_it_writes(command: list[str], out: Path) -> bool:
    """Whether it was killed: it may come to its end with nobody having seen it write."""
    with subprocess.Popen(command, cwd=PROJECT, start_new_session=True) as process:
        while process.poll() is None:
            with contextlib.suppress(FileNotFoundError):  # Spark takes away what is looked through
                if is_writing(out):
                    os.killpg(process.pid, signal.SIGSTOP)  # nothing goes on until all are killed
                    kill_all(process.pid)
                    return True
    assert process.returncode == 0
    return False


# A whole table is replaced, or the rows of a day: Spark writes the two to different places.
@pytest.mark.parametrize("days", [(), ("--day", DAY)], ids=["all", "a day"])
def test_killed_while_it_writes(tmp_path: Path, days: tuple[str, ...]) -> None:
    records = [record for n in range(MESSAGES) for record in performed(f"m-{n}", n / 100)]
    root, out = write(tmp_path / "records", records), tmp_path / "out"
    command = [sys.executable, "-m", "pipeline.audit", str(root), "--out", str(out), *days]
    command += ["--effects", EFFECTS]
    for _ in range(5):  # where others hold the processors, a whole write may pass unseen
        if killed_while_it_writes(command, out):
            break
        shutil.rmtree(out)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["exit_status"] == 2
    assert "has not come to its end" in summary["sentence"]

    assert subprocess.run(command, cwd=PROJECT, timeout=240, check=False).returncode == 0
    assert verdicts_of(out) == {f"m-{n}": "performed_once" for n in range(MESSAGES)}
