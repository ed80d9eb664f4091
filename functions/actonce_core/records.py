"""What the functions record of their work: the `deliveries` stream, its times and log lines."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from actonce_core.execution import execution_name
from actonce_core.message import Refusal

if TYPE_CHECKING:
    from actonce_core.delivery import Delivery
    from actonce_core.result import DeliveryResult

VERSION = 1
"""Of the line format; a reader refuses versions that it does not know."""


def timestamp(moment: datetime) -> str:
    """ISO 8601, UTC, milliseconds: `2026-01-31T09:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def delivery_record(
    delivery: "Delivery",
    result: "DeliveryResult | Exception",
    at: datetime,
    message_id: str | None = None,
) -> dict[str, Any]:
    """One line of the stream, never with the body.

    Args:
        delivery: which.
        result: how it ended.
        at: when.
        message_id: of a delivery that failed, for its error does not say it.

    Returns:
        `stream`, `version`, `at`, `end` (started, performed, suppressed, refused or failed),
        `reason` and `detail` (refused), `error` (failed: the exception's type and AWS's error
        code), `message_id`, `execution_name` and `fingerprint` where known, `sqs_message_id`,
        `receive_count`, `sent_at`, `first_received_at`. Times are ISO 8601, UTC, milliseconds.
    """

    def time(name: str) -> str | None:
        moment = delivery.time(name)
        return None if moment is None else timestamp(moment)

    record: dict[str, Any] = {
        "stream": "deliveries",
        "version": VERSION,
        "at": timestamp(at),
        "sqs_message_id": delivery.sqs_message_id,
        "receive_count": delivery.receive_count,
        "sent_at": time("SentTimestamp"),
        "first_received_at": time("ApproximateFirstReceiveTimestamp"),
    }
    if isinstance(result, Exception):
        record["message_id"] = message_id  # null: it has none
        end = {"end": "failed", "error": error_name(result)}
    else:
        message, outcome = result.message, result.outcome
        if message is not None:
            message_id = message.message_id
            record["fingerprint"] = message.fingerprint
        if isinstance(outcome, Refusal):
            message_id = message_id or outcome.message_id
            end = {"end": "refused", "reason": str(outcome.reason), "detail": outcome.detail}
        else:
            end = {"end": str(outcome)}
    if message_id is not None:
        record |= {"message_id": message_id, "execution_name": execution_name(message_id)}
    return record | end


def error_name(error: BaseException) -> str:
    """The exception's type and AWS's error code, but not its message, which may quote the body."""
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return f"{type(error).__name__}: {code}" if code else type(error).__name__


def log_line(record: Mapping[str, Any]) -> str:
    """A record as one line of JSON; in ASCII if it has a character that is not printable.

    `aws logs tail` prints lines raw, and others write the ids and errors in them: characters that
    reverse a line, or control a terminal, must be escapes. Both forms parse to the same record.
    Values that JSON does not have become their text.
    """
    line = json.dumps(record, ensure_ascii=False, default=str, separators=(",", ":"))
    if line.isprintable():
        return line
    line = json.dumps(record, default=str, separators=(",", ":"))
    return line.replace("\x7f", "\\u007f")
