"""Runs in a process of its own and calls the effect: one line in, one line out.

    python child.py ANSWERS-FD TARGET FOLDER FUNCTIONS

Standard input has the questions, `{"event": …, "kill": null | "before" | "after"}`; the answers go
to a descriptor of their own, because the effect may print. A line `{}` says that the call begins.
What the effect reads of standard input is nothing, and what it prints is its own affair.
"""

import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_ANSWER_BYTES = 6 * 1024 * 1024  # see `calls`, which this process does not import

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
        target: `FILE.py:NAME`; a handler of two arguments, or an effect: a class or a function
            without arguments that makes one, or one itself.
        folder: where its modules are.
        functions: of ActOnce, after them: `effect` and what it needs.

    Raises:
        ValueError: it names none.
        Exception: importing it raised that.
    """
    sys.path[:0] = [folder]
    sys.path.append(functions)
    place, _, name = target.rpartition(":")
    module = importlib.import_module(Path(place).stem)
    found = getattr(module, name, None)
    if found is None:
        raise ValueError(f"{place} has no {name}")
    if not _is_effect(found) and not inspect.isclass(found) and _arguments(found) == 2:
        handler: Handler = found
        return handler
    if not _is_effect(found) or inspect.isclass(found):
        found = found()
    if not _is_effect(found):
        raise ValueError(f"{name} is neither handler(event, context), nor has it perform and find")
    return _answering(found)


def _answering(effect: Any) -> Handler:
    answer = importlib.import_module("actonce_core.effect").answer

    def handler(event: dict[str, Any], _context: Any) -> Any:
        return answer(effect, event)

    return handler


def _is_effect(found: Any) -> bool:
    return callable(getattr(found, "perform", None)) and callable(getattr(found, "find", None))


def _arguments(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return -1
    return sum(
        one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        for one in parameters
    )


def called(handler: Handler, event: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Call it once, as Lambda does: `{"answer": …}`, or `{"error": …}` in Lambda's form."""
    try:
        answered = handler(event, Context(seconds))
    except BaseException as error:  # noqa: BLE001 - SystemExit too, as Lambda's runtime has it
        return {"error": {"errorType": type(error).__name__, "errorMessage": str(error)}}
    try:
        text = json.dumps(answered)
    except (TypeError, ValueError, RecursionError) as error:
        return {"error": {"errorType": "Runtime.MarshalError", "errorMessage": str(error)}}
    if len(text) > LONGEST_ANSWER_BYTES:
        said = f"the answer has {len(text):,} bytes, and Lambda takes {LONGEST_ANSWER_BYTES:,}"
        return {"error": {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": said}}
    return {"answer": json.loads(text)}


def main() -> None:
    """Serve until standard input closes."""
    answers, questions = int(sys.argv[1]), os.fdopen(os.dup(0), "r", encoding="utf-8")
    for descriptor in (answers, questions.fileno()):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)

    def tell(what: dict[str, Any]) -> None:
        line = (json.dumps(what) + "\n").encode()
        while line:
            line = line[os.write(answers, line) :]

    try:
        handler = load(*sys.argv[2:5])
    except BaseException as error:  # noqa: BLE001 - whatever a module does when it is imported
        tell({"unloadable": f"{type(error).__name__}: {error}"})
        return
    tell({"loaded": True})
    for line in questions:
        asked = json.loads(line)
        if asked["kill"] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        tell({})
        told = called(handler, asked["event"], asked["seconds"])
        if asked["kill"] == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        tell(told)


if __name__ == "__main__":
    main()
