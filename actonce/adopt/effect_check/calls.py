"""Events for an effect, and its answers as the stack would read them."""

import io
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, cast

from actonce_core.effect import NotPerformed, Rejected
from actonce_core.invoked_effect import InvokedEffect

Event = dict[str, Any]

KILLS = (0.3, 0.7)
"""Shares of a call's time after which its process is killed in the middle."""
AFTER = 1.0
"""The share at which the effect has acted, and not answered yet."""

TIMED_OUT = "Sandbox.Timedout"
"""Lambda's error of a function that it ended at its time-out."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer to one call.

    Attributes:
        answer: the JSON value; of a call that failed, Lambda's `{"errorType", "errorMessage"}`.
        failed: whether it raised an error, its process died, or it ran out of time.
        seconds: that it took.
    """

    answer: Any = None
    failed: bool = False
    seconds: float = 0.0


class Caller(Protocol):
    """Calls the effect."""

    def call(self, event: Event, kill: float | None = None, slow: float = 0.0) -> CallResult:
        """Call it once. A process that was used before may be used again, as Lambda does.

        Args:
            kill: the share of a call's time after which its process is killed; at `AFTER` it
                answers all the same if nothing can kill it then.
            slow: seconds before which no connection that it opens is there, if its process is
                Python.
        """

    def at_once(self, events: list[Event]) -> list[CallResult]:
        """Call it concurrently, each time in a process of its own."""

    def renew(self) -> None:
        """Have a new process answer the next call."""

    def wait(self, seconds: float) -> None:
        """Wait."""

    @property
    def can_find(self) -> bool:
        """Whether there is a function that answers `find`."""


class Outcome(StrEnum):
    """What an answer means by the contract."""

    PERFORMED = "it was performed"
    NOTHING = "nothing was performed"
    NOT_PERFORMED = "it did not happen, and is worth trying again"
    REJECTED = "it did not happen, and never will"
    UNKNOWN = "nobody knows"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as the stack reads it.

    Attributes:
        effect: its description, if it was performed.
        words: the text of an error, or what is wrong with the answer.
    """

    message_id: str
    outcome: Outcome
    raw: CallResult
    effect: Any = None
    words: str = ""


@dataclass(slots=True)
class _OneAnswer:
    """A Lambda client with one answer, which the stack's own reader reads."""

    raw: CallResult
    exceptions: Any = None

    def invoke(self, **_: Any) -> dict[str, Any]:
        payload = io.BytesIO(json.dumps(self.raw.answer).encode())
        failed = {"FunctionError": "Unhandled"} if self.raw.failed else {}
        return {"Payload": payload, **failed}


def read(raw: CallResult, operation: str, message_id: str) -> Answer:
    """Read an answer as the state machine does, and `invoked_effect` in a starter."""

    def answer(outcome: Outcome, words: str = "", effect: Any = None) -> Answer:
        return Answer(message_id, outcome, raw, effect, words)

    stack = InvokedEffect(cast("Any", _OneAnswer(raw)), "effect", "effect")
    try:
        if operation == "find":
            found = stack.find(message_id)
        else:
            found = stack.perform({"message_id": message_id, "body": None})
            if "effect" not in raw.answer:
                return answer(Outcome.UNKNOWN, "without `effect` it is no answer")
    except NotPerformed as error:
        return answer(Outcome.NOT_PERFORMED, str(error))
    except Rejected as error:
        return answer(Outcome.REJECTED, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody knows
        return answer(Outcome.UNKNOWN, str(error))
    return answer(Outcome.NOTHING if found is None else Outcome.PERFORMED, effect=found)


def perform_event(message_id: str, body: Any) -> Event:
    """The stack's event; `body` is the value that becomes the message's text."""
    message = {"message_id": message_id, "body": json.dumps(body)}
    return {"operation": "perform", "attempt": 1, "message": message}


def find_event(message_id: str) -> Event:
    """The stack's event."""
    return {"operation": "find", "message": {"message_id": message_id}}
