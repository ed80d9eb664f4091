"""What a check is given to know, and what it finds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes:
        check: its name.
        asks: the promise, as a statement.
        story: what happened, or why it was not tried; mostly empty if it passed.
        change: what to do.
    """

    check: str
    asks: str
    status: Status
    story: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the checks need to know.

    Attributes:
        body: of a message that the effect performs.
        timeout: EffectTimeoutSeconds.
        margin: seconds that what the effect called may go on after its process has died.
        settle: seconds after which a second look-up must give the same answer as the first.
        rejected: a body that it rejects; None if that is not tried.
        not_performed: a body for which it raises NotPerformed; None if that is not tried.
        slow: a body for which its provider answers later than it waits; None if there is none:
            then its connections are slow, if its process is Python.
        message_id_from: where the stack reads a message's id, so that the bodies have it there.
    """

    body: Any
    timeout: float
    margin: float = 0.5
    settle: float = 1.0
    rejected: Any = None
    not_performed: Any = None
    slow: Any = None
    message_id_from: str = ""
