"""GiftCards: sends a gift card for an order, behind Powertools Idempotency."""

import json
import os
import uuid

import boto3
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

table = boto3.resource("dynamodb").Table(os.environ["GIFT_CARDS_TABLE"])

processor = BatchProcessor(event_type=EventType.SQS)
persistence = DynamoDBPersistenceLayer(table_name=os.environ["IDEMPOTENCY_TABLE"])
config = IdempotencyConfig(
    event_key_jmespath="order_id",
    payload_validation_jmespath="@",
    expires_after_seconds=90 * 24 * 60 * 60,
    raise_on_no_idempotency_key=True,
)


@idempotent_function(data_keyword_argument="order", config=config, persistence_store=persistence)
def send_card(order):
    """Send a gift card: what must not happen twice."""
    card = f"card-{uuid.uuid4()}"
    table.put_item(Item={"order_id": order["order_id"], "card": card})
    return {"card": card}


def take(record):
    """Take one order."""
    send_card(order=json.loads(record.body))


def handler(event, context):
    """Take a batch of orders."""
    config.register_lambda_context(context)
    return process_partial_response(
        event=event, record_handler=take, processor=processor, context=context
    )
