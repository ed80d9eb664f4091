"""What must not happen twice: put your call where `perform` says so.

As it stands it writes a row into the stack's table, under a new key each time: two calls leave two
rows that anyone can count. So all of it runs before you have written a line.
"""

import json
import os
import uuid
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config

from actonce_core.effect import Rejected, answer

# No retry around what cannot be repeated, and every time-out shorter than the function's.
_ONE_ATTEMPT = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1}
)
_MAX_ID_BYTES = 2048  # of a key in DynamoDB


class YourEffect:
    """The two operations that ActOnce calls."""

    def __init__(self, dynamodb: Any, table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do it, once, and return a small description of what was done.

        Raise `NotPerformed` only if it certainly did not happen (it is tried again), `Rejected`
        only if it certainly did not and never will (a person decides). Anything else means that
        nobody knows: it is waited out, looked up by `find`, and then decided.
        """
        message_id, body = request["message_id"], json.loads(request["body"])
        if not isinstance(body, dict) or not isinstance(body.get("amount"), int):
            raise Rejected("amount must be an integer")
        if len(message_id.encode()) > _MAX_ID_BYTES:
            raise Rejected(f"the message id has more than {_MAX_ID_BYTES} bytes")
        # ---- your call, in place of this one; give it the message id to be found by
        order = f"appointment-{uuid.uuid4()}"  # the prefix is the table's, for `actonce where`
        self._dynamodb.put_item(
            TableName=self._table_name,
            Item={
                "message_id": {"S": message_id},
                "appointment_id": {"S": order},
                "booked_at": {"S": datetime.now(UTC).isoformat(timespec="milliseconds")},
                "amount": {"N": str(body["amount"])},
            },
        )
        # ----
        return {"order": order, "amount": body["amount"]}

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Look up what was done for this message; None if nothing was.

        Once `perform` can no longer be running, the answer must be final: read consistently, by
        what `perform` stored with the effect. "I could not look" is an exception, never None.
        """
        if len(message_id.encode()) > _MAX_ID_BYTES:
            return None  # `perform` rejects it before it does anything
        found = self._dynamodb.query(
            TableName=self._table_name,
            KeyConditionExpression="message_id = :id",
            ExpressionAttributeValues={":id": {"S": message_id}},
            ConsistentRead=True,
        )["Items"]
        if not found:
            return None
        return {"order": found[0]["appointment_id"]["S"], "amount": int(found[0]["amount"]["N"])}


_EFFECT = YourEffect(
    boto3.client("dynamodb", config=_ONE_ATTEMPT), os.environ["APPOINTMENTS_TABLE"]
)


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return answer(_EFFECT, event)
