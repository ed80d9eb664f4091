"""What the functions write of what they did: the `deliveries` stream, its times and its lines."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from actonce_core.message import Refusal

if TYPE_CHECKING:
    from actonce_core.delivery import Delivery
    from actonce_core.start import End

VERSION = 1
"""Of a line's form; a reader refuses versions it does not know."""


def timestamp(moment: datetime) -> str:
    """ISO 8601, UTC, milliseconds: `2026-01-31T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def delivery_record(delivery: "Delivery", end: "End | Exception", at: datetime) -> dict[str, Any]:
    """One line of the stream, never with the body.

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
        "sent_at": _written(delivery.time("SentTimestamp")),
        "first_received_at": _written(delivery.time("ApproximateFirstReceiveTimestamp")),
    }
    if isinstance(end, Exception):
        return record | {"end": "failed", "error": error_name(end)}
    if end.message is not None:
        record |= {
            "message_id": end.message.message_id,
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


def log_line(record: Mapping[str, Any]) -> str:
    """A record as JSON on one line, legible where every character can be seen, else in ASCII.

    `aws logs tail` prints lines as they are, and ids and errors in them are written by others: what
    would turn a line around, or act on a terminal, is written as an escape. Parsed, both are the
    same record. What is not JSON's is written as its text.
    """
    line = json.dumps(record, ensure_ascii=False, default=str, separators=(",", ":"))
    if line.isprintable():
        return line
    line = json.dumps(record, default=str, separators=(",", ":"))
    return line.replace("\x7f", "\\u007f")


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment)
