"""What a stream is: its name, what it tells, and what one row says, as a number.

The audit's one shuffle carries these codes instead of words: an aggregate over numbers costs half
of one over strings.
"""

from enum import IntEnum
from typing import Final, Self

from actonce_core.reason import Reason

STREAMS: Final = ("sent", "deliveries", "executions", "effects", "dead_letters")

TELLS: Final = {
    "sent": "whether a message was sent and never delivered",
    "deliveries": "whether a message was refused, or delivered and lost",
    "executions": "whether a message without an effect is lost or still in work",
    "effects": "whether a message was acted on, once or again; its execution's word is all "
    "there is",
}
"""What cannot be told of a day without the stream."""

WITNESSES: Final = ("deliveries", "executions", "effects")
"""Who has to be there on every day that is judged. Whether a producer records what is `sent` is not
the stack's to know; no alarm hangs on `dead_letters`."""

HASHED_IDS: Final = "executions of hashed ids"
"""Beside the streams: what may not have been read of messages whose ids make no name."""

KNOWN_VERSION: Final = "1"
"""Of the plain records; a line of any other version is quarantined."""


class Code(IntEnum):
    """What one record says of its message, and the stream that says it.

    The order inside executions and dead letters decides between records of one millisecond: a
    closed execution beats a running one, a decision beats the dead letter that it answers.
    """

    stream: str

    def __new__(cls, stream: str) -> Self:  # noqa: D102 - numbered in order
        code = int.__new__(cls, len(cls.__members__))
        code._value_ = len(cls.__members__)
        code.stream = stream
        return code

    SENT = "sent"
    STARTED = "deliveries"
    SUPPRESSED = "deliveries"
    FAILED = "deliveries"
    RUNNING = "executions"
    CLOSED_FAILED = "executions"
    CLOSED_REJECTED = "executions"
    CLOSED_RESOLVED = "executions"
    CLOSED_FOUND = "executions"
    CLOSED_PERFORMED = "executions"
    EFFECT = "effects"
    POSTED = "dead_letters"
    DECIDED_RETRY = "dead_letters"
    DECIDED_RESOLVE = "dead_letters"
    DECIDED_REJECT = "dead_letters"
    QUARANTINED = "none, for it is no record"
    EXPORTED = "none, for it is of no message"
    OF_ANOTHER = "none, for it is no effect"


REFUSED: Final = {reason.value: len(Code) + number for number, reason in enumerate(Reason)}
"""The code of a refused delivery, by the starter's reason."""


def codes_of(*streams: str) -> tuple[int, ...]:
    """The codes of streams' records."""
    refused = REFUSED.values() if "deliveries" in streams else ()
    return *(int(code) for code in Code if code.stream in streams), *refused


DELIVERED: Final = tuple(code for code in codes_of("deliveries") if code != Code.FAILED)
"""The codes of deliveries that the starter answered."""

OPERATOR_REJECTED: Final = "RejectedByOperator"
"""The error of an execution that an operator's `reject` has ended."""
