"""Handing a refused delivery on to UnstartedQueue, whole and with its reason."""

import base64
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypedDict

from actonce_core.delivery import (
    SOURCE_DEDUPLICATION_ID,
    SOURCE_GROUP_ID,
    SOURCE_MESSAGE_ID,
    Delivery,
)
from actonce_core.message import Reason, Refusal

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LARGEST_MESSAGE = 1024 * 1024
"""Bytes of the largest message that SQS takes: its body, its attributes' names, types and values.
Source: "Amazon SQS message quotas", SQS Developer Guide."""

SOURCE_ATTRIBUTES = "source_attributes"
"""Message attribute with the producer's own attributes as one JSON text: SQS takes ten, and the
refusal needs up to seven of them."""

_SENT_BACK_WITH = frozenset({SOURCE_MESSAGE_ID, SOURCE_DEDUPLICATION_ID})
_OF_EVERY_REFUSAL = frozenset({"reason", "detail", SOURCE_MESSAGE_ID, "receive_count"})
_OF_A_REFUSAL = _OF_EVERY_REFUSAL | {SOURCE_GROUP_ID, SOURCE_DEDUPLICATION_ID, SOURCE_ATTRIBUTES}


def was_refused(names: AbstractSet[str], reason: str | None) -> bool:
    """Whether message attributes are a refusal's: its names, no others, and a reason of ours.

    A producer may use some of these names too; with any other name, or reason, they are its own.
    """
    return _OF_EVERY_REFUSAL <= names <= _OF_A_REFUSAL and reason in list(Reason)


def unstarted_attributes(delivery: Delivery, refusal: Refusal) -> dict[str, Any]:
    """The message attributes under which a refused delivery is found again, in SQS's form."""
    attributes: dict[str, Any] = {
        "reason": {"DataType": "String", "StringValue": str(refusal.reason)},
        "detail": {"DataType": "String", "StringValue": refusal.detail},
        SOURCE_MESSAGE_ID: {
            "DataType": "String",
            "StringValue": delivery.original_sqs_message_id,
        },
        "receive_count": {"DataType": "Number", "StringValue": str(delivery.receive_count)},
    }
    for name, value in (
        (SOURCE_GROUP_ID, delivery.message_group_id),
        (SOURCE_DEDUPLICATION_ID, delivery.deduplication_id),
    ):
        if value:
            attributes[name] = {"DataType": "String", "StringValue": value}
    own = _source_attributes(delivery)
    if own:
        attributes[SOURCE_ATTRIBUTES] = {"DataType": "String", "StringValue": own}
    return attributes


def _source_attributes(delivery: Delivery) -> str | None:
    """The producer's attributes as one JSON text.

    A message that was moved back from UnstartedQueue as it was, with the attributes of its last
    refusal, keeps the text that it has: packed again it would grow with every round.
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


class _Fifo(TypedDict, total=False):
    MessageGroupId: str
    MessageDeduplicationId: str


def _fifo(delivery: Delivery) -> _Fifo:
    """What a FIFO queue needs besides; UnstartedQueue is of RequestsQueue's type.

    Handed on twice, because its deletion was lost, a delivery is dropped once. Not by its
    producer's deduplication id: another content under it would be dropped, too.
    """
    if delivery.message_group_id is None:
        return {}
    return {
        "MessageGroupId": delivery.sqs_message_id,
        "MessageDeduplicationId": delivery.sqs_message_id,
    }


def has_room(body: str, attributes: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether SQS takes a message of this body with these attributes."""
    texts = [text for name, value in attributes.items() for text in (name, *value.values())]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in (body, *texts))
    return size <= LARGEST_MESSAGE


def _as_they_came(delivery: Delivery) -> dict[str, Any]:
    """The producer's attributes in SQS's form; with them the message is no larger than it was."""
    return {
        name: {
            "DataType": value["dataType"],
            **(
                {"BinaryValue": base64.b64decode(value["binaryValue"])}
                if value.get("binaryValue") is not None
                else {"StringValue": value.get("stringValue")}
            ),
        }
        for name, value in delivery.message_attributes.items()
    }


class UnstartedQueue:
    """The queue's edge."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        self.sqs = sqs
        self._queue_url = queue_url

    def hand_on(self, delivery: Delivery, refusal: Refusal) -> None:
        """Send the delivery there, body verbatim.

        Beside a body of nearly 1 MiB there is no room for the reason. Then it goes with the
        attributes that it came with, as SQS itself would move it; whoever looks reads it again.

        Raises:
            ClientError: it could not be sent. The delivery must then not be acknowledged.
        """
        attributes = unstarted_attributes(delivery, refusal)
        if not has_room(delivery.body, attributes):
            attributes = _as_they_came(delivery)
        self.sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=delivery.body,
            MessageAttributes=attributes,
            **_fifo(delivery),
        )
