"""The ledger: a row per message, taken over when it has not been updated for too long.

    new ──acquire──▶ IN_PROGRESS ──mark processed──▶ COMPLETE
                      │  ▲    │ ▲
              release │  │    │ │ takeover: `updated` is too old, and only then
                      ▼  │    ▼ │ (the outcome is unknown: look the effect up first)
                   released   silent

`updated` is the holder's wall clock, compared to the contender's. That is the weak point of every
ledger: a contender whose clock is ahead by more than `clock_skew_seconds` takes over from a holder
that is alive. A lease compares no clocks; see `actonce_core.locking.lease`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from actonce_core.locking.attempt import Attempt
from actonce_core.locking.host import Host
from actonce_core.locking.row_locks import RowLocks
from actonce_core.locking.rows import Bid
from actonce_core.memory import Row

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


class Ledger(RowLocks):
    """See `ProcessingLocks`.

    Invariant: while an attempt's work is within its time, no other begins, provided that the
    machines' clocks differ by less than `clock_skew_seconds`.

    Args:
        dynamodb: a client.
        table_name: of the table that `actonce_core.locking.rows` describes.
        straggler_seconds: how long an effect may go on after the last look at `Attempt.is_lost`;
            the end of `lock_timeout` that is not for working.
        clock_skew_seconds: how far the consumers' clocks may be apart. A crashed attempt is taken
            over that much later.
        host: the machine's clocks and ids.
    """

    WAY = "ledger"
    UNCHANGED = "attempt_id"

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        clock_skew_seconds: float,
        host: Host | None = None,
    ) -> None:
        super().__init__(dynamodb, table_name, host)
        self._straggler_seconds = straggler_seconds
        self._clock_skew = timedelta(seconds=clock_skew_seconds)

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:  # noqa: ARG002 - as a lease has it
        """Nothing to do: an attempt has its time, and no more."""
        yield

    def _own(self) -> Mapping[str, Any]:
        return {}

    def _over(self, row: Row) -> datetime | None:
        now = self.host.clock()
        return now if is_over(row, now, self._clock_skew) else None

    def _straggles_for(self, row: Row) -> float:  # noqa: ARG002 - as a lease has it
        """`lock_seconds` has it already: nobody takes over before."""
        return 0.0

    def _is_lost(self, bid: Bid, began: float) -> Callable[[], bool]:
        work_until = began + bid.lock_seconds - self._straggler_seconds
        return lambda: self.host.monotonic() >= work_until
