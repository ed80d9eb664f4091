"""An execution's lines of the `executions` and `dead_letters` streams, out of its history.

One call of GetExecutionHistory tells all of an execution: its status changes, its outcome, what it
posted to DeadLetterQueue and what was decided. EventBridge tells the status changes only, and may
lose any of them.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from actonce_core.histories.events import Event, details, json_object
from actonce_core.histories.stays import VERSION, Record, dead_letter_records, message_id_of
from actonce_core.records import timestamp


def records(name: str, events: Sequence[Event]) -> list[Record]:
    """The lines of both streams that one history tells, in its order within each stream.

    Args:
        name: of the execution.
        events: its whole history, oldest first.
    """
    return _status_changes(name, events) + dead_letter_records(name, events)


def _status_changes(name: str, events: Sequence[Event]) -> list[Record]:
    message_id = message_id_of(events)
    lines: list[Record] = []
    started_at: str | None = None
    for event in events:
        kind, detail = event["type"], details(event)
        if not kind.startswith("Execution"):
            continue
        at = timestamp(event["timestamp"].astimezone(UTC))
        if kind == "ExecutionStarted":
            started_at = at
        # A redrive is a start of the same execution: it runs again, from when it first began.
        runs = kind in ("ExecutionStarted", "ExecutionRedriven")
        ended: dict[str, Any] = {} if runs else dict(detail)
        lines.append(
            {
                "stream": "executions",
                "version": VERSION,
                "at": at,
                "execution_name": name,
                "message_id": message_id,
                "status": "RUNNING" if runs else _STATUS_OF.get(kind, kind),
                "started_at": started_at,
                "stopped_at": None if runs else at,
                "outcome": json_object(ended.get("output")).get("outcome") or None,
                "error": ended.get("error") or None,
            }
        )
    return lines


_STATUS_OF = {
    "ExecutionSucceeded": "SUCCEEDED",
    "ExecutionFailed": "FAILED",
    "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}
