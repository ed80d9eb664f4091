"""The ledger and the lease: a row per message, which one attempt at a time may hold.

                               takeover: the holder was silent for too long
                                              ┌──┐
    no row ────acquire────▶ IN_PROGRESS, held ◀──┘ ───mark processed───▶ COMPLETE
                             ▲          │                                   │
                          acquire    release            a dead letter is decided: try again
                             │          ▼                                   │
                            IN_PROGRESS, free ◀─────────────────────────────┘

An attempt releases the message if nothing happened, or if nobody could look. Any other end without
COMPLETE leaves the row held: the *outcome is unknown*, and who takes the message over looks first.

    message_id         the key
    memory             `ledger` or `lease`, whichever wrote the row; what another memory wrote, such
                       as a starter's, is never touched
    fingerprint        SHA-256 of the content that the id was first seen with
    status             IN_PROGRESS or COMPLETE
    attempt_id         who holds it, or completed it; absent: free
    version            new with every sign of life, so that a takeover is of the row that was seen
    outcome_unknown    true: an attempt ended without a word, and nobody has looked since
    lock_seconds       how long the holder may be silent, as the holder said it
    consumption_count  attempts that have begun
    given_back         how many of them released the message
    updated            when the row was last written, UTC, by the writer's clock
    outcome, effect    once COMPLETE; the effect until the message is erased
    note               an operator's reason for a decision; likewise

Every write is conditional, and nothing is read: the row by which a condition failed comes with the
failure (`ReturnValuesOnConditionCheckFailure`), and is never stale. Rows are never deleted.
"""

import json
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.effect import OutcomeUnknown
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

JsonObject = dict[str, Any]

Row = Mapping[str, Any]
"""A row as DynamoDB gives it: `{attribute: {type: value}}`."""

IN_PROGRESS = "IN_PROGRESS"
COMPLETE = "COMPLETE"


# ---------------------------------------------------------------- what a consumer gets


class Outcome(StrEnum):
    """How a message's row was completed."""

    PERFORMED = "performed"
    FOUND = "found"
    """An earlier attempt had performed it and could not say so."""
    DEAD_LETTER = "dead_letter"
    """It waits in DeadLetterQueue for a decision."""
    RESOLVED = "resolved"
    REJECTED = "rejected"


@dataclass(slots=True)
class Attempt:
    """This consumer may act on the message, and no other may until the attempt is over.

    Attributes:
        message_id: the producer's.
        attempt_id: new for every attempt; what is written afterwards is conditional on it.
        consumption_count: attempts so far, this one included.
        given_back: how many of those before it released the message.
        outcome_unknown: an earlier attempt ended without a word, so the effect may have happened:
            look it up before it is performed.
        straggler_seconds: how long what an earlier attempt called may still act. To be waited,
            while this attempt is kept alive, before the effect is looked up.
        lock_seconds: of silence after which others may take the message over.
        may_begin_until: by the holder's own monotonic clock; see `ProcessingLocks.is_lost`.
        fence: a `ConditionCheck` for DynamoDB's TransactWriteItems; a write in one transaction with
            it happens only while the attempt holds.
    """

    message_id: str
    attempt_id: str
    consumption_count: int
    given_back: int
    outcome_unknown: bool
    straggler_seconds: float
    lock_seconds: float
    may_begin_until: float
    fence: JsonObject = field(compare=False)

    @property
    def rounds(self) -> int:
        """Attempts that did not release the message, this one included."""
        return self.consumption_count - self.given_back


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


@dataclass(frozen=True, slots=True)
class DifferentContent:
    """The message id was first seen with another content; `fingerprint` is that one's."""

    fingerprint: str


@dataclass(frozen=True, slots=True)
class OtherMemory:
    """Something else took the message, and it alone can tell what became of it.

    `memory`: a state machine's ARN, or `ledger` or `lease`, whichever this is not.
    """

    memory: str


Acquired = Attempt | Completed | InProgress | DifferentContent | OtherMemory


class LockLost(Exception):
    """The attempt was over before this could be done; another one decides now."""


class StillInProgress(Exception):
    """Another attempt holds the message. The delivery must go back to the queue."""


# ---------------------------------------------------------------- the table

# `status` is a reserved word in DynamoDB. `:memory` and `:fingerprint` are the contender's own.
IS_FREE = (
    "attribute_not_exists(message_id) OR (memory = :memory AND fingerprint = :fingerprint "
    "AND #status = :in_progress AND attribute_not_exists(attempt_id))"
)
IS_AS_SEEN = "#status = :in_progress AND version = :seen"
IS_HELD = "#status = :in_progress AND attempt_id = :held_by"
IS_DEAD_LETTER = "#status = :complete AND outcome = :dead_letter AND attempt_id = :posted_by"

_IN_PROGRESS = {":in_progress": {"S": IN_PROGRESS}}


class ProcessingTable:
    """The table's edge.

    Invariant: `attempt_id` changes with every claim and takeover, so a write that is conditional on
    it is its holder's, and a decision that is conditional on it is of that attempt's dead letter.
    """

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def write(  # noqa: PLR0913 - a conditional write has this many parts
        self,
        message_id: str,
        condition: str,
        values: Mapping[str, Any],
        written: Mapping[str, Any],
        *,
        removed: tuple[str, ...] = (),
        counted: str = "",
    ) -> tuple[bool, Row]:
        """One conditional UpdateItem.

        Args:
            message_id: the producer's.
            condition: may speak of `#status`, and by `:name` of what is written.
            values: the others that it speaks of.
            written: attributes, in DynamoDB's form.
            removed: names of attributes.
            counted: name of a number that becomes one more.

        Returns:
            Whether it was written; and the row, as it is afterwards or as it stands in the way.
        """
        update = f"SET {', '.join(f'#{name} = :{name}' for name in written)}"
        update += f" REMOVE {', '.join(removed)}" if removed else ""
        update += f" ADD {counted} :one" if counted else ""
        filled = {**{f":{name}": value for name, value in written.items()}, **values}
        filled |= {":one": {"N": "1"}} if counted else {}
        try:
            answer = self._dynamodb.update_item(
                TableName=self._table_name,
                Key={"message_id": {"S": message_id}},
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeNames={"#status": "status", **{f"#{n}": n for n in written}},
                ExpressionAttributeValues=filled,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            in_the_way: Row = error.response.get("Item", {})  # type: ignore[assignment]
            return False, in_the_way
        return True, answer["Attributes"]

    def decide(  # noqa: PLR0913 - as `write`
        self,
        message_id: str,
        attempt_id: str,
        outcome: Outcome | None,
        now: datetime,
        note: str = "",
        *,
        nothing_happened: bool = False,
    ) -> bool:
        """Write down what an operator decided about a dead letter.

        Args:
            message_id: the producer's.
            attempt_id: of the attempt that posted the letter; a later one's is another decision.
            outcome: RESOLVED or REJECTED; None: try again, and look first.
            now: for `updated`.
            note: the operator's reason; it stays in the row.
            nothing_happened: with no outcome: that is proven, or the operator's word, so the next
                attempt performs without a look.

        Returns:
            False if that letter waits for no decision any more; nothing was changed.
        """
        written: dict[str, Any] = {"updated": {"S": timestamp(now)}}
        removed: tuple[str, ...] = ()
        if outcome is None:
            written |= {"status": {"S": IN_PROGRESS}, "consumption_count": {"N": "0"}}
            written |= {} if nothing_happened else {"outcome_unknown": {"BOOL": True}}
            removed = ("attempt_id", "outcome", "effect", "given_back")
        else:
            written |= {"outcome": {"S": str(outcome)}}
        written |= {"note": {"S": note}} if note else {}
        values = {
            ":complete": {"S": COMPLETE},
            ":dead_letter": {"S": str(Outcome.DEAD_LETTER)},
            ":posted_by": {"S": attempt_id},
        }
        decided, _ = self.write(message_id, IS_DEAD_LETTER, values, written, removed=removed)
        return decided

    def fence(self, message_id: str, attempt_id: str) -> JsonObject:
        """See `Attempt.fence`."""
        return {
            "ConditionCheck": {
                "TableName": self._table_name,
                "Key": {"message_id": {"S": message_id}},
                "ConditionExpression": IS_HELD,
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {**_IN_PROGRESS, ":held_by": {"S": attempt_id}},
            }
        }


# ---------------------------------------------------------------- what ledger and lease share


@dataclass(frozen=True, slots=True)
class Host:
    """A machine's clocks and ids.

    Attributes:
        clock: the wall clock, which differs from machine to machine.
        monotonic: seconds, for durations on this machine.
        sleep: waits so many seconds.
        new_id: an id that nobody else has.
    """

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())


class ProcessingLocks(ABC):
    """A ledger or a lease. They differ in when an attempt is over, and how the holder knows it.

    Invariants: at most one attempt holds a message at any time, as far as the way's own page
    promises it; `Completed` is final but for an operator's decision to try again.
    """

    WAY: ClassVar[str]
    """`ledger` or `lease`, as rows name their memory."""

    def __init__(
        self, dynamodb: "DynamoDBClient", table_name: str, takeover_waits: float, host: Host | None
    ) -> None:
        self._table = ProcessingTable(dynamodb, table_name)
        self._takeover_waits = takeover_waits  # see `Attempt.straggler_seconds`
        self.host = host or Host()

    def acquire_processing_lock(
        self, message_id: str, lock_timeout: float, *, fingerprint: str = ""
    ) -> Acquired:
        """Ask for the message.

        Args:
            message_id: the producer's.
            lock_timeout: seconds after which others may take over from a holder that went silent.
            fingerprint: of the content; another one under the same id is `DifferentContent`,
                whatever state the message is in.

        Raises:
            ClientError: DynamoDB did not answer, or said no; nothing is known to be held.
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
        is_held, row = self._take(message_id, IS_FREE, _IN_PROGRESS, bid)
        if not is_held and isinstance(self._told(row, fingerprint), InProgress):
            if not self._is_over(row):
                return InProgress()
            straggler_seconds = self._takeover_waits
            bid |= {"outcome_unknown": {"BOOL": True}}
            as_seen = {**_IN_PROGRESS, ":seen": row["version"]}
            began = self.host.monotonic()
            is_held, row = self._take(message_id, IS_AS_SEEN, as_seen, bid)
        if not is_held:
            return self._told(row, fingerprint)
        return Attempt(
            message_id,
            bid["attempt_id"]["S"],
            consumption_count=int(row["consumption_count"]["N"]),
            given_back=int(row["given_back"]["N"]) if "given_back" in row else 0,
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
            LockLost: the attempt does not hold it any more.
        """
        written = {"status": {"S": COMPLETE}, "outcome": {"S": str(outcome)}}
        if effect is not None:
            written["effect"] = {"S": json.dumps(effect, ensure_ascii=False)}
        self._write_as_holder(attempt, written, removed=("outcome_unknown",))

    def release_processing_lock(self, attempt: Attempt, *, nothing_happened: bool = True) -> None:
        """Give the message back; the next attempt may come at once.

        Args:
            attempt: that holds it.
            nothing_happened: provably, so that the next one need not look. False: only for an
                attempt whose outcome was unknown from its beginning, and that did nothing.

        Raises:
            LockLost: the attempt does not hold it any more.
        """
        removed = ("attempt_id", "outcome_unknown") if nothing_happened else ("attempt_id",)
        self._write_as_holder(attempt, {}, removed=removed, counted="given_back")

    def is_lost(self, attempt: Attempt) -> bool:
        """Whether others may have taken the message over by now.

        To be asked right before the effect: after it says true, nothing may be done any more.
        """
        return self.host.monotonic() >= attempt.may_begin_until

    def at_work(self, attempt: Attempt) -> AbstractContextManager[None]:  # noqa: ARG002 - a lease's
        """While this context is open the attempt is kept alive, where the way can do that."""
        return nullcontext()

    @abstractmethod
    def _is_over(self, row: Row) -> bool:
        """Whether the attempt that holds the row can be at work no more, if the row stays so."""

    @abstractmethod
    def _working_seconds(self, lock_seconds: float) -> float:
        """For how long after the last sign of life the effect may still be begun."""

    def _told(
        self, row: Row, fingerprint: str
    ) -> Completed | DifferentContent | InProgress | OtherMemory:
        """What a row that could not be taken says.

        The content is compared first: a conflict is one also after the message is done.
        """
        if row["fingerprint"]["S"] != fingerprint:
            return DifferentContent(row["fingerprint"]["S"])
        memory = row.get("memory", {}).get("S", "")
        if memory != self.WAY:
            return OtherMemory(memory)
        if row["status"]["S"] == COMPLETE:
            effect = row.get("effect", {}).get("S")
            return Completed(Outcome(row["outcome"]["S"]), json.loads(effect) if effect else None)
        return InProgress()

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
        # The SDK repeats a write whose answer was lost; then our own row stands in the way.
        return is_taken or row.get("attempt_id") == bid["attempt_id"], row

    def _write_as_holder(
        self,
        attempt: Attempt,
        written: Mapping[str, Any],
        *,
        removed: tuple[str, ...] = (),
        counted: str = "",
    ) -> None:
        own = {"S": attempt.attempt_id}
        is_written, row = self._table.write(
            attempt.message_id,
            IS_HELD,
            {**_IN_PROGRESS, ":held_by": own},
            {**written, **self._sign_of_life()},
            removed=removed,
            counted=counted,
        )
        # Likewise, where it has completed the message.
        is_ours = row.get("attempt_id") == own and written.get("status") == row.get("status")
        if not is_written and not is_ours:
            raise LockLost(f"attempt {attempt.attempt_id} of message {attempt.message_id} is over")

    def _sign_of_life(self) -> JsonObject:
        at = timestamp(self.host.clock())
        return {"version": {"S": self.host.new_id()}, "updated": {"S": at}}


# ---------------------------------------------------------------- the ledger


class Ledger(ProcessingLocks):
    """Taken over when the row has not been updated for too long.

    `updated` is the holder's wall clock, compared to the contender's. That is the weak point of
    every ledger: a contender whose clock is ahead by more than `clock_skew_seconds` takes over from
    a holder that is alive. A lease compares no clocks.

    Invariant: while an attempt's work is within its time, no other begins, provided that the
    machines' clocks differ by less than `clock_skew_seconds`.

    Args:
        dynamodb: a client.
        table_name: of the table that this module describes.
        straggler_seconds: how long an effect may go on after the last look at `is_lost`; the end of
            `lock_timeout` that is not for working.
        clock_skew_seconds: how far the consumers' clocks may be apart. A crashed attempt is taken
            over that much later.
        host: the machine's clocks and ids.
    """

    WAY = "ledger"

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        clock_skew_seconds: float,
        host: Host | None = None,
    ) -> None:
        super().__init__(dynamodb, table_name, 0.0, host)
        self._straggler_seconds = straggler_seconds
        self._clock_skew = timedelta(seconds=clock_skew_seconds)

    def _is_over(self, row: Row) -> bool:
        updated = datetime.fromisoformat(row["updated"]["S"])
        silent_for = timedelta(seconds=float(row["lock_seconds"]["N"])) + self._clock_skew
        return self.host.clock() - updated > silent_for

    def _working_seconds(self, lock_seconds: float) -> float:
        return lock_seconds - self._straggler_seconds


# ---------------------------------------------------------------- the lease

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


class Lease(ProcessingLocks):
    """Kept alive by heartbeats, and taken over from whoever is not; compares no clocks.

    The algorithm of the DynamoDB lock client. The holder writes a new `version` with each
    heartbeat. A contender reads the version, waits for the lease's whole duration on its own
    monotonic clock, and takes over only if the version is still the one it read:

        holder      version a ── b ── c ── (crash)
        contender         reads b, waits a lease: c, so alive ── reads c, waits a lease: c, so over

    Silent is the holder, and not what it has called: so who takes over waits for the straggler,
    alive, before it looks the effect up.
    Source: "Building Distributed Locks with the DynamoDB Lock Client", AWS Database Blog.

    Invariant: while an attempt is not lost to itself, no other begins, however wrong the wall
    clocks are; that monotonic clocks run at the same speed is assumed.

    Args:
        dynamodb: a client.
        table_name: of the table that this module describes.
        straggler_seconds: how long what an effect calls may act after its caller's end.
        host: its wall clock is written down, and never read.
        start_heartbeats: see `StartHeartbeats`.
    """

    WAY = "lease"

    def __init__(
        self,
        dynamodb: "DynamoDBClient",
        table_name: str,
        *,
        straggler_seconds: float,
        host: Host | None = None,
        start_heartbeats: StartHeartbeats = heartbeats_in_a_thread,
    ) -> None:
        super().__init__(dynamodb, table_name, straggler_seconds, host)
        self._start_heartbeats = start_heartbeats

    @contextmanager
    def at_work(self, attempt: Attempt) -> Iterator[None]:
        """Heartbeats while the context is open, and none after it."""
        end = self._start_heartbeats(
            lambda: self._beat(attempt), attempt.lock_seconds / HEARTBEATS_PER_LEASE
        )
        try:
            yield
        finally:
            end()

    def _beat(self, attempt: Attempt) -> bool:
        """Write a new version; false if there is nothing to keep alive any more."""
        asked_at = self.host.monotonic()
        try:
            self._write_as_holder(attempt, {})
        except LockLost:
            attempt.may_begin_until = asked_at
            return False
        except (ClientError, BotoCoreError):
            return True  # the next one may be heard; until then the time since the last one counts
        attempt.may_begin_until = asked_at + self._working_seconds(attempt.lock_seconds)
        return True

    def _is_over(self, row: Row) -> bool:
        """Waits a lease; an attempt that is alive has written another version by then."""
        over_at = self.host.monotonic() + float(row["lock_seconds"]["N"])
        while (left := over_at - self.host.monotonic()) > 0:
            self.host.sleep(left)
        return True

    def _working_seconds(self, lock_seconds: float) -> float:
        return lock_seconds * WORKING_SHARE


# ---------------------------------------------------------------- acting once


def act_once(
    locks: ProcessingLocks,
    attempt: Attempt,
    perform: Callable[[Attempt], JsonObject],
    find: Callable[[], JsonObject | None] | None,
) -> JsonObject:
    """Perform the step in this attempt, unless an earlier one did, and write that down.

    Invariant: `perform` is called only while the attempt holds the message, and after an attempt
    that ended without a word only if `find` said that nothing happened. Whatever this raises
    leaves the message with the attempt until its time is over, or until the caller releases it,
    which is right after `NotPerformed` only, or where `find` raised.

    Args:
        locks: that the attempt was acquired from.
        attempt: this one.
        perform: the step. It may raise `NotPerformed`; anything else means that nobody knows.
        find: looks up what was done for the message; None if there is no way to.

    Returns:
        The description of the effect.

    Raises:
        OutcomeUnknown: an earlier attempt may have performed the step, and there is no `find`.
        LockLost: others may have taken over; if the step was performed, they find it.
        Exception: what `perform` or `find` raised.
    """
    effect, outcome = None, Outcome.FOUND
    with locks.at_work(attempt):
        if attempt.outcome_unknown:
            if find is None:
                raise OutcomeUnknown("an attempt ended without a word, and there is no find")
            if attempt.straggler_seconds:
                locks.host.sleep(attempt.straggler_seconds)
            effect = find()
        if effect is None:
            if locks.is_lost(attempt):
                raise LockLost("the attempt's time was over before the step began")
            effect, outcome = perform(attempt), Outcome.PERFORMED
    locks.mark_message_processed(attempt, outcome, effect)
    return effect
