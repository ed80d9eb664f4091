"""The lease: a row per message, kept alive by heartbeats; no clock of another machine is compared.

The algorithm of the DynamoDB lock client. The holder writes a new `version` with each heartbeat. A
contender reads the version, waits for the lease's whole duration on its own monotonic clock, and
takes over only if the version is still the one it read:

    holder      version a ── b ── c ── (crash)
    contender         reads b, waits a lease: c, so alive ── reads c, waits a lease: c, so over

Silent is the holder, and not what it has called: that may act for a margin after its caller's end.
So the one that takes over holds the message for the margin, alive, before it looks the effect up.

A lock remembers nothing once it is released, so the row also carries COMPLETE, as in the ledger.
Source: "Building Distributed Locks with the DynamoDB Lock Client", AWS Database Blog.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.locking.attempt import Attempt, LockLost
from actonce_core.locking.host import Host
from actonce_core.locking.row_locks import RowLocks
from actonce_core.locking.rows import Bid
from actonce_core.memory import Row

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HEARTBEATS_PER_LEASE = 4
"""One may fail, and the holder still counts as alive to itself."""

WORKING_SHARE = 0.5
"""The holder counts itself lost when it has not been confirmed for this share of a lease; the rest
is for an effect that was begun just before."""


def seconds_for_a_takeover(lease_seconds: float, straggler_seconds: float) -> float:
    """What a consumer needs to take a message over, look it up and begin: it must live as long."""
    return lease_seconds + straggler_seconds + lease_seconds * WORKING_SHARE


StartHeartbeats = Callable[[Callable[[], bool], float], Callable[[], None]]
"""Calls a function every so many seconds until it says false; returns what ends that at once."""


def heartbeats_in_a_thread(beat: Callable[[], bool], seconds: float) -> Callable[[], None]:
    """See `StartHeartbeats`. The thread ends with the process, so a crash is silent at once."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds) and beat():
            pass

    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join()

    return end


@dataclass(slots=True)
class _Holding:
    """What the holder knows of its own lease: when it was last confirmed, on its own clock."""

    lease_seconds: float
    confirmed_at: float
    lost: bool = False


class Lease(RowLocks):
    """See `ProcessingLocks`; a message that somebody else holds is waited for up to a lease.

    Invariant: while an attempt is not lost to itself, no other begins, however wrong the wall
    clocks are; that monotonic clocks run at the same speed is assumed.

    Args:
        dynamodb: a client.
        table_name: of the table that `actonce_core.locking.rows` describes.
        straggler_seconds: how long what an effect calls may act after its caller's end. A takeover
            takes that much longer than a lease.
        owner: who holds it, for people; no decision rests on it.
        host: the machine's clocks and ids; its wall clock is written down, and never read.
        start_heartbeats: see `StartHeartbeats`.
    """

    WAY = "lease"
    UNCHANGED = "version"

    def __init__(  # noqa: PLR0913 - all but the first two have names
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        owner: str | None = None,
        host: Host | None = None,
        start_heartbeats: StartHeartbeats = heartbeats_in_a_thread,
    ) -> None:
        super().__init__(dynamodb, table_name, host)
        self._straggler_seconds = straggler_seconds
        self._owner = owner or f"{socket.gethostname()}:{os.getpid()}"
        self._start_heartbeats = start_heartbeats
        self._held: dict[str, _Holding] = {}

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:
        """Heartbeats while the context is open, and none after it."""
        holding = self._held.pop(attempt.attempt_id)
        end = self._start_heartbeats(
            lambda: self._beat(attempt, holding), holding.lease_seconds / HEARTBEATS_PER_LEASE
        )
        try:
            yield
        finally:
            end()

    def _beat(self, attempt: Attempt, holding: _Holding) -> bool:
        """Write a new version; false if there is nothing to keep alive any more."""
        asked_at = self.host.monotonic()
        try:
            self._table.refresh(attempt, self._own(), self.host.clock())
        except LockLost:
            holding.lost = True
            return False
        except (ClientError, BotoCoreError):
            return True  # the next one may be heard; until then the time since the last one counts
        holding.confirmed_at = asked_at
        return True

    def _own(self) -> Mapping[str, Any]:
        return {"version": {"S": self.host.new_id()}, "owner": {"S": self._owner}}

    def _over(self, row: Row) -> datetime:
        """Waits a lease; an attempt that is alive has written another version by then."""
        over_at = self.host.monotonic() + float(row["lock_seconds"]["N"])
        while (left := over_at - self.host.monotonic()) > 0:
            self.host.sleep(left)
        return self.host.clock()

    def _straggles_for(self, row: Row) -> float:
        # Who gave it back, as an operator who has a dead letter tried again, says that nobody is at
        # work.
        return self._straggler_seconds if float(row["lock_seconds"]["N"]) else 0.0

    def _is_lost(self, bid: Bid, began: float) -> Callable[[], bool]:
        holding = self._held[bid.attempt_id] = _Holding(bid.lock_seconds, began)

        def is_lost() -> bool:
            unconfirmed_for = self.host.monotonic() - holding.confirmed_at
            return holding.lost or unconfirmed_for >= holding.lease_seconds * WORKING_SHARE

        return is_lost
