"""GiftCards: sends a gift card for each order of a batch; twice, if an order comes twice."""

import json
import os
import uuid

import boto3

table = boto3.resource("dynamodb").Table(os.environ["GIFT_CARDS_TABLE"])


def send_card(order):
    """Send a gift card: what must not happen twice."""
    card = f"card-{uuid.uuid4()}"
    table.put_item(Item={"order_id": order["order_id"], "card": card})
    return {"card": card}


def handler(event, context):
    """Take a batch of orders."""
    for record in event["Records"]:
        send_card(json.loads(record["body"]))
