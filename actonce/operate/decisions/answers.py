"""How a decision ends, and what makes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import DeadLetter
from actonce.stack.aws_errors import may_be_done
from actonce.terminal.errors import Failed

ANOTHER_SINCE = "the message has a newer dead letter"
"""What to say where the letter is not the one that waits."""


class DecisionEnd(StrEnum):
    """How a decision ended."""

    DECIDED = "decided"
    """It was accepted."""
    ALREADY = "already_decided"
    """The same decision had been accepted before."""
    CONTINUED = "continued"
    """The execution had failed and was redriven, or the message was sent again."""
    OVER = "over"
    """Nothing was decided: the letter waits no more, its message went on otherwise."""
    NOT_DECIDED = "not_decided"
    """Nothing was decided, and the letter stays: it cannot be decided so, or nothing waits."""

    @property
    def happened(self) -> bool:
        """The request was carried out, or will be, by itself or by the next decision."""
        return self not in (DecisionEnd.OVER, DecisionEnd.NOT_DECIDED)

    @property
    def goes(self) -> bool:
        """Its letters are of no more use."""
        return self is not DecisionEnd.NOT_DECIDED


class Unsure(Failed):
    """Whether the decision was made is unknown; made again, it changes nothing or is completed."""


def why_unsure(error: Exception) -> str | None:
    """What to say of a decision that may be made despite this error; None: it is not made.

    Behind a lock also where AWS refused SendMessage: the row was written before.
    """
    if isinstance(error, Unsure):
        return str(error)
    is_second_step = isinstance(error, ClientError) and error.operation_name == "SendMessage"
    if not (is_second_step or may_be_done(error)):
        return None
    return (
        f"It is not known whether the decision was taken ({error}). Give the same command again: "
        "a decision that was taken stands, and one that was begun is completed."
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a decision.

    Attributes:
        said: one sentence or two for the person who asked.
        left_behind: how many letters of no more use could not be deleted.
    """

    end: DecisionEnd
    said: str
    left_behind: int = 0

    @property
    def decided(self) -> bool:
        """This decision was accepted, just now."""
        return self.end is DecisionEnd.DECIDED


class Decider(Protocol):
    """Makes one decision, of any number of messages; may be called in threads."""

    def answer(self, name: str, letters: Sequence[DeadLetter], held_elsewhere: int = 0) -> Answer:
        """Decide on a message by its letters, the newest first. Deletes nothing.

        Made twice it changes nothing.

        Args:
            name: the message's id, or its execution's name.
            letters: none where another reader holds it, SQS has dropped it, or there is none.
            held_elsewhere: how many letters another reader held.

        Raises:
            Failed: it cannot be done.
            ClientError: AWS could not be asked; as of other errors, see `why_unsure`.
        """

    def answer_older(self, letter: DeadLetter) -> bool:
        """Decide by a letter that is not its message's newest; whether that was accepted.

        Either way the letter is of no more use.
        """
