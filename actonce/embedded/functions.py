"""Starts the functions' processes on the embedded AWS before a load comes, and kills them."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
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
    """Start as many processes as a load keeps busy, by calls that change nothing.

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
        What is wrong with looking up, if something is: `find` has to say that an id which was never
        sent was not performed. But a provider may be away, and that is no reason to go down.

    Raises:
        Failed: the function that the queue feeds does not start.
    """
    starter = stack.starter_function
    finds = stack.find_function or ""
    find = json.dumps({"operation": "find", "message": {"message_id": WARM_UP_ID}})
    starts = [(starter, json.dumps({"Records": []}))] * min(times, _WARM_STARTERS)
    looks = [(finds, find)] * times if finds else []
    try:
        with ThreadPoolExecutor(len(starts) + len(looks)) as threads:
            answers = list(threads.map(lambda call: _answer(stack, *call), starts + looks))
    except (ClientError, BotoCoreError) as error:
        raise Failed(f"The functions could not be called: {error}") from error
    for is_error, text in answers[: len(starts)]:
        if is_error:
            raise Failed(f"{starter} does not start: {text}")
    found = answers[len(starts) :]
    acted = [text for is_error, text in found if not is_error and _is_performed(text)]
    failure = next((text for is_error, text in found if is_error), None)
    if acted:
        return (
            f"{finds}, asked to find {WARM_UP_ID!r}, which nobody has sent, says that it is "
            f"performed ({short_cause(acted[0])}): it acts when it is to look up, or finds what is "
            "another's. On AWS a message could be acted on twice, or never."
        )
    if failure is None:
        return None
    return (
        f"{finds} cannot look up whether {WARM_UP_ID!r}, which nobody has sent, was performed, so "
        f"an unknown outcome would wait for a person: {short_cause(failure)}"
    )


def _answer(stack: Stack, function: str, event: str) -> tuple[bool, str]:
    """What a function answers, and before that whether it is an error, the last of some tries."""
    for _ in range(_WARM_TRIES):
        answer = stack.lambda_.invoke(FunctionName=function, Payload=event.encode())
        is_error = "FunctionError" in answer
        text = answer["Payload"].read().decode(errors="replace")
        if not is_error:
            break
    return is_error, text


def _is_performed(answer: str) -> bool:
    """Whether a function says that the effect is there."""
    try:
        response = json.loads(answer)
    except ValueError:
        return False
    return isinstance(response, dict) and response.get("performed") is True


def kill(state: State) -> int:
    """Kill every process of a function, as a crash of its host would; returns how many.

    It waits some seconds until they are dead, so that the next call goes to a new process.
    """
    killed = {
        pid
        for pid, group, status, command in _processes()
        if group == state.pid
        and not status.startswith("Z")
        # A fork ends with its `enter` process.
        and ("function_processes.py enter" in command or command.endswith("/_worker.js"))
    }
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _DYING_SECONDS
    while time.monotonic() < deadline:
        left = (status for pid, _, status, _ in _processes() if pid in killed)
        # A zombie of which threads (`l`) still end, as Node's do, is alive for its parent, which
        # would hand it the next call.
        if all(status.startswith("Z") and "l" not in status for status in left):
            break
        time.sleep(0.01)
    return len(killed)


def _processes() -> Iterator[tuple[int, int, str, str]]:
    """Of each process here its id, its group's, ps's letters for its state, and its words."""
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,pgid=,stat=,command="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in listing.splitlines():
        pid, group, status, command = line.split(maxsplit=3)
        yield int(pid), int(group), status, command
