"""An audit that is killed while it writes leaves nothing clean, and the next one is not misled."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from actonce.stack.embedded_folder import PROJECT
from pipeline.audit.job import audit
from pipeline.audit.request import requested
from tests.pipeline.nights import rows_of, said, settled
from tests.pipeline.streams_on_disk import DAY, performed, write

pytestmark = pytest.mark.long

MESSAGES = 3_000


def judged(out: Path) -> list[tuple[str, str]]:
    """Message and verdict of each row that a reader of the table finds."""
    rows = ds.dataset(out / "messages", partitioning="hive").to_table().to_pylist()
    return sorted((row["message_id"], row["verdict"]) for row in rows)


def summary(out: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return told


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


def killed_when(command: list[str], moment: Callable[[], bool]) -> None:
    """Run a command, and kill it with all that it has started as soon as something holds."""
    process = subprocess.Popen(
        command,
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not holds(moment):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGSTOP)  # nothing goes on until all are found and killed
    kill_all(process.pid)
    process.communicate()


def holds(moment: Callable[[], bool]) -> bool:
    try:
        return moment()
    except FileNotFoundError:  # Spark takes a folder away that is being looked through
        return False


def test_killed_while_it_keeps_what_it_read(spark: SparkSession, tmp_path: Path) -> None:
    """In the middle of the rows, among the manifests, and when all are there."""
    days = ("2026-01-30", DAY, "2026-02-01")
    records = [
        record for n in range(MESSAGES) for record in performed(f"m-{n}", n / 100, days[n % 3])
    ]
    root, out = settled(write(tmp_path / "records", records)), tmp_path / "out"
    never = audit(spark, requested(str(root), day=DAY, out=str(tmp_path / "never")))
    actonce = str(Path(sys.executable).with_name("actonce"))
    command = [actonce, "audit", str(root), "--out", str(out), "--day", DAY]

    def manifests() -> int:
        return len(list(out.glob("kept/*.json")))

    moments: list[Callable[[], bool]] = [
        lambda: next(out.glob("kept/rows/*/_temporary/**/*.parquet"), None) is not None,
        lambda: manifests() > 0,
        lambda: is_writing(out),
    ]
    for moment in moments:
        killed_when(command, moment)
        told = audit(spark, requested(str(root), day=DAY, out=str(out)))
        assert said(told) == said(never)
        assert rows_of(out) == rows_of(tmp_path / "never")
        for file in out.glob("kept/*.json"):
            file.unlink()  # so that the next one reads all, too

    def run(*more: str) -> dict[str, Any]:
        ran = subprocess.run(
            [*command, "--json", *more], capture_output=True, text=True, timeout=240, check=False
        )
        assert ran.returncode == never["exit_status"], ran.stderr
        told: dict[str, Any] = json.loads(ran.stdout)
        assert said(told) == said(never)
        return told

    assert run()["read"]["days_read"] == 3
    assert run()["read"]["days_kept"] == 3
    assert run("--from-raw")["read"]["days_kept"] == 0


# A whole table is replaced, or the rows of a day: Spark writes the two to different places.
@pytest.mark.parametrize("days", [(), ("--day", DAY)], ids=["all", "a day"])
def test_killed_while_it_writes(tmp_path: Path, days: tuple[str, ...]) -> None:
    records = [record for n in range(MESSAGES) for record in performed(f"m-{n}", n / 100)]
    root, out = write(tmp_path / "records", records), tmp_path / "out"
    command = [sys.executable, "-m", "pipeline.audit", str(root), "--out", str(out), *days]
    killed_when(command, lambda: is_writing(out))
    assert summary(out)["exit_status"] == 2
    assert "has not come to its end" in summary(out)["sentence"]

    again = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=240, check=False
    )
    assert again.returncode == 0, again.stderr
    assert summary(out)["verdicts"]["performed_once"] == MESSAGES
    assert judged(out) == sorted((f"m-{n}", "performed_once") for n in range(MESSAGES))
