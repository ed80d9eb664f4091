"""The rows of ledger and lease: one per message, written conditionally only.

They are in the Fingerprints table, where a starter would write its own, so that neither acts on a
message that the other knows; a row without a status is a starter's.

    message_id         the key
    status             IN_PROGRESS or COMPLETE
    consumption_count  attempts, from 0, one more with each, one less where it was given back
    waited             seconds that it has waited for its provider; absent: none
    fingerprint        SHA-256 of the content that the id was first seen with
    attempt_id         who holds it, or held it last; absent: released, nothing happened
    lock_seconds       how long the holder may be silent, as the holder said it
    updated            when the row was last written, UTC, by the writer's clock
    outcome, effect    once COMPLETE
    note               an operator's reason for a decision
    memory             ledger or lease, whichever wrote it: only that can tell when an attempt is
                       over; see `actonce_core.memory`

Each way adds what it decides a takeover by. Nothing is read: the row by which a condition failed
comes with the failure (`ReturnValuesOnConditionCheckFailure`), and is never stale.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce_core.locking.attempt import (
    Attempt,
    Completed,
    DifferentContent,
    InProgress,
    JsonObject,
    LockLost,
    OtherMemory,
    Outcome,
)
from actonce_core.memory import Row, way_of
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

IN_PROGRESS = "IN_PROGRESS"
COMPLETE = "COMPLETE"

OVER_FOR_EVERYBODY = "1970-01-01T00:00:00.000Z"
"""`updated` of an attempt that is over for everybody, at once."""
_OVER = {"lock_seconds": {"N": "0"}, "updated": {"S": OVER_FOR_EVERYBODY}}

# The clauses that conditions are made of. `status` is a reserved word in DynamoDB.
ID_IS_NEW = "attribute_not_exists(message_id)"
IS_IN_PROGRESS = "#status = :in_progress"
IS_RELEASED = "attribute_not_exists(attempt_id)"
IS_SAME_CONTENT = "fingerprint = :same_fingerprint"
IS_UNCHANGED = "#unchanged = :unchanged"
IS_HELD_BY_ATTEMPT = "attempt_id = :held_by"
IS_DEAD_LETTER = "outcome = :dead_letter"


@dataclass(frozen=True, slots=True)
class Bid:
    """What an attempt writes if it gets the message; `own` is its way's, in DynamoDB's form.

    `way`: `ledger` or `lease`.
    """

    way: str
    message_id: str
    fingerprint: str
    attempt_id: str
    lock_seconds: float
    own: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that was taken: the attempts until now, and see `Attempt.waited`."""

    consumption_count: int
    waited: float | None


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition, with the values and names that its clauses speak of."""

    clauses: str
    values: Mapping[str, Any]
    names: Mapping[str, str] = field(default_factory=lambda: {"#status": "status"})


def told(
    row: Row, fingerprint: str, way: str
) -> Completed | DifferentContent | InProgress | OtherMemory:
    """What a row that could not be taken says to a `ledger` or a `lease`.

    The content is compared first: a conflict is one also after the message is done.
    """
    if row["fingerprint"]["S"] != fingerprint:
        return DifferentContent(row["fingerprint"]["S"])
    written_by = way_of(row)
    if written_by is None:
        return OtherMemory(row.get("memory", {}).get("S", ""))
    if row["status"]["S"] == COMPLETE:
        effect = row.get("effect", {}).get("S")
        return Completed(Outcome(row["outcome"]["S"]), json.loads(effect) if effect else None)
    if written_by != way:
        return OtherMemory(written_by)
    return InProgress(row.get("attempt_id", {}).get("S", ""))


def _uncounted(attempt: Attempt, waited: float) -> dict[str, Any]:
    """What an attempt leaves that was given back because of its provider."""
    return {
        "consumption_count": {"N": str(attempt.consumption_count - 1)},
        "waited": {"N": str(round(waited, 3))},
    }


def _held_by(attempt_id: str) -> _Condition:
    return _Condition(
        f"{IS_IN_PROGRESS} AND {IS_HELD_BY_ATTEMPT}",
        {":in_progress": {"S": IN_PROGRESS}, ":held_by": {"S": attempt_id}},
    )


class ProcessingTable:
    """The table's edge.

    Invariant: `attempt_id` changes with every claim and takeover and with nothing else, so a write
    that is conditional on it is its holder's.
    """

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def claim(self, bid: Bid, now: datetime) -> Taken | Row:
        """Take a message that is new or was released.

        Returns:
            The row that stands in the way, if it was not taken.
        """
        condition = _Condition(
            f"{ID_IS_NEW} OR ({IS_SAME_CONTENT} AND {IS_IN_PROGRESS} AND {IS_RELEASED})",
            {":in_progress": {"S": IN_PROGRESS}, ":same_fingerprint": {"S": bid.fingerprint}},
        )
        return self._take(bid, now, condition)

    def take_over(self, bid: Bid, now: datetime, seen: Row, unchanged: str) -> Taken | Row:
        """Take a message over from an attempt that is over.

        Args:
            bid: of the attempt that begins.
            now: for `updated`.
            seen: the row by which it was decided that the attempt is over.
            unchanged: the attribute that must still be as it was seen; a holder that is alive
                changes it, and so does another contender.

        Returns:
            As `claim`.
        """
        condition = _Condition(
            f"{IS_IN_PROGRESS} AND {IS_UNCHANGED}",
            {":in_progress": {"S": IN_PROGRESS}, ":unchanged": seen[unchanged]},
            {"#status": "status", "#unchanged": unchanged},
        )
        return self._take(bid, now, condition)

    def refresh(self, attempt: Attempt, own: Mapping[str, Any], now: datetime) -> None:
        """Show that the attempt is alive, by a change of what its way adds.

        Raises:
            LockLost: it is over.
        """
        self._write_as_holder(attempt, own, (), now)

    def complete(
        self, attempt: Attempt, outcome: Outcome, effect: JsonObject | None, now: datetime
    ) -> None:
        """Complete the message.

        Raises:
            LockLost: the attempt is over.
        """
        written = {"status": {"S": COMPLETE}, "outcome": {"S": str(outcome)}}
        if effect is not None:
            written["effect"] = {"S": json.dumps(effect, ensure_ascii=False)}
        self._write_as_holder(attempt, written, (), now)

    def release(self, attempt: Attempt, now: datetime, waited: float | None = None) -> None:
        """Give the message back.

        Args:
            attempt: that holds it.
            now: for `updated`.
            waited: see `ProcessingLocks.release_processing_lock`.

        Raises:
            LockLost: the attempt is over.
        """
        written = {} if waited is None else _uncounted(attempt, waited)
        self._write_as_holder(attempt, written, ("attempt_id",), now)

    def give_back_unseen(self, attempt: Attempt, waited: float) -> None:
        """Give back what could not be looked up, as an attempt that is over.

        Raises:
            LockLost: the attempt is over.
        """
        self._write_as_holder(attempt, {**_uncounted(attempt, waited), **_OVER}, (), None)

    def decide(
        self,
        message_id: str,
        outcome: Outcome | None,
        now: datetime,
        note: str = "",
        *,
        nothing_happened: bool = False,
    ) -> bool:
        """Write down what an operator decided about a dead letter.

        Args:
            message_id: as the table keeps it.
            outcome: RESOLVED or REJECTED; None: try again, and look first, because the next
                attempt takes over from the one that posted the dead letter.
            now: for `updated`.
            note: the operator's reason; it stays in the row.
            nothing_happened: with no outcome: that is proven, or the operator's word. The row is
                released, and the next attempt performs without a look.

        Returns:
            False if the message is no dead letter any more; nothing was changed.
        """
        written: dict[str, Any] = {"updated": {"S": timestamp(now)}}
        removed: tuple[str, ...] = ()
        if outcome is not None:
            written |= {"outcome": {"S": str(outcome)}}
        else:
            written = {
                "status": {"S": IN_PROGRESS},
                "consumption_count": {"N": "0"},
                **_OVER,
            }
            removed = ("outcome", "effect", "waited")
            removed += ("attempt_id",) if nothing_happened else ()
        written |= {"note": {"S": note}} if note else {}
        try:
            self._update(
                message_id,
                written,
                removed,
                # Only a row that is COMPLETE has an outcome.
                _Condition(
                    IS_DEAD_LETTER, {":dead_letter": {"S": str(Outcome.DEAD_LETTER)}}, names={}
                ),
            )
        except _ConditionFailed:
            return False
        return True

    def fence(self, message_id: str, attempt_id: str) -> JsonObject:
        """See `Attempt.fence`."""
        held = _held_by(attempt_id)
        return {
            "ConditionCheck": {
                "TableName": self._table_name,
                "Key": {"message_id": {"S": message_id}},
                "ConditionExpression": held.clauses,
                "ExpressionAttributeNames": dict(held.names),
                "ExpressionAttributeValues": dict(held.values),
            }
        }

    def _take(self, bid: Bid, now: datetime, condition: _Condition) -> Taken | Row:
        written = {
            "status": {"S": IN_PROGRESS},
            "memory": {"S": bid.way},
            "fingerprint": {"S": bid.fingerprint},
            "attempt_id": {"S": bid.attempt_id},
            "lock_seconds": {"N": str(bid.lock_seconds)},
            "updated": {"S": timestamp(now)},
            **bid.own,
        }
        try:
            row = self._update(bid.message_id, written, (), condition, count=True)
        except _ConditionFailed as failure:
            row = failure.row
            # The SDK repeats a write whose answer was lost; then our own row stands in the way.
            if row.get("attempt_id", {}).get("S") != bid.attempt_id:
                return row
        waited = row.get("waited", {}).get("N")
        return Taken(int(row["consumption_count"]["N"]), float(waited) if waited else None)

    def _write_as_holder(
        self,
        attempt: Attempt,
        written: Mapping[str, Any],
        removed: Iterable[str],
        now: datetime | None,
    ) -> None:
        """`now`: for `updated`; None: it is among what is written."""
        updated = {} if now is None else {"updated": {"S": timestamp(now)}}
        try:
            self._update(
                attempt.message_id,
                {**written, **updated},
                removed,
                _held_by(attempt.attempt_id),
            )
        except _ConditionFailed as failure:
            is_done = written.get("status", {}).get("S") == COMPLETE == failure.status
            if is_done and failure.row["attempt_id"]["S"] == attempt.attempt_id:
                return  # ours, written before its answer was lost
            raise LockLost(
                f"attempt {attempt.attempt_id} of message {attempt.message_id} is over"
            ) from failure

    def _update(
        self,
        message_id: str,
        written: Mapping[str, Any],
        removed: Iterable[str],
        condition: _Condition,
        *,
        count: bool = False,
    ) -> Row:
        """One conditional UpdateItem; the row as it is afterwards.

        Raises:
            _ConditionFailed: with the row as it is.
            ClientError: everything else.
        """
        attributes = {f"#set_{name}": name for name in written}
        sets = [f"#set_{name} = :set_{name}" for name in written]
        numbers: dict[str, Any] = {}
        if count:
            sets.append("consumption_count = if_not_exists(consumption_count, :none) + :one")
            numbers = {":none": {"N": "0"}, ":one": {"N": "1"}}
        removal = f" REMOVE {', '.join(removed)}" if removed else ""
        try:
            answer = self._dynamodb.update_item(
                TableName=self._table_name,
                Key={"message_id": {"S": message_id}},
                UpdateExpression=f"SET {', '.join(sets)}{removal}",
                ConditionExpression=condition.clauses,
                ExpressionAttributeNames={**attributes, **condition.names},
                ExpressionAttributeValues={
                    **{f":set_{name}": value for name, value in written.items()},
                    **numbers,
                    **condition.values,
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row_as_it_is: Row = error.response.get("Item", {})  # type: ignore[assignment]
            raise _ConditionFailed(row_as_it_is) from error
        row: Row = answer["Attributes"]
        return row


class _ConditionFailed(Exception):
    """The condition did not hold; `row` is what it was judged by, empty if there is none."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row

    @property
    def status(self) -> str | None:
        """The row's status."""
        status: str | None = self.row.get("status", {}).get("S")
        return status
