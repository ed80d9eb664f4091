"""The decisions, and which of them are possible on a dead letter."""

from typing import Literal, get_args

from actonce.messages.history import has_no_find_function
from actonce.stack.clients import Stack
from actonce_core.reason import NOTHING_HAPPENED, DeadLetterReason

Decision = Literal["retry", "perform", "resolve", "reject"]
"""`perform` takes a person's word that the effect did not happen, without a look-up; `retry` looks
first wherever the outcome is unknown."""

RETRYING: tuple[Decision, ...] = ("retry", "perform")
"""The decisions that try again."""

_NEEDS_FIND_FUNCTION = (
    "No function can look it up (FindFunctionArn is not set), so a retry would end as the same "
    "dead letter. Find out by hand whether it happened: if it did not, decide perform; if it did, "
    "resolve. Note how you know."
)
_USE_RETRY_AND_LOOK = (
    "Each look-up of it gave an answer, so it needs no one to confirm it: decide retry, which "
    "looks first, and performs it only if it is not found."
)
_USE_RETRY = (
    "That it did not happen is known, and needs no one to confirm it: decide retry, which performs "
    "it without a look-up."
)


def why_not(stack: Stack, decision: str, reason: str, cause: str) -> str | None:
    """Why a decision is not possible on a dead letter, in sentences; None: it is.

    Args:
        stack: that has the letter.
        decision: one of `Decision`.
        reason, cause: of the letter. The cause may be that no function was named to look up; a
            retry uses the function that the stack names now.
    """
    if decision == "perform" and reason in NOTHING_HAPPENED:
        return _USE_RETRY
    looks = stack.find_function is not None
    if decision == "perform" and reason == DeadLetterReason.ROUNDS_USED_UP and looks:
        return _USE_RETRY_AND_LOOK
    was_unnamed = reason == DeadLetterReason.OUTCOME_UNKNOWN and has_no_find_function(cause)
    if decision == "retry" and was_unnamed and stack.find_function is None:
        return _NEEDS_FIND_FUNCTION
    return None


def decisions_on(stack: Stack, reason: str, cause: str) -> list[Decision]:
    """The decisions that are possible on a dead letter."""
    decisions: tuple[Decision, ...] = get_args(Decision)
    return [each for each in decisions if why_not(stack, each, reason, cause) is None]
