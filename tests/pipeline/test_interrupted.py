"""Ctrl-C while Spark works, as a terminal sends it: to the whole process group."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.streams_on_disk import EFFECTS, performed, write
from tests.support import java

pytestmark = java.needed


def _javas_of(folder: Path) -> list[str]:
    """Every JVM that was started with the folder as its home, whoever is its parent by now."""
    listing = subprocess.run(
        ["ps", "eww", "-A", "-o", "pid=,stat=,command="], capture_output=True, text=True, check=True
    ).stdout
    return [
        line
        for line in listing.splitlines()
        if f"HOME={folder}" in line and line.split()[2].endswith("/java") and "-version" not in line
    ]


def _a_jvm_starts(folder: Path) -> bool:
    return bool(_javas_of(folder))


IN_A_CALL = """
import os, signal
from py4j.clientserver import ClientServerConnection
from pyspark import SparkContext

def init(context, *arguments, **named):
    inits(context, *arguments, **named)
    ClientServerConnection.send_command = send

def send(connection, command):
    def interrupted():
        connection.stream = stream
        os.kill(os.getpid(), signal.SIGINT)
        return stream.readline()

    ClientServerConnection.send_command = sends
    stream, connection.stream = connection.stream, type("", (), {"readline": interrupted})
    return sends(connection, command)

sends = ClientServerConnection.send_command
inits, SparkContext._do_init = SparkContext._do_init, init
"""
"""Interrupts itself while the JVM answers the first call after Spark's context is there."""
COMMAND = "import runpy; runpy.run_module('actonce.cli.app', run_name='__main__')"


@pytest.mark.parametrize(
    ("before", "moment"),
    [("", _a_jvm_starts), pytest.param(IN_A_CALL, None, marks=pytest.mark.long)],
)
def test_ctrl_c_in_an_audit_is_told_in_a_sentence_and_leaves_no_jvm(
    tmp_path: Path, before: str, moment: Callable[[Path], bool] | None
) -> None:
    write(tmp_path, performed("one"))
    audit = ["audit", str(tmp_path), "--effects", EFFECTS]
    process = subprocess.Popen(
        [sys.executable, "-c", f"{before}{COMMAND}", *audit],
        env=os.environ | {"HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while moment and not moment(tmp_path):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    if moment:
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines() == [
        "Starting Spark …",
        "actonce: Interrupted. What was done stays done; the same command again is safe.",
    ]
    while _javas_of(tmp_path):
        assert time.monotonic() < deadline + 60
        time.sleep(0.05)
