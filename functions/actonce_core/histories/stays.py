"""The dead letters in an execution's history, also as lines of the `dead_letters` stream.

`statemachine/process_message.asl.json` runs one state at a time, so an event belongs to the state
that was entered last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from actonce_core.histories.events import Event, details, json_object
from actonce_core.records import timestamp

DEAD_LETTER = "DeadLetter"

DECISIONS = frozenset({"retry", "perform", "resolve", "reject"})

VERSION = 1
"""Of the line format; a reader refuses versions that it does not know."""

Record = dict[str, Any]


@dataclass(slots=True)
class DecisionWait:
    """A wait in the state DeadLetter, from the post to the decision or the time-out.

    Attributes:
        failure: `reason`, `error`, `cause`, `rounds`.
        decision: `decision`, `note` and, from this project's command line, `decided_at`,
            `decided_by`; empty while there is none.
        answered_at: when Step Functions received the answer; None while there is none.
        task_token: of the open task, if the history has it.
        over: a decision can no longer be made.
    """

    posted_at: datetime
    failure: dict[str, Any]
    decision: dict[str, Any] = field(default_factory=dict)
    answered_at: datetime | None = None
    task_token: str | None = None
    over: bool = False

    def as_json(self) -> dict[str, Any]:
        """For machines; without the token, because whoever has it can decide."""
        return {
            "posted_at": timestamp(self.posted_at),
            **self.failure,
            "awaiting_decision": not self.over,
            "decision": self.decision or None,
        }


def decision_waits(events: Sequence[Event]) -> list[DecisionWait]:
    """Every dead letter that the execution posted, in order."""
    waits: list[DecisionWait] = []
    answer: dict[str, Any] = {}
    inside = False
    for event in events:
        kind, detail = event["type"], details(event)
        at = event["timestamp"].astimezone(UTC)
        if kind.endswith("StateEntered"):
            inside, answer = detail["name"] == DEAD_LETTER, {}
            if inside:
                given = json_object(detail.get("input"))
                failure = given.get("failure") or {}
                waits.append(DecisionWait(at, {**failure, "rounds": given.get("rounds")}))
        elif kind == "ExecutionRedriven" and waits and waits[-1].over and not waits[-1].decision:
            waits.append(DecisionWait(at, waits[-1].failure))
            inside = True
        elif not inside:
            continue
        elif kind == "TaskScheduled":
            body = json_object(detail.get("parameters")).get("MessageBody")
            # The history has the body as text, or as the object that it was made from.
            posted = body if isinstance(body, dict) else json_object(body)
            waits[-1].task_token = posted.get("task_token")
        elif kind == "TaskSucceeded":
            answer = json_object(detail.get("output"))
        elif kind.endswith("StateExited"):
            waits[-1].decision, waits[-1].answered_at = decision_of(detail, answer), at
            waits[-1].over, inside = True, False
        elif kind.startswith("Execution"):
            waits[-1].over, inside = True, False
    return waits


def decision_of(exited: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The decision that ended a wait in DeadLetter.

    Args:
        exited: details of the event at the end of the wait.
        answer: the task's answer.
    """
    output = json_object(exited.get("output"))
    decision = {"decision": output.get("decision"), "note": output.get("note") or ""}
    who = {name: answer[name] for name in ("decided_at", "decided_by") if answer.get(name)}
    return decision | who


def dead_letter_records(name: str, events: Sequence[Event]) -> list[Record]:
    """An execution's lines of the `dead_letters` stream, in order; `events`: its whole history."""
    message_id = message_id_of(events)
    lines: list[Record] = []
    for wait in decision_waits(events):
        line = {
            "stream": "dead_letters",
            "version": VERSION,
            "at": timestamp(wait.posted_at),
            "message_id": message_id,
            "execution_name": name,
            "event": "posted",
            "reason": wait.failure.get("reason"),
            "error": wait.failure.get("error"),
            "decision": None,
            "note": None,
            "decided_by": None,
        }
        lines.append(line)
        # Any other answer decides nothing, and the letter is posted anew.
        if wait.answered_at is not None and wait.decision.get("decision") in DECISIONS:
            lines.append(
                line
                | {
                    "at": timestamp(wait.answered_at),
                    "event": "decided",
                    "decision": wait.decision["decision"],
                    "note": wait.decision.get("note") or None,
                    "decided_by": wait.decision.get("decided_by"),
                }
            )
    return lines


def message_id_of(events: Sequence[Event]) -> str | None:
    """The message's id; None for an execution that the starter did not start."""
    started = next((details(event) for event in events if event["type"] == "ExecutionStarted"), {})
    message_id = json_object(started.get("input")).get("message_id")
    return message_id if isinstance(message_id, str) else None
