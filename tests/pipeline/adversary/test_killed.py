"""An audit that is killed while it writes leaves nothing that a later one believes."""

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
from tests.pipeline.streams_on_disk import DAY, EFFECTS, at, effect, line_of, performed, put, write
from tests.support import java

pytestmark = [pytest.mark.long, java.needed]

MESSAGES = 3_000


def _kill_all(pid: int) -> None:
    """Kill a process with all that it has started, as the end of their machine does."""
    os.killpg(pid, signal.SIGSTOP)  # nothing goes on until all are killed
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


def _killed(command: list[str], out: Path, moment: str) -> bool:
    """Whether it was killed once there was such a file: nobody may have seen it."""
    with subprocess.Popen(command, cwd=PROJECT, start_new_session=True) as process:
        while process.poll() is None:
            with contextlib.suppress(FileNotFoundError):  # Spark takes away what is looked through
                if next(out.glob(moment), None) is not None:
                    _kill_all(process.pid)
                    return True
    assert process.returncode == 0
    return False


@pytest.mark.parametrize(
    ("moment", "days"),
    [
        ("summary.json", ()),
        ("cache/rows/*/_temporary/**/*.parquet", ()),
        ("cache/*.manifest", ()),
        ("messages/_temporary/**/*.parquet", ()),
        ("messages/.spark-staging-*/**/*.parquet", ("--from", DAY, "--until", DAY)),
    ],
)
def test_what_a_killed_audit_left_is_not_believed(
    tmp_path: Path, moment: str, days: tuple[str, ...]
) -> None:
    records = [record for n in range(MESSAGES) for record in performed(f"m-{n}", n / 100)]
    root, out = write(tmp_path / "records", records), tmp_path / "out"
    command = [sys.executable, "-m", "actonce_pipeline.audit", str(root), "--out", str(out), *days]
    command += ["--effects", EFFECTS]
    for _ in range(5):  # where others hold the processors, it may pass unseen
        if _killed(command, out, moment):
            break
        shutil.rmtree(out)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["exit_status"] == 2
    assert "has not come to its end" in summary["sentence"]

    put(root, "effects", "again.jsonl", line_of(*effect("m-0", at(99), "second")).encode())
    assert subprocess.run(command, cwd=PROJECT, timeout=240, check=False).returncode == 1
    well = {f"m-{n}": "performed_once" for n in range(MESSAGES)}
    assert verdicts_of(out) == well | {"m-0": "performed_again"}
