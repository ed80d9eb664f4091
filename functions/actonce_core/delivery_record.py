"""The `deliveries` stream: one structured log line per delivery, never with the body."""

from datetime import UTC, datetime
from typing import Any

from actonce_core.delivery import Delivery
from actonce_core.fingerprints import timestamp
from actonce_core.refusal import Refusal
from actonce_core.start import End

VERSION = 1
"""Of the line's form; a reader refuses versions it does not know."""


def delivery_record(delivery: Delivery, end: End | Exception, at: datetime) -> dict[str, Any]:
    """One line of the stream.

    Returns:
        `stream`, `version`, `at`, `end` (started, suppressed, refused or failed), `reason` and
        `detail` (refused), `error` (failed: the exception's type and, from AWS, its code),
        `message_id` and `fingerprint` where known, `execution_name`, `sqs_message_id`,
        `receive_count`, `sent_at`, `first_received_at`. Times are ISO 8601, UTC, milliseconds.
    """
    record: dict[str, Any] = {
        "stream": "deliveries",
        "version": VERSION,
        "at": timestamp(at),
        "sqs_message_id": delivery.sqs_message_id,
        "receive_count": delivery.receive_count,
        "sent_at": _sqs_time(delivery, "SentTimestamp"),
        "first_received_at": _sqs_time(delivery, "ApproximateFirstReceiveTimestamp"),
    }
    if isinstance(end, Exception):
        return record | {"end": "failed", "error": error_name(end)}
    if end.message is not None:
        record |= {
            "message_id": end.message.stored_message_id,
            "fingerprint": end.message.fingerprint,
            "execution_name": end.message.execution_name,
        }
    if isinstance(end.outcome, Refusal):
        record |= {
            "end": "refused",
            "reason": str(end.outcome.reason),
            "detail": end.outcome.detail,
        }
        if end.outcome.message_id is not None:
            record["message_id"] = end.outcome.message_id
        return record
    return record | {"end": str(end.outcome)}


def error_name(error: Exception) -> str:
    """The exception's type, and AWS's error code; not its message, which may quote the body."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return f"{type(error).__name__}: {code}" if code else type(error).__name__


def _sqs_time(delivery: Delivery, name: str) -> str | None:
    milliseconds = delivery.attributes.get(name)
    if milliseconds is None:
        return None
    return timestamp(datetime.fromtimestamp(int(milliseconds) / 1000, UTC))
