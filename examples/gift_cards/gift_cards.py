"""A function of a team's own behind ActOnce, without a line of ActOnce in it.

It keeps the contract (docs/your-own-effect.md) by its answers and the names of its errors. Its gift
cards are rows of its own table; another provider's interface would be called in their place.
"""

import json
import os
import uuid
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError

# The call that cannot be repeated is made once: the SDK would repeat it after a lost answer.
_table = boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))
_TABLE = os.environ["GIFT_CARDS_TABLE"]


class NotPerformed(Exception):
    """It did not happen, provably; ActOnce knows it by its name."""


class Rejected(Exception):
    """It did not happen, and never will; ActOnce knows it by its name."""


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Lambda's entry point: `{"operation": "perform" | "find", "message": {...}}`."""
    message_id = event["message"]["message_id"]
    if event["operation"] == "find":
        return _find(message_id)
    if event["operation"] != "perform":
        raise ValueError("operation: expected perform or find")
    return _perform(message_id, json.loads(event["message"]["body"]))


def _perform(message_id: str, body: Any) -> dict[str, Any]:
    amount = body.get("amount") if isinstance(body, dict) else None
    if not isinstance(amount, int) or not 1 <= amount <= 500:
        raise Rejected("amount must be an integer from 1 to 500")
    card = f"card-{uuid.uuid4()}"
    row = {"message_id": {"S": message_id}, "card": {"S": card}, "amount": {"N": str(amount)}}
    try:
        _table.put_item(
            TableName=_TABLE, Item=row, ConditionExpression="attribute_not_exists(message_id)"
        )
    except (ConnectTimeoutError, EndpointConnectionError) as error:  # no byte has left
        raise NotPerformed("the table cannot be reached") from error
    except ClientError as error:
        if error.response["Error"]["Code"] == "ProvisionedThroughputExceededException":
            raise NotPerformed("too many at once") from error
        raise  # who knows: ActOnce waits, and asks `find`
    return {"performed": True, "effect": {"card": card}}


def _find(message_id: str) -> dict[str, Any]:
    answer = _table.get_item(
        TableName=_TABLE, Key={"message_id": {"S": message_id}}, ConsistentRead=True
    )
    if "Item" not in answer:
        return {"performed": False}
    return {"performed": True, "effect": {"card": answer["Item"]["card"]["S"]}}
