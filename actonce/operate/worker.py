"""A consumer outside Lambda: it polls the queue, keeps what it works on, and deletes what is done.

Invariants: a delivery is deleted only after `Consumer.consume` returned, so a killed worker loses
nothing; while it works on one, that stays invisible to others. A thread takes one at a time: of a
message group (FIFO) SQS hands out nothing while one of it is out, or waits to come back.
"""

import contextlib
import math
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.queues.scan import Queued
from actonce_core.backoff import EFFECT_BACKOFF_GROWTH, seconds_until_back
from actonce_core.delivery import Delivery
from actonce_core.locking.consumer import Consumer
from actonce_core.records import delivery_record
from actonce_core.transient import is_transient

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONG_POLL_SECONDS = 10
HEARTBEATS_PER_VISIBILITY = 3
AFTER_NO_ANSWER_SECONDS = 1.0
WHILE_PAUSED_SECONDS = 1.0


@dataclass(slots=True)
class Worker:
    """Takes deliveries until it is told to stop.

    Attributes:
        sqs: a client.
        queue_url: of RequestsQueue.
        consumer: brings one delivery to its end.
        threads: deliveries that are worked on side by side.
        visibility: seconds for which a delivery is invisible to others after each heartbeat.
        report: told of each end, see `delivery_record`.
        is_paused: whether to leave the messages in the queue for now.
    """

    sqs: "SQSClient"
    queue_url: str
    consumer: Consumer
    threads: int
    visibility: int
    report: Callable[[dict[str, Any]], None]
    is_paused: Callable[[], bool] = lambda: False
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Receive nothing more; what is being worked on is finished, the rest given back."""
        self._stopped.set()

    def run(self) -> None:
        """Work until `stop`; returns when everything in hand is finished.

        Raises:
            ClientError: the queue cannot be read (no such queue, not allowed).
        """
        failures: list[Exception] = []

        def work() -> None:
            try:
                while not self._stopped.is_set():
                    if (one := self._receive()) is not None:
                        self._work_on(one)
            except Exception as error:  # noqa: BLE001 - raised again, in the caller
                failures.append(error)
                self.stop()

        threads = [threading.Thread(target=work, name=f"work-{n}") for n in range(self.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _receive(self) -> Queued | None:
        """A long poll; repeated without an answer, it is the same attempt (FIFO).

        With the attempt's id SQS gives the same messages again, instead of locking their groups
        until their visibility timeout. Source: ReceiveMessage, ReceiveRequestAttemptId.
        """
        is_fifo = self.queue_url.endswith(".fifo")
        attempt = {"ReceiveRequestAttemptId": str(uuid.uuid4())} if is_fifo else {}
        while not self._stopped.is_set():
            if self.is_paused():
                self._stopped.wait(WHILE_PAUSED_SECONDS)
                continue
            try:
                answer = self.sqs.receive_message(
                    QueueUrl=self.queue_url,
                    MaxNumberOfMessages=1,
                    WaitTimeSeconds=LONG_POLL_SECONDS,
                    VisibilityTimeout=self.visibility,
                    MessageSystemAttributeNames=["All"],
                    MessageAttributeNames=["All"],
                    **attempt,  # type: ignore[arg-type]
                )
            except ClientError as error:
                if not is_transient(error):
                    raise
                self._stopped.wait(AFTER_NO_ANSWER_SECONDS)
            except BotoCoreError:
                self._stopped.wait(AFTER_NO_ANSWER_SECONDS)
            else:
                return next(map(Queued.of, answer.get("Messages", [])), None)
        return None

    def _work_on(self, one: Queued) -> None:
        if self._stopped.is_set():
            self._show_again(one, 0)
            return
        delivery = one.delivery
        with self._kept_invisible(one):
            error = self._failure(delivery)
        if error is None:
            self._delete(one)
        else:
            self._show_again(one, _seconds_until_back(delivery))

    def _failure(self, delivery: Delivery) -> Exception | None:
        """What kept the delivery from its end; None: nothing did."""
        try:
            end = self.consumer.consume(delivery)
        except Exception as error:  # noqa: BLE001 - whatever it was, the delivery is not deleted
            self.report(delivery_record(delivery, error, datetime.now(UTC)))
            return error
        self.report(delivery_record(delivery, end, datetime.now(UTC)))
        return None

    @contextlib.contextmanager
    def _kept_invisible(self, one: Queued) -> Iterator[None]:
        """While the context is open it is hidden from others, again and again; after it no more."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(self.visibility / HEARTBEATS_PER_VISIBILITY):
                self._show_again(one, self.visibility)

        thread = threading.Thread(target=beat, name="visibility", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _delete(self, one: Queued) -> None:
        """If it cannot be deleted it comes again, and is suppressed."""
        with contextlib.suppress(ClientError, BotoCoreError):
            self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=one.receipt_handle)

    def _show_again(self, one: Queued, seconds: int) -> None:
        """Have it visible in so many seconds; without an answer, when its time is over."""
        with contextlib.suppress(ClientError, BotoCoreError):
            self.sqs.change_message_visibility(
                QueueUrl=self.queue_url,
                ReceiptHandle=one.receipt_handle,
                VisibilityTimeout=seconds,
            )


def _seconds_until_back(delivery: Delivery) -> int:
    chance = random.random()  # noqa: S311 - not for secrets
    return math.ceil(seconds_until_back(delivery.receive_count, chance, EFFECT_BACKOFF_GROWTH))
