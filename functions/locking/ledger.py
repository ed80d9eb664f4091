"""The ledger: a row per message, taken over when it has not been updated for too long.

    new ──acquire──▶ IN_PROGRESS ──mark processed──▶ COMPLETE
                      │  ▲    │ ▲
              release │  │    │ │ takeover: `updated` is too old, and only then
                      ▼  │    ▼ │ (the outcome is unknown: look the effect up first)
                   released   silent

`updated` is the holder's wall clock, compared to the contender's. That is the weak point of every
ledger: a contender whose clock is ahead by more than `clock_skew_seconds` takes over from a holder
that is alive. A lease compares no clocks; see `locking.lease`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from locking.attempt import Acquired, Attempt, InProgress, JsonObject, Outcome
from locking.host import Host
from locking.rows import Bid, ProcessingTable, Row, told

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def is_over(row: Row, now: datetime, clock_skew: timedelta) -> bool:
    """Whether the attempt that holds the row can be at work no more.

    Args:
        row: in progress.
        now: by the contender's clock.
        clock_skew: how far two machines' clocks may be apart.
    """
    updated = datetime.fromisoformat(row["updated"]["S"])
    silent_for = timedelta(seconds=float(row["lock_seconds"]["N"])) + clock_skew
    return now - updated > silent_for


class Ledger:
    """See `ProcessingLocks`.

    Invariant: while an attempt's work is within its time, no other begins, provided that the
    machines' clocks differ by less than `clock_skew_seconds`.

    Args:
        dynamodb: a client.
        table_name: of the table that `locking.rows` describes.
        straggler_seconds: how long an effect may go on after the last look at `Attempt.is_lost`;
            the end of `lock_timeout` that is not for working.
        clock_skew_seconds: how far the consumers' clocks may be apart. A crashed attempt is taken
            over that much later.
        host: the machine's clocks and ids.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        clock_skew_seconds: float,
        host: Host | None = None,
    ) -> None:
        self._table = ProcessingTable(dynamodb, table_name)
        self._straggler_seconds = straggler_seconds
        self._clock_skew = timedelta(seconds=clock_skew_seconds)
        self.host = host or Host()

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str = ""
    ) -> Acquired:
        """See `ProcessingLocks`."""
        bid = Bid(message_id, fingerprint, self.host.new_id(), lock_timeout, {})
        began = self.host.monotonic()
        taken = self._table.claim(bid, self.host.clock())
        outcome_unknown = False
        if not isinstance(taken, int):
            row = told(taken, fingerprint)
            now = self.host.clock()
            if not isinstance(row, InProgress) or not is_over(taken, now, self._clock_skew):
                return row
            outcome_unknown = True
            began = self.host.monotonic()
            taken = self._table.take_over(bid, now, taken, "attempt_id")
        if not isinstance(taken, int):
            return told(taken, fingerprint)
        work_until = began + lock_timeout - self._straggler_seconds
        return Attempt(
            message_id,
            bid.attempt_id,
            taken,
            outcome_unknown,
            lambda: self.host.monotonic() >= work_until,
            self._table.fence(message_id, bid.attempt_id),
        )

    def mark_message_processed(
        self, attempt: Attempt, outcome: Outcome, effect: JsonObject | None
    ) -> None:
        """See `ProcessingLocks`."""
        self._table.complete(attempt, outcome, effect, self.host.clock())

    def release_processing_lock(self, attempt: Attempt) -> None:
        """See `ProcessingLocks`."""
        self._table.release(attempt, self.host.clock())

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:  # noqa: ARG002 - as a lease has it
        """Nothing to do: an attempt has its time, and no more."""
        yield
