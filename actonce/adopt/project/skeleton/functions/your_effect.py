"""What must not happen twice: put your call where `perform` says so.

As it stands it writes a row into the table of your template, under a new key each time: two calls
leave two rows that anyone can count. So all of it runs before you have written a line.
"""

import json
import os
import uuid
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config

# No retry around what cannot be repeated, and every time-out shorter than the function's.
_ONE_ATTEMPT = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1})
_MAX_ID_BYTES = 2048  # of a key in DynamoDB


class NotPerformed(Exception):
    """It certainly did not happen, and is tried again. ActOnce knows it by its name."""


class Rejected(Exception):
    """It certainly did not happen and never will; a person decides. Known by its name, too."""


class YourEffect:
    """The two operations that ActOnce calls."""

    def __init__(self, dynamodb: Any, table_name: str) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name

    def perform(self, message_id: str, body: Any) -> dict[str, Any]:
        """Do it, once, and return a small description of what was done.

        Any error but `NotPerformed` and `Rejected` means that nobody knows whether it happened: it
        is waited out, looked up by `find`, and then decided. So leave nothing running: Lambda would
        freeze it, and thaw it once `find` has looked.
        """
        if not isinstance(body, dict) or not isinstance(body.get("amount"), int):
            raise Rejected("amount must be an integer")
        if len(message_id.encode()) > _MAX_ID_BYTES:
            raise Rejected(f"the message id has more than {_MAX_ID_BYTES} bytes")
        # ---- your call, in place of this one; give it the message id to be found by
        order = f"order-{uuid.uuid4()}"
        self._dynamodb.put_item(
            TableName=self._table_name,
            Item={
                "message_id": {"S": message_id},
                "effect_id": {"S": order},
                "performed_at": {"S": datetime.now(UTC).isoformat()},
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
        return {"order": found[0]["effect_id"]["S"], "amount": int(found[0]["amount"]["N"])}


def answer(effect: YourEffect, event: dict[str, Any]) -> dict[str, Any]:
    """What ActOnce asks: `{"operation": "perform" | "find", "message": {...}}`."""
    operation, message = event["operation"], event["message"]
    if operation == "find":
        found = effect.find(message["message_id"])
        return {"performed": found is not None, "effect": found}
    if operation != "perform":
        raise ValueError("operation: expected perform or find")
    body = json.loads(message["body"])  # the text that was sent, to the letter
    return {"performed": True, "effect": effect.perform(message["message_id"], body)}


_EFFECT = YourEffect(boto3.client("dynamodb", config=_ONE_ATTEMPT), os.environ["EFFECTS_TABLE"])


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point."""
    return answer(_EFFECT, event)
