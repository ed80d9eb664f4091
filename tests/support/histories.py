"""Histories of ProcessMessage's executions, as GetExecutionHistory gives them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
FAILURE = {"reason": "rounds_used_up", "error": "States.Timeout", "cause": "It took too long."}

Kind = tuple[str, dict[str, Any]]


def history_of(*kinds: Kind, start: datetime = START) -> list[dict[str, Any]]:
    """Events as GetExecutionHistory gives them, one a second."""
    events = []
    for number, (kind, details) in enumerate(kinds):
        key = kind[kind.index("State") :] if kind.endswith(("Entered", "Exited")) else kind
        events.append(
            {
                "id": number + 1,
                "timestamp": start + timedelta(seconds=number),
                "type": kind,
                f"{key[0].lower()}{key[1:]}EventDetails": details,
            }
        )
    return events


def started(message_id: Any = "m-1") -> Kind:
    return "ExecutionStarted", {"input": json.dumps({"message_id": message_id, "body": {}})}


def posted() -> Kind:
    given = {"rounds": 3, "failure": FAILURE}
    return "TaskStateEntered", {"name": "DeadLetter", "input": json.dumps(given)}


def answer_events(decision: str, note: str = "") -> list[Kind]:
    answer = {"decision": decision, "note": note, "decided_by": "arn:aws:iam::1:user/ann"}
    output = {"decision": decision, "note": note, "rounds": 0, "failure": FAILURE}
    return [
        (
            "TaskSucceeded",
            {"resourceType": "sqs", "resource": "sendMessage", "output": json.dumps(answer)},
        ),
        ("TaskStateExited", {"name": "DeadLetter", "output": json.dumps(output)}),
    ]


def succeeded(outcome: str) -> Kind:
    return "ExecutionSucceeded", {"output": json.dumps({"outcome": outcome})}


STATE_MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:process-message"


def listed(name: str, start: datetime, stop: datetime | None = None) -> dict[str, Any]:
    """An execution as ListExecutions gives it; without a `stop` it runs."""
    found = {
        "executionArn": f"{STATE_MACHINE.replace(':stateMachine:', ':execution:')}:{name}",
        "stateMachineArn": STATE_MACHINE,
        "name": name,
        "status": "RUNNING" if stop is None else "FAILED",
        "startDate": start,
    }
    return found if stop is None else found | {"stopDate": stop}
