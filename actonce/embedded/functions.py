"""The functions' processes on the embedded AWS: started before a load comes, and killed."""

import contextlib
import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.history import short_cause
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import State
from actonce.terminal.errors import Failed

_WARM_STARTERS = 3
_WARM_EFFECTS = 7
_WARM_WAVE = 3  # one process, then three more with every wave
_WARM_TRIES = 3

_DYING_SECONDS = 5.0  # of what was killed
WARM_UP_ID = "warm-up"


def warm(stack: Stack) -> None:
    """Start as many processes of the functions as a load keeps busy, by calls that change nothing.

    `stack`: on the embedded AWS.
    """
    # In growing waves: all at once they would overrun Lambda's 10 s init limit and the effect's
    # time-out on a machine that is busy.
    for wave in range(1, _WARM_EFFECTS + 1, _WARM_WAVE):
        if call_at_once(stack, wave) is not None:
            return


def call_at_once(stack: Stack, times: int) -> str | None:
    """Call each function; the first call of all writes the bytecode that the others then read.

    Returns:
        What is wrong with looking up, if something is: `find` of an id that never was must say so,
        but a provider may be away, and that is no reason to take a stack down.

    Raises:
        Failed: what the queue feeds does not start.
    """
    find = json.dumps({"operation": "find", "message": {"message_id": WARM_UP_ID}})

    def error_of(function: str, event: str) -> str | None:
        for _ in range(_WARM_TRIES):
            answer = stack.lambda_.invoke(FunctionName=function, Payload=event.encode())
            said = answer["Payload"].read().decode(errors="replace")
            if "FunctionError" not in answer:
                return acted.append(said) if _is_performed(said) else None
        return said

    acted: list[str] = []
    # Behind a lock the effect is in the consumer, and its own function has nothing to do.
    finds = "" if stack.ledger_table is not None else stack.find_function or ""
    starts = min(times, _WARM_STARTERS)
    try:
        with ThreadPoolExecutor(starts + times) as threads:
            begun = [
                threads.submit(error_of, stack.starter_function, json.dumps({"Records": []}))
                for _ in range(starts)
            ]
            looked = [threads.submit(error_of, finds, find) for _ in range(times if finds else 0)]
        error = next(filter(None, (one.result() for one in begun)), None)
        if error is not None:
            raise Failed(f"{stack.starter_function} does not start: {error}")
        error = next(filter(None, (one.result() for one in looked)), None)
    except (ClientError, BotoCoreError) as error:
        raise Failed(f"The functions could not be called: {error}") from error
    if acted:
        return (
            f"{finds}, asked to find {WARM_UP_ID!r}, which nobody has sent, says that it is "
            f"performed ({short_cause(acted[0])}): it acts when it is to look up, or finds what is "
            "another's. On AWS a message could be acted on twice, or never."
        )
    if error is None:
        return None
    return (
        f"{finds} cannot look up whether {WARM_UP_ID!r} was performed, so an unknown outcome "
        f"would wait for a person: {short_cause(error)}"
    )


def _is_performed(answer: str) -> bool:
    """Whether a function says that the effect is there."""
    try:
        told = json.loads(answer)
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("performed") is True


def kill(state: State) -> int:
    """Kill every process of a function, as a crash of its host would; how many there were.

    It waits until they are dead, some seconds at most, so that a call that comes then goes to a new
    process.
    """
    killed = _of_functions(state)
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _DYING_SECONDS
    while killed & _of_functions(state) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(killed)


def _of_functions(state: State) -> set[int]:
    """The living processes of the functions, by their number.

    Whoever entered ends with the fork that works for it, so one of the two is enough.
    """
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,pgid=,stat=,command="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = (line.split(maxsplit=3) for line in listing.splitlines())
    return {
        int(pid)
        for pid, group, status, command in lines
        if int(group) == state.pid
        and not status.startswith("Z")
        and "function_processes.py enter" in command
    }
