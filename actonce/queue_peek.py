"""Reading a whole queue without consuming it."""

import base64
import contextlib
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HOLD_SECONDS = 30
"""How long a reader that dies keeps messages from others; for long queues it grows (below)."""

LONG_POLL_SECONDS = 1
"""A short poll asks some of SQS's servers and is quick; only a long poll asks all of them."""

_LONGEST_HOLD = 43_200  # seconds, SQS: visibility timeout
_READ_PER_SECOND = 100  # a cautious guess, for how long a long queue is held


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that lies in a queue, in ReceiveMessage's form.

    Attributes:
        attributes: SQS's own, such as `SentTimestamp` (milliseconds since the epoch, as text).
        message_attributes: the sender's (`{name: {"DataType": ..., "StringValue": ...}}`).
    """

    sqs_message_id: str
    body: str
    attributes: Mapping[str, str]
    message_attributes: Mapping[str, Mapping[str, Any]]
    receipt_handle: str

    @property
    def sent_at(self) -> datetime:
        """When it was sent (UTC)."""
        return datetime.fromtimestamp(int(self.attributes["SentTimestamp"]) / 1000, UTC)

    def text_attribute(self, name: str) -> str | None:
        """The sender's attribute of type String or Number, or None."""
        value = self.message_attributes.get(name, {}).get("StringValue")
        return value if isinstance(value, str) else None


def event_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """A message attribute as ReceiveMessage gives it, in the form of a Lambda event."""
    form = {"dataType": value["DataType"]}
    if "StringValue" in value:
        form["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        form["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    return form


class QueueReader:
    """Takes hold of every message of a queue, and gives back what is not deleted.

    Two readers at once hide messages from each other. So a reader goes round again, after it gave
    everything back, until a round brings nothing new and nobody else holds anything; at most until
    what a dead reader held must have come back.

    A context manager: whatever ends the block, what is held is given back.

    Args:
        wait_for_others: seconds after which what others hold is waited for no more; None for as
            long as a reader like this one may hold it.
    """

    def __init__(
        self, sqs: "SQSClient", queue_url: str, *, wait_for_others: float | None = None
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._wait_for_others = wait_for_others
        self._handles: dict[str, str] = {}
        self.held_elsewhere = 0
        """After `messages`: how many others still held, which it may have missed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._give_back()

    def messages(self) -> Iterator[Queued]:
        """Every message once. At its end all of them are held, until the block ends."""
        visible, self.held_elsewhere = self._counts()
        hold = min(HOLD_SECONDS + visible // _READ_PER_SECOND, _LONGEST_HOLD)
        patience = hold + 5 if self._wait_for_others is None else self._wait_for_others
        deadline = time.monotonic() + patience
        seen: set[str] = set()
        everywhere = False
        while True:
            known, held_before = len(seen), self.held_elsewhere
            for message in self._round(hold, everywhere=everywhere):
                if message.sqs_message_id not in seen:
                    seen.add(message.sqs_message_id)
                    yield message
            _, in_flight = self._counts()
            self.held_elsewhere = max(0, in_flight - len(self._handles))
            # What others held before this round they may have given back after its last look.
            alone = not held_before and not self.held_elsewhere
            if (everywhere and alone and len(seen) == known) or time.monotonic() > deadline:
                return
            self._give_back()
            everywhere = True
            # Two readers in step would go on taking the same halves.
            time.sleep(random.uniform(0, 0.3))  # noqa: S311 - not for secrets

    def delete(self, message: Queued) -> None:
        """Delete a message; harmless if it is gone."""
        handle = self._handles.get(message.sqs_message_id, message.receipt_handle)
        try:
            self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=handle)
        except ClientError as error:
            if "ReceiptHandle" not in error.response["Error"]["Code"]:
                raise
        self._handles.pop(message.sqs_message_id, None)

    def _round(self, hold: int, *, everywhere: bool) -> Iterator[Queued]:
        """Receive until there is nothing more to receive."""
        while True:
            try:
                answer = self._sqs.receive_message(
                    QueueUrl=self._queue_url,
                    MaxNumberOfMessages=10,
                    VisibilityTimeout=hold,
                    WaitTimeSeconds=LONG_POLL_SECONDS if everywhere else 0,
                    MessageAttributeNames=["All"],
                    MessageSystemAttributeNames=["All"],
                )
            except ClientError as error:
                if error.response["Error"]["Code"].rpartition(".")[2] == "OverLimit":
                    return
                raise
            messages = [_queued(message) for message in answer.get("Messages", [])]
            # What is held already and comes again has been held for too long: the round is over.
            new = [message for message in messages if message.sqs_message_id not in self._handles]
            self._handles |= {m.sqs_message_id: m.receipt_handle for m in messages}
            yield from messages
            if not new:
                return

    def _counts(self) -> tuple[int, int]:
        """How many messages are visible, and how many are held by anybody."""
        answer = self._sqs.get_queue_attributes(
            QueueUrl=self._queue_url,
            AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
        )["Attributes"]
        return (
            int(answer["ApproximateNumberOfMessages"]),
            int(answer["ApproximateNumberOfMessagesNotVisible"]),
        )

    def _give_back(self) -> None:
        """Make what is held visible at once. What cannot be given back comes back by itself."""
        handles = list(self._handles.values())
        self._handles.clear()
        with contextlib.suppress(ClientError):
            for start in range(0, len(handles), 10):
                self._sqs.change_message_visibility_batch(
                    QueueUrl=self._queue_url,
                    Entries=[
                        {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                        for index, handle in enumerate(handles[start : start + 10])
                    ],
                )


def _queued(message: Mapping[str, Any]) -> Queued:
    return Queued(
        sqs_message_id=message["MessageId"],
        body=message["Body"],
        attributes=message.get("Attributes", {}),
        message_attributes=message.get("MessageAttributes", {}),
        receipt_handle=message["ReceiptHandle"],
    )
