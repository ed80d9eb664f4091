"""Runs in the functions' processes while the demo injects faults; no part of the product.

The demo writes a plan: `plan.json`, `{message_id: {operation: [fault, ...]}}`. The first call of an
operation for a message meets its first fault, the second call the second, and so on. Which call is
which is settled by creating a folder, which only one process can do; the folder's `fault` file
records what happened.
"""

import hashlib
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


def next_fault(message_id: str, operation: str) -> str | None:
    """Take the next fault planned for this operation on this message."""
    folder = Path(os.environ["FAULTS_DIR"])
    planned = json.loads((folder / PLAN).read_text()).get(message_id, {}).get(operation, [])
    digest = hashlib.sha256(message_id.encode()).hexdigest()
    for number, fault in enumerate(planned):
        taken = folder / USED / f"{digest}-{operation}-{number}"
        try:
            taken.mkdir()
        except FileExistsError:
            continue
        (taken / "fault").write_text(fault)
        return str(fault)
    return None


def die() -> NoReturn:
    """End this process as its host's crash would."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # not reached


def outlast(context: Any) -> NoReturn:
    """Still be at work when the function's time is up."""
    time.sleep(context.get_remaining_time_in_millis() / 1000 + 60)
    raise SystemExit  # not reached: Lambda ends the process at the time-out


def stand_still(seconds: float) -> None:
    """Stop this process with all its threads, as a host that is moved does, and then go on."""
    _start(["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)


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
    _start([sys.executable, "-S", "-m", "straggler", due, effect, str(under_way)])


def _start(command: list[str]) -> None:
    """A process that does not hold this one's output open."""
    nowhere = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)


def use_up_memory() -> NoReturn:
    """Run out of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
    raise MemoryError(len(bytearray(1 << 31)))


def fail_as(error_type: str) -> NoReturn:
    """Fail under the name of an error that AWS raises on the function's behalf."""
    raise type(error_type, (Exception,), {})("injected by the demo")
