"""A server on 127.0.0.1 in the place of AWS, for a real starter with its real clients."""

import contextlib
import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lab.faults.proxy import Answered, Request, proxy_before

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"


def serve(ready: Connection) -> None:
    """Answer PutItem, StartExecution and SendMessage until killed; sends its URL."""

    def meet(request: Request) -> Answered:
        return Answered(200, _answer(request))

    with proxy_before("http://nowhere", meet) as url, contextlib.suppress(EOFError):
        ready.send(url)
        ready.recv()


def _answer(request: Request) -> bytes:
    asked, operation = json.loads(request.body), request.target.rpartition(".")[2]
    answer: dict[str, Any] = {}
    if operation == "StartExecution":
        answer = {"executionArn": asked["name"], "startDate": time.time()}
    elif operation == "SendMessage":
        digest = hashlib.md5(asked["MessageBody"].encode()).hexdigest()  # noqa: S324
        answer = {"MessageId": "1", "MD5OfMessageBody": digest}
    return json.dumps(answer).encode()


@contextlib.contextmanager
def answering_aws() -> Iterator[None]:
    """Run the server, in a process of its own, and point the usual AWS variables at it."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    theirs.close()
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL": ours.recv(),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:bench",
            "FINGERPRINTS_TABLE": "fingerprints",
            "MESSAGE_ID_FROM": "body:message_id",
            "CONTENT_FROM": "",
            "NAMES_REMEMBERED_DAYS": "25",
            "STACK_NAME": "actonce",
            "REQUESTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
            "UNSTARTED_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/unstarted",
            "POWERTOOLS_METRICS_NAMESPACE": "ActOnce",
            "POWERTOOLS_SERVICE_NAME": "bench",
        }
        yield
    finally:
        server.terminate()
        server.join()
        ours.close()


def event_of(bodies: Iterable[str]) -> dict[str, Any]:
    """What Lambda hands over of a batch."""
    return {
        "Records": [
            {
                "messageId": f"sqs-{number}",
                "receiptHandle": "bench",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for number, body in enumerate(bodies)
        ]
    }
