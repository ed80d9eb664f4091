"""Acts once on each message of a FIFO queue, outside Lambda, a group's messages in order.

One message at a time, so SQS itself keeps the order: of a group of which a message is at work it
hands out nothing more. How to run it, and what is not promised: README.md.
"""

import contextlib
import logging
import os
import random
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from actonce_core import strict_json
from actonce_core.backoff import EFFECT_BACKOFF_GROWTH, redelivery_delay
from actonce_core.delivery import Delivery
from actonce_core.effect import Rejected
from actonce_core.locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from actonce_core.locking.lease import Lease
from actonce_core.message import MessageReader
from appointments import book_from_environment

LEASE_SECONDS = 12
STRAGGLER_SECONDS = 30  # what a worker has called may act for so long after the worker's end
VISIBILITY_SECONDS = 60  # renewed while a message is at work; after a crash it comes back then

HANDED_ON = (strict_json.NotJson, ConflictingContent, KnownElsewhere, Rejected)
"""Another delivery would end in the same way, and hold its group up."""
logger = logging.getLogger("worker")


@dataclass
class Worker:
    """Takes messages from a FIFO queue until it is told to stop.

    `handle` acts on a body once, and may raise; what a person has to look at goes to the FIFO queue
    `dead_letters`.
    """

    sqs: Any
    queue: str
    dead_letters: str
    handle: Callable[[str], Any]
    visibility: int = VISIBILITY_SECONDS
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self, *_: object) -> None:
        """Take no more messages; `run` returns when the one at work is done."""
        self.stopping.set()

    def run(self) -> None:
        """Take and handle messages."""
        attempt_id = str(uuid.uuid4())
        while not self.stopping.is_set():
            try:
                received = self.sqs.receive_message(
                    QueueUrl=self.queue,
                    WaitTimeSeconds=20,
                    VisibilityTimeout=self.visibility,
                    MessageSystemAttributeNames=["All"],
                    ReceiveRequestAttemptId=attempt_id,
                )
            except (ClientError, BotoCoreError) as error:
                # Under the same id SQS hands out again what this request may have taken; under
                # another, that and its group would be out of reach for the visibility timeout.
                logger.warning("not received: %s", type(error).__name__)
                self.stopping.wait(1)
                continue
            attempt_id = str(uuid.uuid4())
            for message in received.get("Messages", []):
                self._take(message)

    def _take(self, message: Any) -> None:
        receipt, about = message["ReceiptHandle"], message["Attributes"]
        try:
            try:
                with self._kept_invisible(receipt):
                    self.handle(message["Body"])
            except HANDED_ON as error:
                logger.warning("%s is handed on: %s", message["MessageId"], type(error).__name__)
                self.sqs.send_message(
                    QueueUrl=self.dead_letters,
                    MessageBody=message["Body"],
                    MessageGroupId=about["MessageGroupId"],
                    MessageDeduplicationId=message["MessageId"],
                )
            self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=receipt)
        except Exception as error:  # noqa: BLE001 - nothing else is certain: it comes back
            logger.warning("%s comes back: %s", message["MessageId"], type(error).__name__)
            count = int(about["ApproximateReceiveCount"])
            self._hide(receipt, redelivery_delay(count, random.random(), EFFECT_BACKOFF_GROWTH))  # noqa: S311

    @contextlib.contextmanager
    def _kept_invisible(self, receipt: str) -> Iterator[None]:
        """Renew the visibility timeout while the context is open."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self.visibility / 3):
                self._hide(receipt, self.visibility)

        (thread := threading.Thread(target=renew, daemon=True)).start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _hide(self, receipt: str, seconds: float) -> None:
        with contextlib.suppress(ClientError, BotoCoreError):  # the next one may succeed
            self.sqs.change_message_visibility(
                QueueUrl=self.queue, ReceiptHandle=receipt, VisibilityTimeout=round(seconds)
            )


def message_id(body: str) -> str:
    """A body's id, as the stack reads it; NotJson: it has none."""
    found = MessageReader().read_whole(Delivery("", body, {}, {})).message_id
    if found is None:
        raise strict_json.NotJson("no message_id")
    return found


def main() -> None:
    """Act on messages until SIGTERM."""
    book, variables = book_from_environment(), os.environ
    dynamodb = boto3.client("dynamodb", config=Config(read_timeout=3))
    act = idempotent(
        Lease(dynamodb, variables["LEASE_TABLE"], straggler_seconds=STRAGGLER_SECONDS),
        message_id=message_id,
        lock_timeout=LEASE_SECONDS,
        find=lambda body: book.find(message_id(body)),
        content=strict_json.parse,
    )(lambda body: book.perform({"message_id": message_id(body), "body": body}))
    sqs = boto3.client("sqs", config=Config(read_timeout=30))  # above the longest poll
    worker = Worker(sqs, variables["QUEUE_URL"], variables["DEAD_LETTERS_URL"], act)
    signal.signal(signal.SIGTERM, worker.stop)
    worker.run()


if __name__ == "__main__":
    main()
