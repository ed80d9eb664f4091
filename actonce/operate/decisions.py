"""Decisions on dead letters: which there are, which can be made, and how each ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.history import nothing_looks_up
from actonce.stack.aws_errors import may_be_done
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed

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

ANOTHER_SINCE = "the message has a newer dead letter"
"""What to say where a letter that was seen is not the one that waits."""


class End(StrEnum):
    """How a decision ended."""

    DECIDED = "decided"
    """It was accepted."""
    ALREADY = "already_decided"
    """The same decision had been accepted before."""
    CONTINUED = "continued"
    """The execution had failed and was redriven, or the message was sent again."""
    OVER = "over"
    """Nothing was decided: the letter waits no more, for something else became of its message."""
    NOT_DECIDED = "not_decided"
    """Nothing was decided, and the letter is left to be seen: it cannot be decided so, or nobody
    waits for it."""

    @property
    def happened(self) -> bool:
        """What was asked for is so, or comes to be so by itself or by the next decision."""
        return self not in (End.OVER, End.NOT_DECIDED)

    @property
    def goes(self) -> bool:
        """The letters that told of it are of no more use."""
        return self is not End.NOT_DECIDED


class Unsure(Failed):
    """Whether a decision was made is not known; made again it changes nothing, or is made whole."""


def may_be_made(error: Exception) -> bool:
    """Whether a decision may be made though it ended with this error.

    Behind a lock also where AWS said no: what is sent again is sent after the row was written.
    """
    is_second_step = isinstance(error, ClientError) and error.operation_name == "SendMessage"
    return is_second_step or isinstance(error, Unsure) or may_be_done(error)


def not_known(error: Exception) -> str:
    """What to say of a decision that may be made."""
    if isinstance(error, Unsure):
        return str(error)
    return (
        f"It is not known whether the decision was taken ({error}). Give the same command again: "
        "a decision that was taken stands, and one that was begun is completed."
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a decision.

    Attributes:
        said: one sentence or two for the person who asked.
        left_behind: how many letters are of no more use, and could not be deleted.
    """

    end: End
    said: str
    left_behind: int = 0

    @property
    def decided(self) -> bool:
        """This decision was accepted, just now."""
        return self.end is End.DECIDED


class Decider(Protocol):
    """Makes one decision, of any number of messages; may be called in threads."""

    def answer(self, name: str, letters: Sequence[DeadLetter], held_elsewhere: int = 0) -> Answer:
        """Decide on a message by its letters, the newest first. Deletes nothing.

        Made twice it changes nothing.

        Args:
            name: the message's id, or its execution's name.
            letters: none where none was seen: another reader holds it, or it outlived the queue's
                retention, or there is none.
            held_elsewhere: how many letters another reader held.

        Raises:
            Failed: it cannot be done.
            ClientError: AWS could not be asked; as of other errors, see `may_be_made`.
        """

    def answer_older(self, letter: DeadLetter) -> bool:
        """Decide by a letter that is not its message's newest; whether that was accepted.

        It is of no more use then, whatever the answer is.
        """


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
