"""Why a delivery is refused, and why a message waits for a decision: the one list of each."""

from enum import StrEnum
from typing import Final, Self


class _Explained(StrEnum):
    """Names, each with an `explanation`: a sentence to follow a colon, without its full stop."""

    explanation: str

    def __new__(cls, value: str, explanation: str) -> Self:
        reason = str.__new__(cls, value)
        reason._value_, reason.explanation = value, explanation
        return reason


class Reason(_Explained):
    """Why a delivery was refused, as UnstartedQueue, logs and metrics name it."""

    NOT_JSON = "not_json", "its body is no JSON, or two parsers could read it differently"
    NO_MESSAGE_ID = "no_message_id", "it has no message id where the stack's MessageIdFrom says"
    TOO_LARGE = "too_large", "it is larger than an execution's input may be"
    CONFLICT = "conflict", "its id was used first for other content"
    TOO_OLD_TO_TELL = (
        "too_old_to_tell",
        "its id was first seen so long ago that Step Functions may have forgotten it",
    )
    OTHER_MEMORY = "other_memory", "another state machine knows what became of it"
    NOT_STARTABLE = (
        "not_startable",
        "Step Functions refused to start it, which is a bug of ActOnce",
    )


class DeadLetterReason(_Explained):
    """Why a message waits for a decision, as its dead letter names it."""

    REJECTED = "rejected", "your function refused it, so it did not happen"
    NOT_PERFORMED = (
        "not_performed",
        "your function said each time that it did not happen, until no retry was left",
    )
    ROUNDS_USED_UP = (
        "rounds_used_up",
        "each attempt ended without a clear answer; each look-up found no effect",
    )
    OUTCOME_UNKNOWN = (
        "outcome_unknown",
        "it may have happened, and the look-up could not find out",
    )


NOTHING_HAPPENED: Final = (DeadLetterReason.REJECTED, DeadLetterReason.NOT_PERFORMED)
"""Reasons that prove that the effect did not happen."""
