"""An SQS record, as the event source mapping passes it to a function."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SOURCE_MESSAGE_ID = "source_message_id"
"""Message attribute with a message's first SQS id, once it is handed on or sent back."""

SOURCE_DEDUPLICATION_ID = "source_deduplication_id"
"""The same for its producer's deduplication id, on a FIFO queue."""

SOURCE_GROUP_ID = "source_group_id"
"""The same for its message group: in UnstartedQueue every message is its own group, because SQS
hands out only ten messages of a group at a time."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One SQS record.

    Attributes:
        sqs_message_id: SQS's id of this message; a re-send has another.
        attributes: SQS's own (times are milliseconds since the epoch, as text).
        message_attributes: the producer's, as `{name: {"dataType": ..., "stringValue": ...}}`.
    """

    sqs_message_id: str
    body: str
    attributes: Mapping[str, str]
    message_attributes: Mapping[str, Mapping[str, Any]]
    receipt_handle: str = ""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Delivery":
        """Read one element of an SQS event's `Records`."""
        return cls(
            sqs_message_id=record["messageId"],
            body=record["body"],
            attributes=record.get("attributes") or {},
            message_attributes=record.get("messageAttributes") or {},
            receipt_handle=record.get("receiptHandle", ""),
        )

    @property
    def receive_count(self) -> int:
        """How often SQS has delivered this message, this delivery included."""
        return int(self.attributes.get("ApproximateReceiveCount", "1"))

    def time(self, name: str) -> datetime | None:
        """An attribute of SQS's that is a time, in UTC; None where the record lacks it."""
        ms = self.attributes.get(name)
        return None if ms is None else datetime.fromtimestamp(int(ms) / 1000, UTC)

    def age_seconds(self, now: datetime) -> float:
        """Seconds since SQS took the message; 0 if its clock is ahead of ours."""
        sent_at = self.time("SentTimestamp")
        return 0.0 if sent_at is None else max(0.0, (now - sent_at).total_seconds())

    @property
    def message_group_id(self) -> str | None:
        """The message group on a FIFO queue; None on a standard one.

        A standard queue may carry group ids too, but for fairness, not for order.
        """
        is_fifo = "SequenceNumber" in self.attributes
        return self.attributes.get("MessageGroupId") if is_fifo else None

    def text_attribute(self, name: str) -> str | None:
        """A producer's attribute of type String or Number, or None."""
        value = self.message_attributes.get(name, {}).get("stringValue")
        return value if isinstance(value, str) else None

    @property
    def deduplication_id(self) -> str | None:
        """The producer's deduplication id, even after the message was sent back; FIFO only."""
        own = self.attributes.get("MessageDeduplicationId")
        return own and (self.text_attribute(SOURCE_DEDUPLICATION_ID) or own)

    @property
    def original_sqs_message_id(self) -> str:
        """The SQS id that the message had when its producer sent it."""
        return self.text_attribute(SOURCE_MESSAGE_ID) or self.sqs_message_id
