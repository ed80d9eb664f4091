"""Asking an effect something, and what came of it, as the stack would read it."""

import io
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, cast

from actonce_core.effect import NotPerformed, Rejected
from actonce_core.invoked_effect import InvokedEffect

Event = dict[str, Any]

LONGEST_ANSWER_BYTES = 6 * 1024 * 1024
"""Of a function that is called and waited for ("Lambda quotas", payload)."""


@dataclass(frozen=True, slots=True)
class Kill:
    """When the effect's process is killed: `before` the call, `after` it, or `in` the middle of it.

    `share`: of the time that a call takes, for `in`.
    """

    moment: Literal["before", "in", "after"]
    share: float = 0.0

    def __str__(self) -> str:
        where = {"before": "before it began", "after": "after it, before it answered"}
        return where.get(self.moment, f"after {self.share:.0%} of its time")


class End(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    FAILED = "failed"  # it raised something, or its answer cannot be one
    DIED = "died"
    HUNG = "hung"  # it was ended at its time-out


@dataclass(frozen=True, slots=True)
class Raw:
    """What came of one call.

    Attributes:
        answer: as JSON has it; of a call that failed Lambda's `{"errorType", "errorMessage"}`.
        seconds: that it took.
    """

    end: End
    answer: Any = None
    seconds: float = 0.0


class Caller(Protocol):
    """Who calls the effect: in processes of its own, or on the embedded AWS."""

    def call(self, event: Event, kill: Kill | None = None) -> Raw:
        """Call it once. A process that was used before may be used again, as Lambda does."""

    def at_once(self, events: list[Event]) -> list[Raw]:
        """Call it side by side, each in a process of its own."""

    def renew(self) -> None:
        """Have the next call made by a new process."""

    def left_running(self) -> int:
        """Processes that a call has left running beside its own."""

    def wait(self, seconds: float) -> None:
        """Let time go by."""

    @property
    def kills(self) -> tuple[Kill, ...]:
        """What of killing can be done here."""


class Outcome(StrEnum):
    """What an answer says, by the contract."""

    PERFORMED = "it was performed"
    NOTHING = "nothing was performed"
    NOT_PERFORMED = "it did not happen, and is worth trying again"
    REJECTED = "it did not happen, and never will"
    UNKNOWN = "nobody knows"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as the stack reads it.

    Attributes:
        effect: its description, where it was performed.
        words: of an error, or of what is no clear answer.
    """

    said: Outcome
    raw: Raw
    effect: Any = None
    words: str = ""

    def __str__(self) -> str:
        return f"{self.said} ({self.words})" if self.words else str(self.said)


@dataclass(slots=True)
class _OneAnswer:
    """A Lambda client that has one answer, so that the stack's own reader reads it."""

    raw: Raw
    exceptions: Any = field(default=None)

    def invoke(self, **_: Any) -> dict[str, Any]:
        payload = io.BytesIO(json.dumps(self.raw.answer).encode())
        failed = {"FunctionError": "Unhandled"} if self.raw.end is End.FAILED else {}
        return {"Payload": payload, **failed}


def read(raw: Raw, operation: str, message_id: str) -> Answer:
    """Read an answer as `invoked_effect` does behind a lock, and the state machine too."""
    if raw.end in _NO_ANSWER:
        return Answer(Outcome.UNKNOWN, raw, words=_NO_ANSWER[raw.end])
    effect = InvokedEffect(cast("Any", _OneAnswer(raw)), "effect", "effect")
    try:
        if operation == "find":
            found = effect.find(message_id)
        else:
            found = effect.perform({"message_id": message_id, "body": None})
    except NotPerformed as error:
        return Answer(Outcome.NOT_PERFORMED, raw, words=str(error))
    except Rejected as error:
        return Answer(Outcome.REJECTED, raw, words=str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody knows
        return Answer(Outcome.UNKNOWN, raw, words=_short(str(error)))
    return Answer(Outcome.NOTHING if found is None else Outcome.PERFORMED, raw, found)


_NO_ANSWER = {End.DIED: "its process died", End.HUNG: "it had not ended at its time-out"}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def perform_event(message_id: str, body: Any, attempt: int = 1) -> Event:
    """What the stack asks; `body` is what its text says."""
    message = {"message_id": message_id, "body": json.dumps(body)}
    return {"operation": "perform", "attempt": attempt, "message": message}


def find_event(message_id: str) -> Event:
    """What the stack asks."""
    return {"operation": "find", "message": {"message_id": message_id}}
