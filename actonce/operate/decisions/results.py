"""How a decision ends, and what makes one."""

from dataclasses import dataclass
from enum import StrEnum

from actonce.stack.aws_errors import may_be_done
from actonce.terminal.errors import Failed

ANOTHER_SINCE = "another dead letter of the message stands there now"
"""What to say where the letter is not the one that waits."""


class DecisionOutcome(StrEnum):
    """How a decision ended."""

    DECIDED = "decided"
    """It was accepted."""
    ALREADY = "already_decided"
    """The same decision had been accepted before."""
    CONTINUED = "continued"
    """The execution had failed and was redriven."""
    SUPERSEDED = "superseded"
    """Nothing was decided: the letter waits no more, its message went on otherwise."""
    NOT_DECIDED = "not_decided"
    """Nothing was decided, and the letter stays: it cannot be decided so, or nothing waits."""

    @property
    def happened(self) -> bool:
        """The request was carried out, or will be, by itself or by the next decision."""
        return self not in (DecisionOutcome.SUPERSEDED, DecisionOutcome.NOT_DECIDED)


class DecisionUnconfirmed(Failed):
    """Whether the decision was made is unknown; made again, it changes nothing."""


def why_unsure(error: Exception) -> str | None:
    """What to say of a decision that may be made despite this error; None: it is not made."""
    if isinstance(error, DecisionUnconfirmed):
        return str(error)
    if not may_be_done(error):
        return None
    return (
        f"It is not known whether the decision was taken ({error}). Give the same command again: "
        "a decision that was taken stands."
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a decision.

    Attributes:
        text: one sentence or two for the person who asked.
        left_behind: how many letters of no more use could not be deleted.
    """

    end: DecisionOutcome
    text: str
    left_behind: int = 0

    @property
    def decided(self) -> bool:
        """This decision was accepted, just now."""
        return self.end is DecisionOutcome.DECIDED
