"""The Fingerprints table: what content a message id was first seen with, and when.

Invariant: a row is written once and never changed. It has no status and no lease; no decision but
one reads a clock, and that one (days) is far coarser than any clock is wrong.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from deduplication.message import Message
from deduplication.refusal import Reason, Refusal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A row: the content's SHA-256, and when the message id was first seen (UTC)."""

    fingerprint: str
    first_seen: datetime


def refusal_of(
    message: Message, known: Fingerprint, now: datetime, names_remembered: timedelta
) -> Refusal | None:
    """Whether a message whose id is known already must be refused.

    Args:
        message: that was delivered.
        known: the row of its id.
        now: by this machine's clock.
        names_remembered: for so long after an id was first seen Step Functions is certain to
            remember its execution's name, if it has one.

    None means: the same message again. Then StartExecution is asked all the same, because the
    delivery that wrote the row may have ended before it could start the execution.
    """
    if known.fingerprint != message.fingerprint:
        return Refusal(
            Reason.CONFLICT,
            f"The message id was first seen at {timestamp(known.first_seen)} with another content "
            f"(fingerprint {known.fingerprint[:12]}…, now {message.fingerprint[:12]}…).",
            message.stored_message_id,
        )
    if now - known.first_seen > names_remembered:
        return Refusal(
            Reason.TOO_OLD_TO_TELL,
            f"The message id was first seen at {timestamp(known.first_seen)}, more than "
            f"{names_remembered.days} days ago: its execution's name may be free again, so "
            "starting it could act twice.",
            message.stored_message_id,
        )
    return None


class FingerprintTable:
    """The table's edge: one conditional write, no reads."""

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

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
                },
                ConditionExpression=id_is_new,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row = error.response["Item"]  # type: ignore[typeddict-item]
            return Fingerprint(
                fingerprint=row["fingerprint"]["S"],
                first_seen=datetime.fromisoformat(row["first_seen"]["S"]),
            )
        return None


def timestamp(moment: datetime) -> str:
    """ISO 8601, UTC, milliseconds: `2026-01-31T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
