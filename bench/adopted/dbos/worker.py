"""Takes orders from the queue, and runs a workflow of DBOS for each."""

import json
import os

import boto3
import gift_cards
from dbos import DBOS, DBOSConfig, SetWorkflowID

config: DBOSConfig = {
    "name": "gift-cards",
    "system_database_url": os.environ["DBOS_SYSTEM_DATABASE_URL"],
}
DBOS(config=config)


@DBOS.step()
def perform(order: dict) -> dict:
    """Send the card; a step that was cut short is run again, so it looks first."""
    return gift_cards.find_card(order["order_id"]) or gift_cards.send_card(order)


@DBOS.workflow()
def send_gift_card(order: dict) -> dict:
    """One order."""
    return perform(order)


def take_orders(sqs, queue_url: str) -> None:
    """A message is deleted when its workflow has been written down."""
    answer = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=20)
    for message in answer.get("Messages", []):
        order = json.loads(message["Body"])
        with SetWorkflowID(f"gift-card-{order['order_id']}"):
            DBOS.start_workflow(send_gift_card, order)
        sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    DBOS.launch()
    while True:
        take_orders(boto3.client("sqs"), os.environ["ORDERS_QUEUE_URL"])
