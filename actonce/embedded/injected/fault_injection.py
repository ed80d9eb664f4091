"""Runs in the functions' processes while faults are injected; no part of the product.

`FAULTS_DIR` names a folder with a plan, `plan.json`: `{message_id: {operation: [fault, ...]}}`. The
first call of an operation for a message meets its first fault, the second call the second, and so
on. Which call is which is settled by creating a folder, which only one process can do; the folder's
`fault` file records what happened.

A fault is `before:NAME` or `after:NAME` of what is called, by the names that `interrupt` knows;
`delivered-again` keeps a delivery in its queue.
"""

import hashlib
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

PLAN = "plan.json"
USED = "used"
STOOD_STILL = "stood-still-"
"""Followed by the seconds after which the process goes on."""
SLOW = "slow-"
"""Followed by the seconds before which none of the process's new connections is there."""


def next_fault(message_id: str, operation: str) -> str:
    """Take the next fault planned for this operation on this message; empty: none."""
    folder = Path(os.environ["FAULTS_DIR"])
    try:
        planned = json.loads((folder / PLAN).read_text())
    except FileNotFoundError:  # the plan has been taken away
        return ""
    for number, fault in enumerate(planned.get(message_id, {}).get(operation, [])):
        taken = used(folder, message_id, operation, number)
        try:
            taken.mkdir(parents=True)
        except FileExistsError:
            continue
        (taken / "fault").write_text(str(fault))
        return str(fault)
    return ""


def used(folder: Path, message_id: str, operation: str, number: int = 0) -> Path:
    """The folder that is there once that fault has been met."""
    digest = hashlib.sha256(message_id.encode(errors="surrogatepass")).hexdigest()
    return folder / USED / f"{digest}-{operation}-{number}"


def interrupt(name: str, context: Any) -> None:
    """Let the named fault happen; none if it is empty."""
    if not name:
        return
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith(STOOD_STILL):
        _stand_still(float(name.removeprefix(STOOD_STILL)))
        return
    if name.startswith(SLOW):
        _slow_connections(float(name.removeprefix(SLOW)))
        return
    if name == "timed-out":  # Lambda ends the process meanwhile
        time.sleep(context.get_remaining_time_in_millis() / 1000 + 60)
    if name == "out-of-memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        raise MemoryError(len(bytearray(1 << 31)))
    raise _error(name)("injected by the demo")


def _stand_still(seconds: float) -> None:
    """Stop this process with all its threads, as a host that is moved does, and then go on."""
    nowhere = subprocess.DEVNULL  # what wakes it does not hold its output open
    wake = ["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"]
    subprocess.Popen(wake, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    os.kill(os.getpid(), signal.SIGSTOP)


def _slow_connections(seconds: float) -> None:
    """Have each connection wait until the seconds are over, before a byte leaves this process."""
    sockets: Any = socket.socket
    connect, until = sockets.connect, time.monotonic() + seconds

    def connect_late(one: socket.socket, address: Any) -> None:
        if one.family != socket.AF_UNIX:
            time.sleep(max(0.0, until - time.monotonic()))
        connect(one, address)

    sockets.connect = connect_late


def _error(name: str) -> type[Exception]:
    """The contract's own class where the function has it; Step Functions goes by the name."""
    try:
        contract = importlib.import_module("actonce_core.effect")
    except ImportError:  # a function that knows nothing of ActOnce
        contract = None
    if contract is not None and name in {"NotPerformed", "Rejected"}:
        found: type[Exception] = getattr(contract, name)
        return found
    return type(name, (Exception,), {})
