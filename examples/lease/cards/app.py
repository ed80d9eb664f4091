"""Sends a gift card for each order of a FIFO queue, once, without Step Functions.

One message at a time, because each may have to wait for a lease and for stragglers. If this raises,
the message comes back when its visibility timeout is over, and its group waits for it.
"""

import os
import uuid
from typing import Any

import boto3
from botocore.config import Config

from actonce_core import strict_json
from actonce_core.effect import NotPerformed, Rejected
from actonce_core.locking.idempotent import ConflictingContent, idempotent
from actonce_core.locking.lease import Lease

LEASE_SECONDS = 12
STRAGGLER_SECONDS = 30  # what a call has set off may act for so long after its caller's end

HANDED_ON = (strict_json.NotJson, ConflictingContent, Rejected)
"""Another delivery would end in the same way, and hold its group up."""

_LONGEST_ID = 2048  # bytes: a key of DynamoDB

_dynamodb = boto3.client("dynamodb", config=Config(connect_timeout=1, read_timeout=3))
_sqs = boto3.client("sqs")
_CARDS = os.environ["CARDS_TABLE"]
_lease = Lease(_dynamodb, os.environ["LEASE_TABLE"], straggler_seconds=STRAGGLER_SECONDS)


def checked(body: str) -> dict[str, Any]:
    """The order of a message.

    Raises:
        NotJson, Rejected: it is none, and never will be.
    """
    order = strict_json.parse(body)
    order_id, amount = (
        order.get(name) if isinstance(order, dict) else None for name in ("order_id", "amount")
    )
    if not isinstance(order_id, str) or not 0 < len(order_id.encode()) <= _LONGEST_ID:
        raise Rejected(f"order_id must be a text of 1 to {_LONGEST_ID} bytes")
    if type(amount) is not int or amount < 1:
        raise Rejected("amount must be a whole number, 1 or more")
    return order  # type: ignore[no-any-return]


def find(order: dict[str, Any]) -> dict[str, Any] | None:
    """Look up, consistently, the card that was sent for an order."""
    answer = _dynamodb.query(
        TableName=_CARDS,
        KeyConditionExpression="order_id = :order",
        ExpressionAttributeValues={":order": {"S": order["order_id"]}},
        ConsistentRead=True,
    )
    return {"card": answer["Items"][0]["card_id"]["S"]} if answer["Items"] else None


@idempotent(
    _lease,
    message_id=lambda order: str(order["order_id"]),
    lock_timeout=LEASE_SECONDS,
    find=find,
    fenced=True,
)
def send(order: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
    """Send the card, in one transaction with the fence."""
    card = f"card-{uuid.uuid4()}"
    row = {
        "order_id": {"S": order["order_id"]},
        "card_id": {"S": card},
        "amount": {"N": str(order["amount"])},
    }
    try:
        # boto3 adds a client token, so that repeated by the SDK it is one transaction.
        _dynamodb.transact_write_items(
            TransactItems=[fence, {"Put": {"TableName": _CARDS, "Item": row}}]  # type: ignore[list-item]
        )
    except _dynamodb.exceptions.TransactionCanceledException as error:
        # Cancelled for another reason, such as a conflict with the SDK's own repeat, it may happen.
        if error.response["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed":
            raise NotPerformed("another attempt has the order, so nothing was written") from error
        raise
    return {"card": card}


def handler(event: dict[str, Any], _context: Any) -> None:
    """Lambda's entry point."""
    (record,) = event["Records"]
    try:
        send(checked(record["body"]))
    except HANDED_ON as error:
        print(f"{record['messageId']} is handed on: {type(error).__name__}")
        _sqs.send_message(
            QueueUrl=os.environ["DEAD_LETTERS_URL"],
            MessageBody=record["body"],
            MessageGroupId=record["attributes"]["MessageGroupId"],
            MessageDeduplicationId=record["messageId"],
        )
