"""The lease: a row per message, held by at most one attempt at a time.

                               takeover: the holder was silent for too long
                                              ┌──┐
    no row ────acquire────▶ IN_PROGRESS, held ◀──┘ ───mark processed───▶ COMPLETE
                             ▲          │
                          acquire    release
                             │          ▼
                            IN_PROGRESS, free

An attempt releases the message if nothing happened. Any other end without COMPLETE leaves the row
held: the *outcome is unknown*, and the attempt that takes the message over looks the effect up
first.

The attributes of a row, and how it is written: `lease_table`.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.effect import OutcomeUnknown
from actonce_core.locking.lease_table import (
    COMPLETE,
    IN_PROGRESS,
    IN_PROGRESS_VALUE,
    IS_AS_SEEN,
    IS_FREE,
    IS_HELD,
    Attempt,
    Completed,
    ConflictingContent,
    JsonObject,
    KnownElsewhere,
    LeaseTable,
    LockLost,
    Outcome,
    Row,
    StillInProgress,
)
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# ---------------------------------------------------------------- the lease


@dataclass(frozen=True, slots=True)
class Host:
    """A machine's clocks and ids; `clock` is the wall clock, which differs between machines."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())


HEARTBEATS_PER_LEASE = 4
"""One may fail, and the holder still counts as alive to itself."""

WORKING_SHARE = 0.5
"""The holder considers itself lost after this share of a lease without a confirmed heartbeat; the
rest is for an effect that began just before."""


StartHeartbeats = Callable[[Callable[[], bool], float], Callable[[], None]]
"""Calls a function every so many seconds until it returns false; returns a function to stop it."""


def heartbeats_in_a_thread(beat: Callable[[], bool], seconds: float) -> Callable[[], None]:
    """See `StartHeartbeats`. The thread ends with the process, so a crash stops the heartbeats."""
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


class Lease:
    """Kept alive by heartbeats, and taken over once they stop; compares no clocks.

    The algorithm of the DynamoDB lock client. The holder writes a new `version` with each
    heartbeat. A contender reads the version, waits for the lease's whole duration on its own
    monotonic clock, and takes over only if the version is still the one it read:

        holder      version a ── b ── c ── (crash)
        contender         reads b, waits a lease: c, so alive ── reads c, waits a lease: c, so over

    A silent holder may have called something that is still at work. So whoever takes over waits for
    that straggler, its own heartbeats going, before it looks the effect up.
    Source: "Building Distributed Locks with the DynamoDB Lock Client", AWS Database Blog.

    Invariants: while a holder does not consider itself lost, no other attempt begins, however wrong
    the wall clocks are; `Completed` is for good. Monotonic clocks are assumed to run at the same
    speed.

    Args:
        table_name: of the table that `lease_table` describes.
        straggler_seconds: how long something that an effect calls may act after its caller's end.
        host: its wall clock is only written, never compared.
        start_heartbeats: see `StartHeartbeats`.
    """

    WAY: ClassVar = "lease"
    """The `memory` of its rows."""

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        host: Host | None = None,
        start_heartbeats: StartHeartbeats = heartbeats_in_a_thread,
    ) -> None:
        self._table = LeaseTable(dynamodb, table_name)
        self._straggler_seconds = straggler_seconds
        self.host = host or Host()
        self._start_heartbeats = start_heartbeats

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str
    ) -> Attempt | Completed:
        """Try to acquire the message; after `lock_timeout` seconds of silence others may take over.

        Raises:
            ConflictingContent, KnownElsewhere: whatever state the message is in.
            StillInProgress: another attempt may hold it.
            ClientError: DynamoDB failed; the message may or may not be held.
        """
        bid: JsonObject = {
            "memory": {"S": self.WAY},
            "fingerprint": {"S": fingerprint},
            "status": {"S": IN_PROGRESS},
            "attempt_id": {"S": self.host.new_id()},
            "lock_seconds": {"N": str(lock_timeout)},
        }
        straggler_seconds = 0.0
        began = self.host.monotonic()
        is_held, row = self._take(message_id, IS_FREE, IN_PROGRESS_VALUE, bid)
        if not is_held:
            if done := self._completed(message_id, row, fingerprint):
                return done
            self._outwait(row)
            straggler_seconds = self._straggler_seconds
            bid |= {"outcome_unknown": {"BOOL": True}}
            as_seen = {**IN_PROGRESS_VALUE, ":seen": row["version"]}
            began = self.host.monotonic()
            is_held, row = self._take(message_id, IS_AS_SEEN, as_seen, bid)
            if not is_held:
                if done := self._completed(message_id, row, fingerprint):
                    return done
                raise StillInProgress(f"message {message_id} is held by another attempt")
        return Attempt(
            message_id,
            bid["attempt_id"]["S"],
            consumption_count=int(row["consumption_count"]["N"]),
            outcome_unknown="outcome_unknown" in row,
            straggler_seconds=straggler_seconds,
            lock_seconds=lock_timeout,
            may_begin_until=began + self._working_seconds(lock_timeout),
            fence=self._table.fence(message_id, bid["attempt_id"]["S"]),
        )

    def mark_message_processed(
        self, attempt: Attempt, outcome: Outcome, effect: JsonObject | None
    ) -> None:
        """Complete the message, for good.

        Raises:
            LockLost: the attempt no longer holds it.
        """
        written = {"status": {"S": COMPLETE}, "outcome": {"S": str(outcome)}}
        if effect is not None:
            written["effect"] = {"S": json.dumps(effect, ensure_ascii=False)}
        self._write_as_holder(attempt, written, removed=("outcome_unknown",))

    def release_processing_lock(self, attempt: Attempt) -> None:
        """Give back a message with which provably nothing happened; another may begin at once.

        Raises:
            LockLost: the attempt no longer holds it.
        """
        self._write_as_holder(attempt, {}, removed=("attempt_id", "outcome_unknown"))

    def is_lost(self, attempt: Attempt) -> bool:
        """Whether others may have taken the message over: if so, the effect must not begin."""
        return self.host.monotonic() >= attempt.may_begin_until

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:
        """Heartbeats run while the context is open, and stop with it."""
        end = self._start_heartbeats(
            lambda: self._beat(attempt), attempt.lock_seconds / HEARTBEATS_PER_LEASE
        )
        try:
            yield
        finally:
            end()

    def _beat(self, attempt: Attempt) -> bool:
        """Write a new version; false once the attempt no longer holds the message."""
        written_at = self.host.monotonic()
        try:
            self._write_as_holder(attempt, {})
        except LockLost:
            attempt.may_begin_until = written_at
            return False
        except (ClientError, BotoCoreError):
            return True  # the next one may succeed; until then `may_begin_until` stays as it is
        attempt.may_begin_until = written_at + self._working_seconds(attempt.lock_seconds)
        return True

    def _outwait(self, row: Row) -> None:
        """Wait until the attempt that holds the row can no longer act, if the row is unchanged."""
        over_at = self.host.monotonic() + float(row["lock_seconds"]["N"])
        while (left := over_at - self.host.monotonic()) > 0:
            self.host.sleep(left)

    def _working_seconds(self, lock_seconds: float) -> float:
        """How long after the last sign of life the effect may still begin."""
        return lock_seconds * WORKING_SHARE

    def _completed(self, message_id: str, row: Row, fingerprint: str) -> Completed | None:
        """What a row says that could not be taken; None: another attempt may hold the message."""
        if row["fingerprint"]["S"] != fingerprint:
            raise ConflictingContent(message_id, row["fingerprint"]["S"])
        memory = row.get("memory", {}).get("S", "")
        if memory != self.WAY:
            raise KnownElsewhere(message_id, memory)
        if row["status"]["S"] != COMPLETE:
            return None
        effect = row.get("effect", {}).get("S")
        return Completed(Outcome(row["outcome"]["S"]), json.loads(effect) if effect else None)

    def _take(
        self,
        message_id: str,
        condition: str,
        values: Mapping[str, Any],
        bid: Mapping[str, Any],
    ) -> tuple[bool, Row]:
        written = {**bid, **self._sign_of_life()}
        is_taken, row = self._table.write(
            message_id, condition, values, written, counted="consumption_count"
        )
        # When the SDK repeats a write whose answer was lost, our own row fails the condition.
        return is_taken or row.get("attempt_id") == bid["attempt_id"], row

    def _write_as_holder(
        self,
        attempt: Attempt,
        written: Mapping[str, Any],
        *,
        removed: tuple[str, ...] = (),
    ) -> None:
        own = {"S": attempt.attempt_id}
        is_written, row = self._table.write(
            attempt.message_id,
            IS_HELD,
            {**IN_PROGRESS_VALUE, ":held_by": own},
            {**written, **self._sign_of_life()},
            removed=removed,
        )
        # The same, after this attempt has completed the message.
        is_ours = row.get("attempt_id") == own and written.get("status") == row.get("status")
        if not is_written and not is_ours:
            raise LockLost(f"attempt {attempt.attempt_id} of message {attempt.message_id} is over")

    def _sign_of_life(self) -> JsonObject:
        at = timestamp(self.host.clock())
        return {"version": {"S": self.host.new_id()}, "updated": {"S": at}}


# ---------------------------------------------------------------- acting once


def act_once(
    lease: Lease,
    attempt: Attempt,
    perform: Callable[[Attempt], JsonObject],
    find: Callable[[], JsonObject | None] | None,
) -> JsonObject:
    """Perform the step unless an earlier attempt did, and complete the message.

    Invariant: `perform` is called only while the attempt holds the message, and after an unknown
    outcome only if `find` says that nothing happened. Whatever this raises, the attempt keeps the
    message until its time is over, or until the caller releases it, which is right only after
    `NotPerformed` or `Rejected`.

    Args:
        lease: that the attempt was acquired from.
        attempt: the holder.
        perform: the step; returns a description of the effect, as this does.
        find: looks up what was done for the message; None if that is impossible.

    Raises:
        OutcomeUnknown: an earlier attempt may have performed the step, and there is no `find`.
        LockLost: others may have taken over; if the step was performed, they find it.
        Exception: what `perform` or `find` raised.
    """
    effect, outcome = None, Outcome.FOUND
    with lease.at_work(attempt):
        if attempt.outcome_unknown:
            if find is None:
                raise OutcomeUnknown("an attempt ended without a word, and there is no find")
            if attempt.straggler_seconds:
                lease.host.sleep(attempt.straggler_seconds)
            effect = find()
        if effect is None:
            if lease.is_lost(attempt):
                raise LockLost("the attempt's time was over before the step began")
            effect, outcome = perform(attempt), Outcome.PERFORMED
    lease.mark_message_processed(attempt, outcome, effect)
    return effect
