"""Which decisions there are, and which of them can be made on a dead letter."""

from typing import Literal

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.history import nothing_looks_up
from actonce.stack.clients import Stack

Decision = Literal["retry", "perform", "resolve", "reject"]
"""`perform` is a person's word that it did not happen, so nothing is looked up; `retry` looks
first wherever the outcome is unknown."""

AGAIN: tuple[Decision, ...] = ("retry", "perform")
"""Those after which it is tried again."""

IN_VAIN = (
    "No function can look it up (FindFunctionArn is not set), so a retry would end as the same "
    "dead letter. Find out by hand whether it happened: if it did not, decide perform; if it did, "
    "resolve. Note how you know."
)
"""Why a retry is refused."""


def is_retried_in_vain(stack: Stack, reason: str, cause: str) -> bool:
    """Whether a retry leads back to the same dead letter, because nothing can look it up.

    The letter tells that nothing was named; a retry looks up by what the stack names now.

    Args:
        stack: that has the letter.
        reason, cause: of the letter.
    """
    was_unnamed = reason == "outcome_unknown" and nothing_looks_up(cause)
    return was_unnamed and stack.find_function is None


def decisions_on(stack: Stack, letter: DeadLetter) -> list[Decision]:
    """The decisions to choose from; where it is known not to have happened, retry performs it."""
    again: list[Decision] = ["retry"]
    if is_retried_in_vain(stack, letter.reason, letter.cause):
        again = ["perform"]
    elif not letter.nothing_happened:
        again = [*AGAIN]
    return [*again, "resolve", "reject"]
