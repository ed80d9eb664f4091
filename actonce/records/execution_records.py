"""The `executions` and `dead_letters` streams, out of the histories of ProcessMessage's executions.

One call of GetExecutionHistory tells all of an execution: its status changes, its outcome, what it
posted to DeadLetterQueue and what was decided. EventBridge tells the status changes only.
"""

from collections.abc import Sequence
from typing import Any

from actonce.messages import history
from actonce_core.histories.events import Event
from actonce_core.histories.stays import dead_letter_records, message_id_of
from actonce_core.records import timestamp

VERSION = 1
"""Of the `executions` stream's lines; a reader refuses versions it does not know."""

Record = dict[str, Any]


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
    for step in history.steps(events):
        if step.what == "started":
            started_at = timestamp(step.at)
        ended = step.what == "ended"
        # A redrive is a start of the same execution: it runs again, from when it first began.
        if not ended and step.what not in ("started", "redriven"):
            continue
        lines.append(
            {
                "stream": "executions",
                "version": VERSION,
                "at": timestamp(step.at),
                "execution_name": name,
                "message_id": message_id,
                "status": step.detail["status"] if ended else "RUNNING",
                "started_at": started_at,
                "stopped_at": timestamp(step.at) if ended else None,
                "outcome": step.detail.get("outcome") if ended else None,
                "error": step.detail.get("error") if ended else None,
            }
        )
    return lines
