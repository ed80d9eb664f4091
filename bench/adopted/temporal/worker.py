"""Takes orders from the queue, starts a workflow for each, and works on them."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

import boto3
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.worker import Worker
from workflows import SendGiftCard, find, perform

QUEUE_URL = os.environ["ORDERS_QUEUE_URL"]
sqs = boto3.client("sqs")


async def take_orders(client: Client) -> None:
    """A message is deleted when its workflow has been started, or was before."""
    while True:
        answer = await asyncio.to_thread(
            sqs.receive_message, QueueUrl=QUEUE_URL, MaxNumberOfMessages=10, WaitTimeSeconds=20
        )
        for message in answer.get("Messages", []):
            order = json.loads(message["Body"])
            try:
                await client.start_workflow(
                    SendGiftCard.run,
                    order,
                    id=f"gift-card-{order['order_id']}",
                    task_queue="gift-cards",
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                )
            except WorkflowAlreadyStartedError:
                pass
            await asyncio.to_thread(
                sqs.delete_message, QueueUrl=QUEUE_URL, ReceiptHandle=message["ReceiptHandle"]
            )


async def main() -> None:
    """Run until it is ended."""
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    with ThreadPoolExecutor(10) as threads:
        async with Worker(
            client,
            task_queue="gift-cards",
            workflows=[SendGiftCard],
            activities=[perform, find],
            activity_executor=threads,
        ):
            await take_orders(client)


if __name__ == "__main__":
    asyncio.run(main())
