"""The Fingerprints table: what content a message id was first seen with, when, and by whom.

Invariant: what a starter writes is written once and never changed. It has no status and no lease;
no decision but one reads a clock, and that one (days) is far coarser than any clock is wrong.
Ledger and lease keep their rows in the same table (`actonce_core.locking.rows`), so that none of
the three acts on a message that another one knows.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from actonce_core.memory import Lock, Memories, Names, memory_of
from actonce_core.message import Message
from actonce_core.refusal import Reason, Refusal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A row: the content's SHA-256, when the message id was first seen (UTC), and by whom.

    A lock's row says when it was last written instead. `memory`: see `memory_of`.
    """

    fingerprint: str
    first_seen: datetime
    memory: Names | Lock | None


def refusal_of(
    message: Message, known: Fingerprint, now: datetime, memories: Memories
) -> Refusal | None:
    """Whether a message whose id is known already must be refused.

    Args:
        message: that was delivered.
        known: the row of its id.
        now: by this machine's clock.
        memories: that may be asked.

    None means: the same message again. Then StartExecution is asked all the same, because the
    delivery that wrote the row may have ended before it could start the execution; but for a row
    that a ledger or a lease completed, which is the answer.
    """
    if known.fingerprint != message.fingerprint:
        return Refusal(
            Reason.CONFLICT,
            f"The message id was first seen at {timestamp(known.first_seen)} with another content "
            f"(fingerprint {known.fingerprint[:12]}…, now {message.fingerprint[:12]}…).",
            message.stored_message_id,
        )
    if isinstance(known.memory, Lock):
        if known.memory.is_complete:
            return None
        return Refusal(
            Reason.OTHER_MEMORY,
            f"A {known.memory.way} took the message at {timestamp(known.first_seen)} and has not "
            "completed it: starting it could act twice.",
            message.stored_message_id,
        )
    if now - known.first_seen > memories.names_remembered:
        return Refusal(
            Reason.TOO_OLD_TO_TELL,
            f"The message id was first seen at {timestamp(known.first_seen)}, more than "
            f"{memories.names_remembered.days} days ago: its execution's name may be free again, "
            "so starting it could act twice.",
            message.stored_message_id,
        )
    if memories.to_ask(known.memory) is None:
        return Refusal(
            Reason.OTHER_MEMORY,
            f"The message id was first seen at {timestamp(known.first_seen)} by another state "
            "machine, which this stack does not ask, so starting it could act twice.",
            message.stored_message_id,
        )
    return None


class FingerprintTable:
    """The table's edge: one conditional write, no reads.

    Args:
        dynamodb: a client.
        table_name: the table.
        memory: whose names a row that is written here goes with.
    """

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str, memory: Names) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name
        self._memory = memory

    def remember(self, message: Message, now: datetime) -> Fingerprint | None:
        """Write the message's fingerprint unless its id has one.

        Returns:
            None if it was written now; else the row that was there, which the failed condition
            returns at no further cost (`ReturnValuesOnConditionCheckFailure`).

        Raises:
            ClientError: whatever else DynamoDB answers (throttled, not allowed).
        """
        id_is_new = "attribute_not_exists(message_id)"
        try:
            self._dynamodb.put_item(
                TableName=self._table_name,
                Item={
                    "message_id": {"S": message.stored_message_id},
                    "fingerprint": {"S": message.fingerprint},
                    "first_seen": {"S": timestamp(now)},
                    **self._memory.attributes,
                },
                ConditionExpression=id_is_new,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row = error.response["Item"]  # type: ignore[typeddict-item]
            memory = memory_of(row)
            written = row["updated" if isinstance(memory, Lock) else "first_seen"]["S"]
            return Fingerprint(row["fingerprint"]["S"], datetime.fromisoformat(written), memory)
        return None


def timestamp(moment: datetime) -> str:
    """ISO 8601, UTC, milliseconds: `2026-01-31T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
