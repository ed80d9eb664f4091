"""A consumer outside Lambda: it polls the queue, keeps what it works on, and deletes what is done.

Invariants: a delivery is deleted only after `Consumer.consume` returned, so a killed worker loses
nothing; while it works, its deliveries stay invisible to others; of a message group (FIFO) nothing
is tried after the first failure.
"""

import contextlib
import math
import random
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.queues.scan import event_form
from actonce_core.delivery import EFFECT_BACKOFF_GROWTH, Delivery, seconds_until_back
from actonce_core.locking.consumer import Consumer
from actonce_core.records import delivery_record
from actonce_core.transient import is_transient

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONG_POLL_SECONDS = 10
HEARTBEATS_PER_VISIBILITY = 3
AFTER_NO_ANSWER_SECONDS = 1.0
WHILE_PAUSED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Received:
    """A delivery, and what it takes to delete it."""

    delivery: Delivery
    receipt_handle: str


@dataclass(slots=True)
class Worker:
    """Takes deliveries until it is told to stop.

    Attributes:
        sqs: a client.
        queue_url: of RequestsQueue.
        consumer: brings one delivery to its end.
        threads: deliveries that are worked on side by side.
        batch: deliveries that a thread receives at once, and works through in their order.
        visibility: seconds for which a delivery is invisible to others after each heartbeat.
        report: told of each end, see `delivery_record`.
        is_paused: whether to leave the messages in the queue for now.
    """

    sqs: "SQSClient"
    queue_url: str
    consumer: Consumer
    threads: int
    batch: int
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
                    self._work_through(self._receive())
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

    def _receive(self) -> Sequence[Received]:
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
                    MaxNumberOfMessages=self.batch,
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
                return [received(message) for message in answer.get("Messages", [])]
        return []

    def _work_through(self, batch: Sequence[Received]) -> None:
        left = {one.receipt_handle: one for one in batch}
        failed_groups: set[str | None] = set()
        with self._kept_invisible(left) as let_go:
            for one in batch:
                group = one.delivery.message_group_id
                if self._stopped.is_set() or (group is not None and group in failed_groups):
                    continue
                error = self._failure(one.delivery)
                let_go(one)
                if error is None:
                    self._delete(one)
                else:
                    failed_groups.add(group)
                    # The rest of its group waits for it: SQS hands nothing else of it out.
                    self._show_again(one, _seconds_until_back(one.delivery))
        for one in left.values():
            self._show_again(one, 0)

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
    def _kept_invisible(
        self, left: MutableMapping[str, Received]
    ) -> Iterator[Callable[[Received], None]]:
        """While the context is open, what is left is hidden from others, again and again.

        What is let go is hidden no more: when it comes back is for who lets it go to say.
        """
        ended = threading.Event()
        hiding = threading.Lock()

        def beat() -> None:
            while not ended.wait(self.visibility / HEARTBEATS_PER_VISIBILITY):
                for one in list(left.values()):
                    with hiding:
                        if one.receipt_handle in left:
                            self._show_again(one, self.visibility)

        def let_go(one: Received) -> None:
            with hiding:
                del left[one.receipt_handle]

        thread = threading.Thread(target=beat, name="visibility", daemon=True)
        thread.start()
        try:
            yield let_go
        finally:
            ended.set()
            thread.join()

    def _delete(self, one: Received) -> None:
        """If it cannot be deleted it comes again, and is suppressed."""
        with contextlib.suppress(ClientError, BotoCoreError):
            self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=one.receipt_handle)

    def _show_again(self, one: Received, seconds: int) -> None:
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


def received(message: Mapping[str, Any]) -> Received:
    """A message of ReceiveMessage's answer, in the form that Lambda gives it to a function."""
    return Received(
        Delivery(
            sqs_message_id=message["MessageId"],
            body=message["Body"],
            attributes=message.get("Attributes", {}),
            message_attributes={
                name: event_form(value)
                for name, value in message.get("MessageAttributes", {}).items()
            },
        ),
        message["ReceiptHandle"],
    )
