"""AppointmentsFunction: the example effect, an appointment taken out of a practice's book.

It cannot be repeated, on purpose: each call of `perform` takes the *next* free slot and writes an
appointment of its own, so two calls leave two appointments that anyone can count.

The Appointments table holds, under (`message_id`, `appointment_id`):
    (message id, "appointment-<uuid>")   one appointment
    ("#book", "book-<practice>")         a practice's book: `next_slot`, and the switch `closed`
"""

import functools
import json
import os
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
from aws_lambda_powertools import Logger
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.effect import NotPerformed, Rejected, answer
from actonce_core.records import log_line, timestamp

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DEFAULT_PRACTICE = "main"
BOOK_KEY = "#book"
MAX_PRACTICE_CHARACTERS = 200

logger = Logger(json_serializer=log_line, use_rfc3339=True)


def book_key(practice: str) -> dict[str, Any]:
    """The key of a practice's book, in DynamoDB's form."""
    return {"message_id": {"S": BOOK_KEY}, "appointment_id": {"S": f"book-{practice}"}}


class AppointmentBook:
    """The effect; every practice that is named exists."""

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take the practice's next free slot and write the appointment.

        A crash between the two leaves a slot unused, never an appointment without its message.

        Returns:
            `{"appointment_id": str, "practice": str, "slot": int}`; slots count from 1.

        Raises:
            Rejected: there is no such practice.
            NotPerformed: its book is closed, or no slot could be taken: nothing was written.
        """
        appointment = self._next_appointment(request)
        # The SDK may repeat this write after a lost answer: the same key, so the same appointment.
        self._dynamodb.put_item(TableName=self._table_name, Item=appointment)
        return _described(appointment)

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Look the message's appointment up, with a consistent read.

        Returns:
            As `perform`, and `appointments`: how many there are (more than one means that the
            step was repeated behind the system's back).
        """
        answer = self._dynamodb.query(
            TableName=self._table_name,
            KeyConditionExpression=(
                "message_id = :message_id AND begins_with(appointment_id, :appointment)"
            ),
            ExpressionAttributeValues={
                ":message_id": {"S": message_id},
                ":appointment": {"S": "appointment-"},
            },
            ProjectionExpression="appointment_id, practice, slot",
            ConsistentRead=True,
        )
        if not answer["Items"]:
            return None
        return _described(answer["Items"][0]) | {"appointments": len(answer["Items"])}

    def _next_appointment(self, request: dict[str, Any]) -> dict[str, Any]:
        """One in the practice's next free slot, which is taken; it is not written yet."""
        practice = self._practice(json.loads(request["body"]))
        slot = self._next_slot(practice)
        return {
            "message_id": {"S": request["message_id"]},
            "appointment_id": {"S": f"appointment-{uuid.uuid4()}"},
            "practice": {"S": practice},
            "slot": {"N": str(slot)},
            "booked_at": {"S": timestamp(datetime.now(UTC))},
            "request": {"S": request["body"]},
        }

    def _practice(self, body: Any) -> str:
        practice = body.get("practice", DEFAULT_PRACTICE) if isinstance(body, dict) else None
        if practice is None:
            return DEFAULT_PRACTICE
        if not isinstance(practice, str) or not 0 < len(practice) <= MAX_PRACTICE_CHARACTERS:
            raise Rejected(
                f"practice must be a string of 1 to {MAX_PRACTICE_CHARACTERS} characters"
            )
        return practice

    def _next_slot(self, practice: str) -> int:
        book_is_open = "(attribute_not_exists(closed) OR closed = :no)"
        try:
            answer = self._dynamodb.update_item(
                TableName=self._table_name,
                Key=book_key(practice),
                UpdateExpression="ADD next_slot :one",
                ConditionExpression=book_is_open,
                ExpressionAttributeValues={":one": {"N": "1"}, ":no": {"BOOL": False}},
                ReturnValues="UPDATED_NEW",
            )
        except (ClientError, BotoCoreError) as error:
            # Whatever went wrong: a slot may be unused now, but no appointment was written.
            code = (
                error.response["Error"]["Code"]
                if isinstance(error, ClientError)
                else type(error).__name__
            )
            if code == "ConditionalCheckFailedException":
                raise NotPerformed("the practice's book is closed") from error
            raise NotPerformed(f"no slot could be taken: {code}") from error
        return int(answer["Attributes"]["next_slot"]["N"])


def _described(appointment: dict[str, Any]) -> dict[str, Any]:
    return {
        "appointment_id": appointment["appointment_id"]["S"],
        "practice": appointment["practice"]["S"],
        "slot": int(appointment["slot"]["N"]),
    }


def book_from_environment() -> AppointmentBook:
    """Build the effect from the variables that template.yaml sets."""
    config = Config(
        connect_timeout=1,
        read_timeout=2,
        retries={"mode": "standard", "total_max_attempts": 2},
    )
    return AppointmentBook(
        boto3.client("dynamodb", config=config), os.environ["APPOINTMENTS_TABLE"]
    )


@functools.cache
def _book() -> AppointmentBook:
    """One per process: its client serves every invocation."""
    return book_from_environment()


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    result = answer(_book(), event)
    logger.info(
        "effect",
        extra={
            "operation": event["operation"],
            "message_id": event["message"]["message_id"],
            "performed": result["performed"],
        },
    )
    return result
