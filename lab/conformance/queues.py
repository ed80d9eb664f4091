"""SQS in memory: the queue that is consumed, and the queues for a person."""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.conformance.process import Unsupported
from lab.conformance.world import World

Record = dict[str, Any]
"""A delivery as the event source mapping hands it to a function."""

Deliver = Callable[[Record, str, Callable[[], None]], None]
"""Starts a consumer with a record, a name, and a function that acknowledges the delivery."""

DEDUPLICATION_MILLISECONDS = 300_000
"""How long a FIFO queue remembers a deduplication id."""

_KNOWN_IN_SEND_MESSAGE = frozenset(
    {"QueueUrl", "MessageBody", "MessageAttributes", "MessageGroupId", "MessageDeduplicationId"}
)

SENT_BASE = 1_767_600_000_000


class OutputQueues:
    """Bodies in UnstartedQueue and DeadLetterQueue, which nothing consumes.

    `fifo`: the FIFO queues' URLs.
    """

    def __init__(self, world: World, fifo: frozenset[str] = frozenset()) -> None:
        self._world = world
        self._fifo = fifo
        self._kept: dict[str, list[str]] = {}
        self._deduplication: dict[tuple[str, str], int] = {}

    def state(self) -> Hashable:
        """All their messages, and the deduplication ids."""
        return (
            tuple((url, tuple(kept)) for url, kept in sorted(self._kept.items())),
            frozenset(self._deduplication.items()),
        )

    def bodies(self, queue_url: str) -> list[str]:
        """The bodies of a queue's messages."""
        return list(self._kept.get(queue_url, []))

    def keep(self, queue_url: str, body: str) -> None:
        """Take a message that SQS moves here."""
        self._kept.setdefault(queue_url, []).append(body)

    def remove(self, queue_url: str, body: str) -> None:
        """Delete a message, as an operator does once it is dealt with."""
        self._kept[queue_url].remove(body)

    def send_message(self, **request: Any) -> dict[str, Any]:
        """See SendMessage, API reference."""
        unknown = request.keys() - _KNOWN_IN_SEND_MESSAGE
        if unknown:
            raise Unsupported(f"SendMessage: {sorted(unknown)}")
        if ("MessageGroupId" in request) != (request["QueueUrl"] in self._fifo):
            raise Unsupported("SendMessage: a group on a standard queue, or none on a FIFO queue")
        kept = self._kept.setdefault(request["QueueUrl"], [])
        deduplication_id = request.get("MessageDeduplicationId")
        if deduplication_id is not None:
            key = request["QueueUrl"], deduplication_id
            first = self._deduplication.get(key)
            if first is not None and self._world.now - first < DEDUPLICATION_MILLISECONDS:
                return {"MessageId": "known already"}
            self._deduplication[key] = self._world.now
        kept.append(request["MessageBody"])
        return {"MessageId": f"kept-{len(kept)}"}


@dataclass(slots=True)
class _Queued:
    number: int
    body: str
    sent_at: int
    attributes: Mapping[str, str]
    receives: int = 0
    receive_round: int = 0
    deliveries_at_once: int = 1
    in_flight: bool = False


@dataclass(slots=True)
class RequestsQueue:
    """The queue that is consumed: delivers at least once, and again unless acknowledged.

    A visible message is delivered at once; the consumer's first step may still come late.

    Attributes:
        deliver: starts a consumer.
        visibility: the visibility timeout, in milliseconds.
        most_receives: `maxReceiveCount`; after it the message goes to `parked`.
        is_fifo: deduplicates for five minutes, and has one message of a group in flight.
    """

    world: World
    deliver: Deliver
    parked: OutputQueues
    parked_url: str
    visibility: int
    most_receives: int
    is_fifo: bool = False
    _messages: dict[int, _Queued] = field(default_factory=dict)
    _deduplication: dict[str, int] = field(default_factory=dict)
    _sent: int = 0

    def state(self) -> Hashable:
        """All but the times, which are in the world's timers."""
        return (
            tuple(
                (m.number, m.receives, m.receive_round, m.in_flight)
                for m in self._messages.values()
            ),
            tuple(self._deduplication.items()),
            self._sent,
        )

    def send(
        self,
        body: Any,
        *,
        group: str = "",
        deduplication_id: str = "",
        deliveries_at_once: int = 1,
        again_after: int | None = None,
    ) -> None:
        """Send a message.

        Args:
            body: JSON, or text as it is.
            group: on a FIFO queue.
            deduplication_id: on a FIFO queue.
            deliveries_at_once: a standard queue may deliver a message several times.
            again_after: milliseconds after which a standard queue delivers it once more, in any
                case.
        """
        text = body if isinstance(body, str) else json.dumps(body)
        self._sent += 1
        attributes: dict[str, str] = {}
        if self.is_fifo:
            first = self._deduplication.get(deduplication_id)
            if first is not None and self.world.now - first < DEDUPLICATION_MILLISECONDS:
                self.world.tell("SQS", f"drops {text}: its deduplication id is known")
                return
            self._deduplication[deduplication_id] = self.world.now
            attributes = {
                "MessageGroupId": group,
                "MessageDeduplicationId": deduplication_id,
                "SequenceNumber": str(self._sent),
            }
            deliveries_at_once, again_after = 1, None
        message = _Queued(
            self._sent,
            text,
            self.world.now,
            attributes,
            deliveries_at_once=deliveries_at_once,
        )
        self._messages[message.number] = message
        self._receive()
        if again_after is not None:
            self.world.at(
                self.world.now + again_after,
                ("again", message.number),
                lambda: self._hand_out(message, message.receive_round),
            )

    def _receive(self) -> None:
        busy: set[str] = set()
        for message in list(self._messages.values()):
            group = message.attributes.get("MessageGroupId")
            if not message.in_flight and group not in busy:
                self._receive_one(message)
            if group is not None and message.number in self._messages:
                busy.add(group)

    def _receive_one(self, message: _Queued) -> None:
        if message.receives >= self.most_receives:
            self.world.tell("SQS", f"moves {message.body} to {self.parked_url}")
            del self._messages[message.number]
            self.parked.keep(self.parked_url, message.body)
            return
        message.in_flight = True
        self._visible_in(message, self.visibility)
        message.receive_round += 1
        this_round = message.receive_round
        for _ in range(message.deliveries_at_once):
            self._hand_out(message, this_round)
        message.deliveries_at_once = 1

    def _hand_out(self, message: _Queued, receive_round: int) -> None:
        message.receives += 1
        name = f"consumer {message.number}.{message.receives}"
        self.world.tell("SQS", f"delivers {message.body} to {name}")
        self.deliver(self._record(message), name, lambda: self._acknowledge(message, receive_round))

    def change_message_visibility_batch(self, **request: Any) -> dict[str, Any]:
        """See ChangeMessageVisibilityBatch, API reference; an old handle does nothing."""
        for entry in request["Entries"]:
            number, receive_round, _ = map(int, entry["ReceiptHandle"].split("-"))
            message = self._messages.get(number)
            if message is not None and message.in_flight and message.receive_round == receive_round:
                self._visible_in(message, entry["VisibilityTimeout"] * 1000)
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]], "Failed": []}

    def _visible_in(self, message: _Queued, milliseconds: int) -> None:
        self.world.at(
            self.world.now + milliseconds,
            ("visible", message.number),
            lambda: self._visible_again(message),
        )

    def _visible_again(self, message: _Queued) -> None:
        if message.number in self._messages:
            message.in_flight = False
            self._receive()

    def _acknowledge(self, message: _Queued, receive_round: int) -> None:
        # SQS accepts an earlier receive's receipt handle, but does not delete the message.
        if message.number in self._messages and message.receive_round == receive_round:
            del self._messages[message.number]
            self._receive()

    @staticmethod
    def _record(message: _Queued) -> Record:
        return {
            "messageId": f"sqs-{message.number}",
            "receiptHandle": f"{message.number}-{message.receive_round}-{message.receives}",
            "body": message.body,
            "attributes": {
                "ApproximateReceiveCount": str(message.receives),
                "SentTimestamp": str(SENT_BASE + message.sent_at),
                **message.attributes,
            },
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:requests",
            "awsRegion": "us-east-1",
        }
