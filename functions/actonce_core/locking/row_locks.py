"""How ledger and lease take a message; they differ in when an attempt is over, and who knows it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from actonce_core.locking.attempt import Acquired, Attempt, InProgress, JsonObject, Outcome
from actonce_core.locking.host import Host
from actonce_core.locking.rows import Bid, ProcessingTable, Taken, told
from actonce_core.memory import Row

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class RowLocks(ABC):
    """The part of `ProcessingLocks` that ledger and lease share.

    Invariant: a message is taken over only if its row is still the one by which its attempt was
    found to be over.

    Args:
        dynamodb: a client.
        table_name: of the table that `actonce_core.locking.rows` describes.
        host: the machine's clocks and ids.
    """

    WAY: ClassVar[str]
    """`ledger` or `lease`."""

    UNCHANGED: ClassVar[str]
    """The attribute by which a row is still the one that was seen; see `take_over`."""

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str, host: Host | None) -> None:
        self._table = ProcessingTable(dynamodb, table_name)
        self.host = host or Host()

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str = ""
    ) -> Acquired:
        """See `ProcessingLocks`."""
        bid = Bid(self.WAY, message_id, fingerprint, self.host.new_id(), lock_timeout, self._own())
        began = self.host.monotonic()
        taken = self._table.claim(bid, self.host.clock())
        outcome_unknown, straggler_seconds = False, 0.0
        if not isinstance(taken, Taken):
            row = told(taken, fingerprint, self.WAY)
            over = self._over(taken) if isinstance(row, InProgress) else None
            if over is None:
                return row
            outcome_unknown, straggler_seconds = True, self._straggles_for(taken)
            began = self.host.monotonic()
            taken = self._table.take_over(bid, over, taken, self.UNCHANGED)
        if not isinstance(taken, Taken):
            return told(taken, fingerprint, self.WAY)
        return Attempt(
            message_id,
            bid.attempt_id,
            taken.consumption_count,
            outcome_unknown,
            self._is_lost(bid, began),
            self._table.fence(message_id, bid.attempt_id),
            straggler_seconds,
            taken.waited,
        )

    def mark_message_processed(
        self, attempt: Attempt, outcome: Outcome, effect: JsonObject | None
    ) -> None:
        """See `ProcessingLocks`."""
        self._table.complete(attempt, outcome, effect, self.host.clock())

    def release_processing_lock(self, attempt: Attempt, *, waited: float | None = None) -> None:
        """See `ProcessingLocks`."""
        self._table.release(attempt, self.host.clock(), waited)

    def give_back_unseen(self, attempt: Attempt, *, waited: float) -> None:
        """See `ProcessingLocks`."""
        self._table.give_back_unseen(attempt, waited)

    @abstractmethod
    def at_work(self, attempt: Attempt) -> AbstractContextManager[None]:
        """See `ProcessingLocks`."""

    @abstractmethod
    def _own(self) -> Mapping[str, Any]:
        """What this way adds to a row; see `Bid`."""

    @abstractmethod
    def _over(self, row: Row) -> datetime | None:
        """The wall clock's time if the attempt that holds the row is over, None if it may be not.

        If it is not over, another contender, or the holder, changes the row before it is taken.
        """

    @abstractmethod
    def _straggles_for(self, row: Row) -> float:
        """See `Attempt.straggler_seconds`; of the attempt that held the row, and is over."""

    @abstractmethod
    def _is_lost(self, bid: Bid, began: float) -> Callable[[], bool]:
        """`Attempt.is_lost` of an attempt that asked for its message at `began`, monotonic."""
