"""The contract of an effect: the step that must not happen twice.

A team writes a class with `perform` and `find`, and its function's handler is one call of
`answer`. See docs/your-own-effect.md.
"""

import json
import os
import sys
import threading
from types import FrameType
from typing import Any, NoReturn, Protocol

MAX_EFFECT_BYTES = 32 * 1024
"""Largest description of an effect, in bytes of JSON, that goes into the execution's output. Step
Functions fails an execution whose data outgrow 256 KiB, past every Catch; that must not happen
after the effect."""


# The text of these, and of any exception that leaves an effect, gets into Lambda's logs and traces,
# the execution's history and the dead letter. So it must not quote the message.


class NotPerformed(Exception):
    """Provably, nothing happened. The step is tried again, with back-off and jitter."""


class Rejected(Exception):
    """Provably, nothing happened and never will. The message becomes a dead letter at once."""


class OutcomeUnknown(Exception):
    """An effect raised anything else. It may have happened, so it is looked up, not repeated."""


class Effect(Protocol):
    """A step that must not be repeated."""

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do it once, and return a small description of what was done.

        Args:
            request: `{"message_id": str, "body": str, "attempt": int}`. `body` is the producer's
                text, strict JSON: use `json.loads(request["body"])`. `attempt`, from the state
                machine only, is 1 if this is certainly the first call for the message, otherwise
                more.

        Raises:
            NotPerformed: only if it certainly did not happen.
            Rejected: only if it certainly did not happen and never will.
            Exception: anything else leaves the outcome unknown.
        """

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Describe what was done for this message; None if nothing was.

        Invariant: once `perform` can no longer be running, the answer is final. It must read
        consistently: a stale None makes the effect happen twice.
        """


def answer(effect: Effect, event: dict[str, Any]) -> dict[str, Any]:
    """Run the operation that the state machine or a starter asks for.

    Args:
        effect: the team's.
        event: `{"operation": "perform" | "find", "attempt": int, "message": {"message_id": str,
            "body": str}}`; `attempt` from the state machine only.

    Returns:
        `{"performed": bool, "effect": dict | None}`.

    Raises:
        NotPerformed, Rejected: exactly these types, because Step Functions matches an error by the
            name of its class and knows no subclasses.
        OutcomeUnknown: for every other exception, so that no library's error passes for one of
            the two above by its name.
        ValueError: the event has another form.

    Lambda freezes its sandbox after the answer and thaws it at the next call, `find` for instance:
    a thread that `perform` has left at work would act after it was looked up. So if `perform`
    raises and leaves one at work, this logs it and ends the process, which leaves the outcome
    unknown. Not in another thread than the main one, as in a starter, where others are at work.
    """
    message = event.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("message_id"), str):
        raise ValueError("event: expected 'message' with a 'message_id' that is a string")
    operation = event.get("operation")
    if operation == "find":
        found = effect.find(message["message_id"])
        return {"performed": found is not None, "effect": _small(found)}
    if operation == "perform":
        request = {**message, "attempt": event["attempt"]} if "attempt" in event else message
        before = _threads_at_work()
        try:
            return {"performed": True, "effect": _small(_perform(effect, request))}
        except BaseException as error:
            if left := _threads_at_work() - before:
                _end_process(left, message["message_id"], error)
            raise
    raise ValueError(f"event: 'operation' is {operation!r}, expected 'perform' or 'find'")


def _perform(effect: Effect, message: dict[str, Any]) -> dict[str, Any]:
    try:
        return effect.perform(message)
    except Rejected as error:
        raise Rejected(str(error)) from error
    except NotPerformed as error:
        raise NotPerformed(str(error)) from error
    except Exception as error:
        raise OutcomeUnknown(f"{type(error).__name__}: {error}") from error


def _threads_at_work() -> set[tuple[int, FrameType]]:
    """Each thread's ident and outermost frame, in a pool that of its task, if it is at work.

    Not idents alone: one becomes another thread's, and a pool's thread goes on to its next task.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not (in_main and os.environ.get("AWS_LAMBDA_RUNTIME_API")):
        return set()
    found = set()
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented
        if _is_worker(frame):  # it waits
            continue
        while frame.f_back and not _is_worker(frame.f_back):
            frame = frame.f_back  # noqa: PLW2901
        found.add((ident, frame))
    return found


def _is_worker(frame: FrameType) -> bool:
    """Whether it is where a thread of a `ThreadPoolExecutor` waits for tasks and calls them."""
    where = (frame.f_globals.get("__name__"), frame.f_code.co_name)
    return where == ("concurrent.futures.thread", "_worker")


def _end_process(
    left: set[tuple[int, FrameType]], message_id: str, error: BaseException
) -> NoReturn:
    """End the process, for Lambda to throw its sandbox away."""
    line = {
        "level": "ERROR",
        "message": "perform has left threads at work, so this process ends",
        "message_id": message_id,
        "threads": [one.name for one in threading.enumerate() if one.ident in dict(left)],
        "error": f"{type(error).__name__}: {error}",
    }
    try:
        print(json.dumps(line), flush=True)
    finally:
        os._exit(1)


def _small(effect: dict[str, Any] | None) -> dict[str, Any] | None:
    if len(json.dumps(effect).encode()) <= MAX_EFFECT_BYTES:
        return effect
    return {"omitted": f"the description has more than {MAX_EFFECT_BYTES} bytes"}
