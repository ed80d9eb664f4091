"""The rows of a lease, and how they are written.

    message_id         the key
    memory             `lease`; a row of another memory, such as a starter's, is never changed
    fingerprint        SHA-256 of the content that the id was first seen with
    status             IN_PROGRESS or COMPLETE
    attempt_id         the attempt that holds or completed it; absent: free
    version            new with every write, so that a takeover is of the row that was seen
    outcome_unknown    true: an attempt's outcome is unknown, so it is looked up first
    lock_seconds       how long the holder may be silent; set by the holder
    consumption_count  attempts that have begun
    updated            when the row was last written, UTC, by the writer's clock
    outcome, effect    once COMPLETE; an operator may remove the effect (docs/privacy.md)

Every write is conditional, and there are no reads: if a condition fails, DynamoDB returns the row
with the failure (`ReturnValuesOnConditionCheckFailure`), never stale. Rows are never deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

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
    """An earlier attempt had performed it, without completing the row."""


@dataclass(slots=True)
class Attempt:
    """This consumer may act on the message; no other may until the attempt is over.

    Attributes:
        attempt_id: new for every attempt; its later writes are conditional on it.
        consumption_count: attempts so far, this one included.
        outcome_unknown: an earlier attempt may have performed the effect: look it up first.
        straggler_seconds: how long something that an earlier attempt called may still act. Wait
            for so long, keeping this attempt alive, before the look-up.
        lock_seconds: of silence after which others may take the message over.
        may_begin_until: by the holder's own monotonic clock; see `Lease.is_lost`.
        fence: a `ConditionCheck` for DynamoDB's TransactWriteItems: a write in a transaction with
            it happens only while the attempt holds the message.
    """

    message_id: str
    attempt_id: str
    consumption_count: int
    outcome_unknown: bool
    straggler_seconds: float
    lock_seconds: float
    may_begin_until: float
    fence: JsonObject = field(compare=False)


@dataclass(frozen=True, slots=True)
class Completed:
    """The message is done; `effect` is the stored description, if any."""

    outcome: Outcome
    effect: JsonObject | None


class StillInProgress(Exception):
    """Another attempt may hold the message, so the delivery must go back to the queue.

    If it were acknowledged, the message would be lost once that attempt crashed.
    """


class ConflictingContent(Exception):
    """The message id was first seen with other content. Nothing was done."""

    def __init__(self, message_id: str, fingerprint: str) -> None:
        super().__init__(f"message {message_id} was first seen with another content")
        self.fingerprint = fingerprint


class KnownElsewhere(Exception):
    """Another memory took the message and alone knows what became of it. Nothing was done.

    `memory`: what the row says, such as a state machine's ARN.
    """

    def __init__(self, message_id: str, memory: str) -> None:
        super().__init__(f"message {message_id} was taken by another memory than this")
        self.memory = memory


class LockLost(Exception):
    """The attempt is over; another one may hold the message by now."""


# ---------------------------------------------------------------- the table

# `status` is a reserved word in DynamoDB. `:memory` and `:fingerprint` are the contender's own.
IS_FREE = (
    "attribute_not_exists(message_id) OR (memory = :memory AND fingerprint = :fingerprint "
    "AND #status = :in_progress AND attribute_not_exists(attempt_id))"
)
IS_AS_SEEN = "#status = :in_progress AND version = :seen"
IS_HELD = "#status = :in_progress AND attempt_id = :held_by"

IN_PROGRESS_VALUE = {":in_progress": {"S": IN_PROGRESS}}


class LeaseTable:
    """Writes rows.

    Invariant: `attempt_id` changes with every claim and takeover. So a write that is conditional on
    it is its holder's.
    """

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def write(  # noqa: PLR0913 - the parts of a conditional write
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
            condition: may use `#status`, and `:name` for each attribute that is written.
            values: the other values that it uses.
            written: attributes, in DynamoDB's form.
            removed: names of attributes.
            counted: name of a number to add one to.

        Returns:
            Whether it was written, and the row: as written, or as it failed the condition.
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

    def fence(self, message_id: str, attempt_id: str) -> JsonObject:
        """See `Attempt.fence`."""
        return {
            "ConditionCheck": {
                "TableName": self._table_name,
                "Key": {"message_id": {"S": message_id}},
                "ConditionExpression": IS_HELD,
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {**IN_PROGRESS_VALUE, ":held_by": {"S": attempt_id}},
            }
        }
