"""Reading a whole queue without consuming it."""

import base64
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from actonce_core.delivery import Delivery

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_T = TypeVar("_T")
_R = TypeVar("_R")

HOLD_SECONDS = 30
"""How long a reader that dies keeps messages from others; for long queues it grows (below)."""

LONG_POLL_SECONDS = 1
"""A short poll asks some of SQS's servers and is quick; only a long poll asks all of them. Where
there is one server, it would only wait."""

MAX_ATTRIBUTES = 10
"""Of one message (SQS)."""

Attributes = dict[str, Any]
"""Message attributes by name."""

READERS = 8
"""Most receives of one reader at a time."""

_LONGEST_HOLD = 43_200  # seconds, SQS: visibility timeout
_READ_PER_SECOND = 50  # a cautious guess, for how long a long queue is held


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

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """A message of ReceiveMessage's answer."""
        return cls(
            sqs_message_id=message["MessageId"],
            body=message["Body"],
            attributes=message.get("Attributes", {}),
            message_attributes=message.get("MessageAttributes", {}),
            receipt_handle=message["ReceiptHandle"],
        )

    @property
    def delivery(self) -> Delivery:
        """The form that Lambda gives it to a function in."""
        own = {name: event_form(value) for name, value in self.message_attributes.items()}
        return Delivery(self.sqs_message_id, self.body, self.attributes, own)

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


def sqs_form(value: Mapping[str, Any]) -> dict[str, Any]:
    """A message attribute in the form of a Lambda event, in SendMessage's form."""
    form = {"DataType": value["dataType"]}
    if "stringValue" in value:
        form["StringValue"] = value["stringValue"]
    if "binaryValue" in value:
        form["BinaryValue"] = base64.b64decode(value["binaryValue"])
    return form


def text_form(text: str) -> dict[str, Any]:
    """A text as a message attribute, in SendMessage's form."""
    return {"DataType": "String", "StringValue": text}


def counts(sqs: "SQSClient", queue_url: str) -> tuple[int, int]:
    """How many messages are visible, and how many are held by anybody; about, says SQS."""
    answer = sqs.get_queue_attributes(
        QueueUrl=queue_url,
        AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    )["Attributes"]
    return (
        int(answer["ApproximateNumberOfMessages"]),
        int(answer["ApproximateNumberOfMessagesNotVisible"]),
    )


def hold_for(messages: int) -> int:
    """Seconds for which a reader of a queue of so many, held ones too, keeps them from others."""
    return min(HOLD_SECONDS + messages // _READ_PER_SECOND, _LONGEST_HOLD)


def held_by_another(number: int) -> str:
    """What to say, within a sentence, where so many could not be read."""
    return f"another reader holds {number:,} at this moment"


def receive(sqs: "SQSClient", queue_url: str, hold: int, *, most: int = 10) -> list[Queued]:
    """Up to `most` messages (1 to 10), held for `hold` seconds.

    None where as many are in flight as SQS allows: 120,000, of a FIFO queue 20,000.
    """
    try:
        answer = sqs.receive_message(
            QueueUrl=queue_url,
            MaxNumberOfMessages=most,
            VisibilityTimeout=hold,
            WaitTimeSeconds=0 if _is_one_server(sqs) else LONG_POLL_SECONDS,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        )
    except ClientError as error:
        if error.response["Error"]["Code"].rpartition(".")[2] == "OverLimit":
            return []
        raise
    return [Queued.of(message) for message in answer.get("Messages", [])]


def _is_one_server(sqs: "SQSClient") -> bool:
    """Whether it is an emulator on this machine, one server that knows every message."""
    return urlsplit(sqs.meta.endpoint_url).hostname in ("127.0.0.1", "localhost", "::1")


def give_back(sqs: "SQSClient", queue_url: str, handles: Sequence[str]) -> None:
    """Make messages visible at once. What cannot be given back comes back by itself."""

    def ten(start: int) -> None:
        with contextlib.suppress(ClientError, BotoCoreError):
            sqs.change_message_visibility_batch(
                QueueUrl=queue_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                    for index, handle in enumerate(handles[start : start + 10])
                ],
            )

    _side_by_side(ten, range(0, len(handles), 10))


def _side_by_side(act: Callable[[_T], _R], on: Sequence[_T]) -> list[_R]:
    """Each of them, several at a time where there are several."""
    if len(on) < 2:
        return [act(item) for item in on]
    with ThreadPoolExecutor(min(READERS, len(on)), thread_name_prefix="queue") as threads:
        return list(threads.map(act, on))


class QueueReader(AbstractContextManager["QueueReader"]):
    """Receives every message of a queue, and gives back those that are not deleted.

    Two readers at once hide messages from each other. So a reader gives everything back and starts
    another round, until a round brings nothing new and nobody else holds anything; at most until
    what a dead reader held must have come back. A round that leaves nothing visible, with nothing
    held by others, is the last one too, so that a long queue is read once.

    A context manager: whatever ends the block, it gives back what it holds.

    Args:
        wait_for_others: how many seconds to wait for what others hold; None: as long as a reader
            like this one may hold it.
        in_hand: for a caller that finishes messages as they come: about so many are received at a
            time, each is held no longer than those take, and a new message restarts the wait for
            others. None: all of them are held until the block ends.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        queue_url: str,
        *,
        wait_for_others: float | None = None,
        in_hand: int | None = None,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._wait_for_others = wait_for_others
        self._in_hand = in_hand
        self._handles: dict[str, str] = {}
        self.in_flight_elsewhere = 0
        """After `messages`: how many others still held, which it may have missed."""
        self.expected = 0
        """Once `messages` has begun: about how many there are to read."""

    def __exit__(self, *_: object) -> None:
        self._give_back()

    def messages(self, tell: Callable[[int], None] = lambda _: None) -> Iterator[Queued]:
        """Every message once. At its end all of them are held, until the block ends.

        Args:
            tell: is told now and then how many have been read.
        """
        read = (message for answers in self.receives() for answer in answers for message in answer)
        for number, message in enumerate(read, 1):
            if number % 100 == 0:
                tell(number)
            yield message

    def receives(self) -> Iterator[list[list[Queued]]]:
        """Every message once, as they come: of several receives at a time, by receive."""
        self.expected, self.in_flight_elsewhere = counts(self._sqs, self._queue_url)
        # What others hold counts too: a dead reader held it for as long as this whole queue asks.
        hold = hold_for(self.expected + self.in_flight_elsewhere)
        longest_wait = hold + 5 if self._wait_for_others is None else self._wait_for_others
        deadline: float | None = None
        seen: set[str] = set()
        known = (
            -1
        )  # after the round before; the first brings something new, if only that it is over
        while True:
            held_before = self.in_flight_elsewhere
            for answers in self._round(hold):
                fresh: list[list[Queued]] = []
                for answer in answers:  # a standard queue may have given one to two of them
                    own = {message.sqs_message_id: message for message in answer}
                    fresh.append([one for name, one in own.items() if name not in seen])
                    seen |= own.keys()
                yield fresh
            # What reading takes is nobody's fault; what others hold is waited for from here on.
            if deadline is None or (self._in_hand is not None and len(seen) > known):
                deadline = time.monotonic() + longest_wait
            visible, in_flight = counts(self._sqs, self._queue_url)
            self.in_flight_elsewhere = max(0, in_flight - len(self._handles))
            # What others held before this round they may have given back after its last look.
            alone = not held_before and not self.in_flight_elsewhere
            whole = len(seen) == known or not visible
            if (alone and whole) or time.monotonic() > deadline:
                return
            known = len(seen)
            self._give_back()
            # Two readers in step would go on taking the same halves.
            time.sleep(random.uniform(0, 0.3))  # noqa: S311 - not for secrets

    def delete(self, messages: Sequence[Queued]) -> set[str]:
        """Delete messages; the SQS ids of those that could not be. May be called in threads."""
        kept: set[str] = set()
        for start in range(0, len(messages), 10):
            entries: list[Any] = [
                # The newest handle: SQS may take an older one and delete nothing.
                {
                    "Id": str(number),
                    "ReceiptHandle": self._handles.get(one.sqs_message_id, one.receipt_handle),
                }
                for number, one in enumerate(messages[start : start + 10], start)
            ]
            answer = self._sqs.delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
            kept |= {
                messages[int(failure["Id"])].sqs_message_id for failure in answer.get("Failed", [])
            }
        for message in messages:
            if message.sqs_message_id not in kept:
                self._handles.pop(message.sqs_message_id, None)
        return kept

    def _round(self, hold: int) -> Iterator[list[list[Queued]]]:
        """Receive until there is nothing more to receive."""
        began = time.monotonic()
        read: set[str] = set()
        again = 0
        while True:
            left = max(0, self.expected - len(read))
            if read and self._in_hand is None:
                # Who reads slowly holds for longer, or the first come back before the last.
                needed = 1.5 * left * (time.monotonic() - began) / len(read)
                hold = min(max(hold, HOLD_SECONDS + int(needed)), _LONGEST_HOLD)
            in_hand = 10 * READERS if self._in_hand is None else self._in_hand
            readers = min(READERS, max(1, min(left, in_hand) // 10))
            take = partial(self._take, hold=hold, most=min(10, in_hand))
            answers = _side_by_side(take, range(readers))
            yield answers
            messages = [message for answer in answers for message in answer]
            # What was read already and comes again was held for too long; what has not come yet may
            # lie behind it, until all of it has come again.
            is_new = any(message.sqs_message_id not in read for message in messages)
            read |= {message.sqs_message_id for message in messages}
            again = 0 if is_new else again + len(messages)
            if not messages or again > len(read):
                return

    def _take(self, _: int, *, hold: int, most: int) -> list[Queued]:
        """Noted at once, so that whatever comes between gives these back as well."""
        messages = receive(self._sqs, self._queue_url, hold, most=most)
        self._handles |= {m.sqs_message_id: m.receipt_handle for m in messages}
        return messages

    def _give_back(self) -> None:
        handles = list(self._handles.values())
        self._handles.clear()
        give_back(self._sqs, self._queue_url, handles)
