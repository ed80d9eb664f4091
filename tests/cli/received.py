"""What lies in a queue, for a test to look at."""

from collections.abc import Mapping
from typing import Any

from actonce.stack.clients import Stack


def received(stack: Stack, queue_url: str) -> list[Mapping[str, Any]]:
    """Receive everything that is visible; it stays in the queue, but invisible."""
    messages: list[Mapping[str, Any]] = []
    while batch := stack.sqs.receive_message(
        QueueUrl=queue_url,
        MaxNumberOfMessages=10,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages"):
        messages += batch
    return messages
