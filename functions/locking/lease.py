"""The lease: a row per message, kept alive by heartbeats; no clock of another machine is compared.

The algorithm of the DynamoDB lock client. The holder writes a new `version` with each heartbeat. A
contender reads the version, waits for the lease's whole duration on its own monotonic clock, and
takes over only if the version is still the one it read:

    holder      version a ── b ── c ── (crash)
    contender         reads b, waits a lease: c, so alive ── reads c, waits a lease: c, so over

A lock remembers nothing once it is released, so the row also carries COMPLETE, as in the ledger.
Source: "Building Distributed Locks with the DynamoDB Lock Client", AWS Database Blog.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from locking.attempt import Acquired, Attempt, InProgress, JsonObject, LockLost, Outcome
from locking.host import Host
from locking.rows import Bid, ProcessingTable, Row, told

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HEARTBEATS_PER_LEASE = 4
"""One may fail, and the holder still counts as alive to itself."""

WORKING_SHARE = 0.5
"""The holder counts itself lost when it has not been confirmed for this share of a lease; the rest
is for an effect that was begun just before."""

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

    confirmed_at: float
    lost: bool = False


class Lease:
    """See `ProcessingLocks`.

    Invariant: while an attempt is not lost to itself, no other begins, however wrong the wall
    clocks are; that monotonic clocks run at the same speed is assumed.

    Args:
        dynamodb: a client.
        table_name: of the table that `locking.rows` describes.
        owner: who holds it, for people; no decision rests on it.
        host: the machine's clocks and ids; its wall clock is written down, and never read.
        start_heartbeats: see `StartHeartbeats`.
    """

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        owner: str | None = None,
        host: Host | None = None,
        start_heartbeats: StartHeartbeats = heartbeats_in_a_thread,
    ) -> None:
        self._table = ProcessingTable(dynamodb, table_name)
        self._owner = owner or f"{socket.gethostname()}:{os.getpid()}"
        self.host = host or Host()
        self._start_heartbeats = start_heartbeats
        self._held: dict[str, tuple[_Holding, float]] = {}

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str = ""
    ) -> Acquired:
        """See `ProcessingLocks`; waits up to a lease if somebody else holds the message."""
        bid = Bid(message_id, fingerprint, self.host.new_id(), lock_timeout, self._version())
        began = self.host.monotonic()
        taken = self._table.claim(bid, self.host.clock())
        outcome_unknown = False
        if not isinstance(taken, int):
            row = told(taken, fingerprint)
            if not isinstance(row, InProgress):
                return row
            self._wait_a_lease(taken)
            outcome_unknown = True
            began = self.host.monotonic()
            taken = self._table.take_over(bid, self.host.clock(), taken, "version")
        if not isinstance(taken, int):
            return told(taken, fingerprint)
        holding = _Holding(began)
        self._held[bid.attempt_id] = (holding, lock_timeout)
        return Attempt(
            message_id,
            bid.attempt_id,
            taken,
            outcome_unknown,
            lambda: self._is_lost(holding, lock_timeout),
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
    def at_work(self, attempt: Attempt) -> Iterator[None]:
        """Heartbeats while the context is open, and none after it."""
        holding, lock_timeout = self._held.pop(attempt.attempt_id)
        end = self._start_heartbeats(
            lambda: self._beat(attempt, holding), lock_timeout / HEARTBEATS_PER_LEASE
        )
        try:
            yield
        finally:
            end()

    def _beat(self, attempt: Attempt, holding: _Holding) -> bool:
        """Write a new version; false if there is nothing to keep alive any more."""
        asked_at = self.host.monotonic()
        try:
            self._table.refresh(attempt, self._version(), self.host.clock())
        except LockLost:
            holding.lost = True
            return False
        except (ClientError, BotoCoreError):
            return True  # the next one may be heard; until then the time since the last one counts
        holding.confirmed_at = asked_at
        return True

    def _is_lost(self, holding: _Holding, lock_timeout: float) -> bool:
        unconfirmed_for = self.host.monotonic() - holding.confirmed_at
        return holding.lost or unconfirmed_for >= lock_timeout * WORKING_SHARE

    def _wait_a_lease(self, seen: Row) -> None:
        over_at = self.host.monotonic() + float(seen["lock_seconds"]["N"])
        while (left := over_at - self.host.monotonic()) > 0:
            self.host.sleep(left)

    def _version(self) -> dict[str, Any]:
        return {"version": {"S": self.host.new_id()}, "owner": {"S": self._owner}}
