"""Hands a refused delivery on to UnstartedQueue, whole and with the reason."""

import base64
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from actonce_core.delivery import (
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from actonce_core.message import Refusal
from actonce_core.reason import Reason

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LARGEST_MESSAGE = 1024 * 1024
"""Most bytes that SQS takes in a message: body, and names, types and values of its attributes.
Source: "Amazon SQS message quotas", SQS Developer Guide."""

SOURCE_ATTRIBUTES = "source_attributes"
"""Message attribute with all of the producer's attributes as one JSON text: SQS takes ten
attributes, and the refusal needs up to seven."""

_SENT_BACK_WITH = frozenset({SOURCE_MESSAGE_ID, SOURCE_DEDUPLICATION_ID})
_OF_EVERY_REFUSAL = frozenset({"reason", "detail", SOURCE_MESSAGE_ID, "receive_count"})
_OF_A_REFUSAL = _OF_EVERY_REFUSAL | {SOURCE_GROUP_ID, SOURCE_DEDUPLICATION_ID, SOURCE_ATTRIBUTES}


def was_refused(names: AbstractSet[str], reason: str | None) -> bool:
    """Whether message attributes are a refusal's: they have its names, no others, and its reason.

    A producer may use some of these names for its own attributes.
    """
    return _OF_EVERY_REFUSAL <= names <= _OF_A_REFUSAL and reason in list(Reason)


def unstarted_attributes(delivery: Delivery, refusal: Refusal) -> dict[str, Any]:
    """A refused delivery's message attributes, in SQS's form."""
    texts = {
        "reason": str(refusal.reason),
        "detail": refusal.detail,
        SOURCE_MESSAGE_ID: delivery.original_sqs_message_id,
        SOURCE_GROUP_ID: delivery.message_group_id,
        SOURCE_DEDUPLICATION_ID: delivery.deduplication_id,
        SOURCE_ATTRIBUTES: _source_attributes(delivery),
    }
    attributes = {
        name: {"DataType": "String", "StringValue": text} for name, text in texts.items() if text
    }
    count = {"DataType": "Number", "StringValue": str(delivery.receive_count)}
    return attributes | {"receive_count": count}


def _source_attributes(delivery: Delivery) -> str | None:
    """The producer's attributes as one JSON text.

    A message that was moved back from UnstartedQueue with the attributes of its last refusal keeps
    that text: packed again, it would grow with every round.
    """
    if was_refused(delivery.message_attributes.keys(), delivery.text_attribute("reason")):
        return delivery.text_attribute(SOURCE_ATTRIBUTES)
    own = {
        name: {
            key: value[key]
            for key in ("dataType", "stringValue", "binaryValue")
            if value.get(key) is not None
        }
        for name, value in delivery.message_attributes.items()
        if name not in _SENT_BACK_WITH
    }
    return json.dumps(own, sort_keys=True) if own else None


def has_room(body: str, attributes: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether SQS takes a message with this body and these attributes."""
    texts = [text for name, value in attributes.items() for text in (name, *value.values())]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in (body, *texts))
    return size <= LARGEST_MESSAGE


def _as_they_came(delivery: Delivery) -> dict[str, Any]:
    """The producer's attributes in SQS's form; with them the message is no larger than it was."""
    attributes: dict[str, Any] = {}
    for name, value in delivery.message_attributes.items():
        attributes[name] = {"DataType": value["dataType"]}
        if value.get("binaryValue") is not None:
            attributes[name]["BinaryValue"] = base64.b64decode(value["binaryValue"])
        else:
            attributes[name]["StringValue"] = value.get("stringValue")
    return attributes


class UnstartedQueue:
    """Sends to the queue."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        self.sqs = sqs
        self._queue_url = queue_url

    def send_to_unstarted(self, delivery: Delivery, refusal: Refusal) -> None:
        """Send the delivery there, its body verbatim.

        A body of nearly 1 MiB leaves no room for the reason. Then the message keeps the attributes
        that it came with, as if SQS had moved it; whoever looks at it reads it again.

        Raises:
            ClientError: it could not be sent; the delivery must not be acknowledged.
        """
        attributes = unstarted_attributes(delivery, refusal)
        if not has_room(delivery.body, attributes):
            attributes = _as_they_came(delivery)
        fifo: dict[str, Any] = {}
        if delivery.message_group_id is not None:  # UnstartedQueue is then a FIFO queue, too
            # SQS drops a second copy, of a delivery whose deletion was lost. The producer's
            # deduplication id would also drop other content under that id.
            unique = delivery.sqs_message_id
            fifo = {"MessageGroupId": unique, "MessageDeduplicationId": unique}
        self.sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=delivery.body,
            MessageAttributes=attributes,
            **fifo,
        )
