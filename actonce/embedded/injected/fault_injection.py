"""Runs in the functions' processes while faults are injected; no part of the product.

`FAULTS_DIR` names a folder with a plan, `plan.json`: `{message_id: {operation: [fault, ...]}}`. The
first call of an operation for a message meets its first fault, the second call the second, and so
on. Which call is which is settled by creating a folder, which only one process can do; the folder's
`fault` file records what happened.

A fault is `before:NAME` or `after:NAME` of what is called, by the names that `interrupt` knows;
`late:SECONDS` leaves an effect to a straggler; `delivered-again` keeps a delivery in its queue.
"""

import hashlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any, NoReturn

PLAN = "plan.json"
USED = "used"
STRAGGLERS = "stragglers"
STOOD_STILL = "stood-still-"
"""Followed by the seconds after which the process goes on."""


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
    if name == "timed-out":
        outlast(context)
    if name == "out-of-memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        raise MemoryError(len(bytearray(1 << 31)))
    raise _error(name)("injected by the demo")


def outlast(context: Any) -> NoReturn:
    """Still be at work when the function's time is up."""
    time.sleep(context.get_remaining_time_in_millis() / 1000 + 60)
    raise SystemExit  # not reached: Lambda ends the process at the time-out


def leave_to_a_straggler(
    seconds: float, request: dict[str, Any], fence: dict[str, Any] | None
) -> None:
    """Have the effect happen so many seconds from now, whatever becomes of this process.

    The file that the straggler is given is there until it has acted, or could not.
    """
    under_way = Path(os.environ["FAULTS_DIR"]) / STRAGGLERS / str(uuid.uuid4())
    under_way.parent.mkdir(exist_ok=True)
    under_way.touch()
    effect = json.dumps({"request": request, "fence": fence})
    due = str(time.monotonic() + seconds)  # the same clock in every process of a machine
    straggler = str(Path(__file__).with_name("straggler.py"))
    _start([sys.executable, "-S", straggler, due, effect, str(under_way)])


def _start(command: list[str]) -> None:
    """A process that does not hold this one's output open."""
    nowhere = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)


def _stand_still(seconds: float) -> None:
    """Stop this process with all its threads, as a host that is moved does, and then go on."""
    _start(["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)


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
