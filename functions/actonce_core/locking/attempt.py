"""The words that ledger and lease share: what a consumer gets when it asks for a message."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from actonce_core.locking.host import Host

JsonObject = dict[str, Any]


class Outcome(StrEnum):
    """How a message's row was completed."""

    PERFORMED = "performed"
    FOUND = "found"
    """An earlier attempt had performed it and could not say so."""
    DEAD_LETTER = "dead_letter"
    """It waits in DeadLetterQueue for a decision."""
    RESOLVED = "resolved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Attempt:
    """This consumer may act on the message, and no other may until the attempt is over.

    Attributes:
        message_id: as the table keeps it.
        attempt_id: new for every attempt; what is written afterwards is conditional on it.
        consumption_count: attempts so far, this one included, but for those that were given back.
        outcome_unknown: an earlier attempt ended without a word, so the effect may have happened:
            look it up before it is performed.
        is_lost: whether others may have taken the message over by now. To be asked right before
            the effect: after it says true, nothing may be done any more.
        fence: a `ConditionCheck` for DynamoDB's TransactWriteItems; a write in one transaction with
            it happens only while the attempt holds.
        straggler_seconds: where the outcome is unknown, how long what the earlier attempt called
            may still act. To be waited, while the attempt is kept alive, before it is looked up.
        waited: seconds that the message has waited for its provider; None: it has not had to.
    """

    message_id: str
    attempt_id: str
    consumption_count: int
    outcome_unknown: bool
    is_lost: Callable[[], bool] = field(compare=False)
    fence: JsonObject = field(compare=False)
    straggler_seconds: float = 0.0
    waited: float | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The message is done with; `effect` is the description that was stored, if any."""

    outcome: Outcome
    effect: JsonObject | None


@dataclass(frozen=True, slots=True)
class InProgress:
    """Another attempt holds the message, or may; the delivery must go back to the queue.

    Acknowledged instead, the message would be lost if that attempt crashed.
    """

    attempt_id: str


@dataclass(frozen=True, slots=True)
class DifferentContent:
    """The message id was first seen with another content; `fingerprint` is that one's."""

    fingerprint: str


@dataclass(frozen=True, slots=True)
class OtherMemory:
    """Something else took the message, and it alone can tell what became of it.

    `memory` is a state machine's ARN, empty where the row does not say which; or `ledger` or
    `lease`, whichever this is not.
    """

    memory: str


Acquired = Attempt | Completed | InProgress | DifferentContent | OtherMemory


class LockLost(Exception):
    """The attempt was over before this could be written; another one decides now."""


class ProcessingLocks(Protocol):
    """What a ledger and a lease have in common.

    Invariants: at most one attempt holds a message at any time, as far as the way's own page
    promises it; `Completed` is final but for an operator's `reopen`; a row is never deleted.
    """

    @property
    def host(self) -> Host:
        """The machine that the attempts are made on."""

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str = ""
    ) -> Acquired:
        """Ask for the message.

        Args:
            message_id: in the form in which tables keep it, `stored_message_id`.
            lock_timeout: seconds after which others may take over from a holder that went silent.
            fingerprint: of the content; another one under the same id is `DifferentContent`,
                whatever state the message is in.

        Raises:
            ClientError: DynamoDB did not answer, or said no; nothing is known to be held.
        """

    def mark_message_processed(
        self, attempt: Attempt, outcome: Outcome, effect: JsonObject | None
    ) -> None:
        """Complete the message, for good.

        Raises:
            LockLost: the attempt does not hold it any more.
        """

    def release_processing_lock(self, attempt: Attempt, *, waited: float | None = None) -> None:
        """Give the message back: *nothing happened*, so that the next attempt need not look.

        Args:
            attempt: that gives it back.
            waited: seconds that it will have waited for its provider by the next attempt. Then this
                one is not counted, because it used up patience, and no round. None: it is counted.

        Raises:
            LockLost: the attempt does not hold it any more.
        """

    def give_back_unseen(self, attempt: Attempt, *, waited: float) -> None:
        """Give back what could not be looked up: the next attempt may come at once, and looks.

        Only for an attempt whose outcome was unknown from its beginning, and that did nothing.

        Args:
            attempt: that gives it back; it is not counted.
            waited: see `release_processing_lock`.

        Raises:
            LockLost: the attempt does not hold it any more.
        """

    def at_work(self, attempt: Attempt) -> AbstractContextManager[None]:
        """While this context is open the attempt is kept alive, where the way can do that."""
