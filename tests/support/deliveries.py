"""Deliveries and JSON for the tests of what runs in Lambda."""

import hashlib
import json
from typing import Any

from hypothesis import strategies as st

from actonce_core.delivery import Delivery

texts = st.text(st.characters(exclude_categories=["Cs"]))
"""Any text that UTF-8 can carry."""

message_ids = st.one_of(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"),
        min_size=1,
        max_size=500,
    ),
    st.from_regex(r"[0-9A-Za-z_-]{1,81}", fullmatch=True),
    st.from_regex(r"sha256-[0-9a-f]{63,65}", fullmatch=True),
    st.integers(min_value=1, max_value=1024).map(lambda length: "é" * length),
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def delivery(
    body: Any,
    *,
    sqs_message_id: str = "sqs-1",
    attributes: dict[str, str] | None = None,
    message_attributes: dict[str, dict[str, Any]] | None = None,
) -> Delivery:
    """A delivery of `body`: a text verbatim, any other value as JSON."""
    return Delivery.from_record(
        sqs_record(
            body,
            sqs_message_id=sqs_message_id,
            attributes=attributes,
            message_attributes=message_attributes,
        )
    )


def sqs_record(
    body: Any,
    *,
    sqs_message_id: str = "sqs-1",
    attributes: dict[str, str] | None = None,
    message_attributes: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """One element of an SQS event's `Records`, as the event source mapping writes it."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        "messageId": sqs_message_id,
        "receiptHandle": "receipt-handle",
        "body": text,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1767225600000",
            "SenderId": "AIDAEXAMPLE",
            "ApproximateFirstReceiveTimestamp": "1767225600123",
        }
        | (attributes or {}),
        "messageAttributes": message_attributes or {},
        "md5OfBody": hashlib.md5(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:requests",
        "awsRegion": "us-east-1",
    }


def text_attribute(value: str) -> dict[str, Any]:
    """A producer's attribute of type String, in the event's form."""
    return {
        "dataType": "String",
        "stringValue": value,
        "stringListValues": [],
        "binaryListValues": [],
    }
