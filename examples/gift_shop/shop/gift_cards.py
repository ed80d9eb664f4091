"""GiftCards: sends a gift card for an order. It was there before ActOnce; `find` is what was added.

Its gift cards are rows of its own table, by the order's id and their own.
"""

import json
import os
import uuid
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config

# The call that cannot be repeated is made once: the SDK would repeat it after a lost answer.
_dynamodb = boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))
_TABLE = os.environ["GIFT_CARDS_TABLE"]


class Rejected(Exception):
    """It did not happen, and never will; ActOnce knows it by its name."""


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """What ActOnce asks: `{"operation": "perform" | "find", "message": {...}}`."""
    message = event["message"]
    if event["operation"] == "find":
        return find(message["message_id"])
    if event["operation"] != "perform":
        raise ValueError("operation: expected perform or find")
    return perform(message["message_id"], json.loads(message["body"]))


def perform(order_id: str, order: dict[str, Any]) -> dict[str, Any]:
    """Send the card; as the shop always did."""
    amount = order.get("amount")
    if not isinstance(amount, int) or amount < 1:
        raise Rejected("amount must be a whole number, 1 or more")
    card = f"card-{uuid.uuid4()}"
    row = {
        "order_id": {"S": order_id},
        "card_id": {"S": card},
        "amount": {"N": str(amount)},
        "sent_at": {"S": datetime.now(UTC).isoformat()},
    }
    _dynamodb.put_item(TableName=_TABLE, Item=row)
    return {"performed": True, "effect": {"card": card}}


def find(order_id: str) -> dict[str, Any]:
    """Look up whether a card was sent, by a consistent read."""
    answer = _dynamodb.query(
        TableName=_TABLE,
        KeyConditionExpression="order_id = :order",
        ExpressionAttributeValues={":order": {"S": order_id}},
        ConsistentRead=True,
    )
    if not answer["Items"]:
        return {"performed": False}
    return {"performed": True, "effect": {"card": answer["Items"][0]["card_id"]["S"]}}
