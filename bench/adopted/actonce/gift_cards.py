"""GiftCards: sends a gift card for an order, once, behind ActOnce."""

import json
import os
import uuid

import boto3
from boto3.dynamodb.conditions import Key

table = boto3.resource("dynamodb").Table(os.environ["GIFT_CARDS_TABLE"])


def send_card(order):
    """Send a gift card: what must not happen twice."""
    card = f"card-{uuid.uuid4()}"
    table.put_item(Item={"order_id": order["order_id"], "card": card})
    return {"card": card}


def find_card(order_id):
    """Look up whether a card was sent."""
    found = table.query(KeyConditionExpression=Key("order_id").eq(order_id), ConsistentRead=True)[
        "Items"
    ]
    return {"card": found[0]["card"]} if found else None


def handler(event, context):
    """Perform or find, as ActOnce asks."""
    message = event["message"]
    if event["operation"] == "find":
        effect = find_card(message["message_id"])
        return {"performed": effect is not None, "effect": effect}
    return {"performed": True, "effect": send_card(json.loads(message["body"]))}
