"""What a command or a process costs, a JVM that outlives a command included; for Linux."""

import contextlib
import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a command: seconds of wall until it ended, seconds of CPU of all processes."""

    wall: float
    cpu: float
    status: int
    out: str
    err: str


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command and wait for everything that it leaves behind."""
    # What a command leaves behind becomes this process' own, so that its end is told here.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.monotonic() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, ran.returncode, ran.stdout, ran.stderr)


def status_of(process: int | str, name: str) -> int:
    """Bytes of a memory figure of a process, such as `VmHWM`, the most that was resident.

    0: the process is no more. `ru_maxrss` may be that of a process' parent.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(errors="replace").splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0
