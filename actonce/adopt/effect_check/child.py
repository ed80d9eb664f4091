"""Runs in a process of its own and calls the effect: one line in, one line out.

    python child.py ANSWERS-FD TARGET FOLDER FUNCTIONS

Standard input has the questions, `{"event": …, "seconds": …, "dies": whether before it answers}`.
The answers, `{"end": …, "answer": …}`, go to a descriptor of their own, because the effect may
print; a line `{}` says that the call begins. What the effect reads of standard input is nothing.
"""

import importlib
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Handler = Callable[[dict[str, Any], Any], Any]


class Context:
    """As much of Lambda's context object as functions use."""

    function_name = "actonce-effect-check"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:actonce-effect-check"
    memory_limit_in_mb = 512
    aws_request_id = "00000000-0000-0000-0000-000000000000"
    log_group_name = log_stream_name = "actonce-effect-check"

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the call is ended."""
        return max(0, int(1000 * (self._until - time.monotonic())))


def load(target: str, folder: str, functions: str) -> Handler:
    """What `target` names, as a handler.

    Args:
        target: `FILE.py:NAME`; a handler, or an effect with `perform` and `find`, or its class.
        folder: where its modules are.
        functions: of ActOnce, after them: `effect` and what it needs.

    Raises:
        ValueError: it names none.
        Exception: importing it raised that.
    """
    sys.path[:0] = [folder]
    sys.path.append(functions)
    place, _, name = target.rpartition(":")
    found = getattr(importlib.import_module(Path(place).stem), name, None)
    if not (hasattr(found, "perform") and hasattr(found, "find")):
        if not callable(found) or inspect.isclass(found):
            raise ValueError(f"{place} has no {name} that is a handler, or has perform and find")
        handler: Handler = found
        return handler
    effect = found() if inspect.isclass(found) else found
    answer = importlib.import_module("actonce_core.effect").answer
    return lambda event, _context: answer(effect, event)


def called(handler: Handler, event: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Call it once, as Lambda does; an error is told in Lambda's form."""
    try:
        answered = handler(event, Context(seconds))
    except BaseException as error:  # noqa: BLE001 - SystemExit too, as Lambda's runtime has it
        return _failed(type(error).__name__, error)
    try:
        return {"end": "answered", "answer": json.loads(json.dumps(answered))}
    except (TypeError, ValueError, RecursionError) as error:
        return _failed("Runtime.MarshalError", error)


def _failed(name: str, error: BaseException) -> dict[str, Any]:
    return {"end": "failed", "answer": {"errorType": name, "errorMessage": str(error)}}


def main() -> None:
    """Serve until standard input closes."""
    answers, questions = int(sys.argv[1]), os.fdopen(os.dup(0), "r", encoding="utf-8")
    for descriptor in (answers, questions.fileno()):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def tell(what: dict[str, Any]) -> None:
        line = (json.dumps(what) + "\n").encode()
        while line:
            line = line[os.write(answers, line) :]

    try:
        handler = load(*sys.argv[2:5])
    except BaseException as error:  # noqa: BLE001 - whatever a module does when it is imported
        tell({"unloadable": f"{type(error).__name__}: {error}"})
        return
    tell({})
    for line in questions:
        asked = json.loads(line)
        tell({})
        told = called(handler, asked["event"], asked["seconds"])
        if asked["dies"]:
            os.kill(os.getpid(), signal.SIGKILL)
        tell(told)


if __name__ == "__main__":
    main()
