"""Histories as Step Functions writes them; the embedded AWS writes less in some events."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from actonce.messages import history
from actonce_core.histories.dead_letters import dead_letter_stays

START = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
FAILURE = {"reason": "rounds_used_up", "error": "States.Timeout", "cause": "It took too long."}


def events_of(*kinds_and_details: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Number the events, one a second; details go under the key that AWS uses."""
    events = []
    for number, (kind, details) in enumerate(kinds_and_details):
        key = kind
        if kind.endswith(("StateEntered", "StateExited")):
            key = kind[kind.index("State") :]
        events.append(
            {
                "id": number + 1,
                "previousEventId": number,
                "timestamp": START + timedelta(seconds=number),
                "type": kind,
                f"{key[0].lower()}{key[1:]}EventDetails": details,
            }
        )
    return events


def entered(state: str, given: Any = None, kind: str = "Task") -> tuple[str, dict[str, Any]]:
    return f"{kind}StateEntered", {"name": state, "input": json.dumps(given)}


def exited(state: str, output: Any = None, kind: str = "Task") -> tuple[str, dict[str, Any]]:
    return f"{kind}StateExited", {"name": state, "output": json.dumps(output)}


def scheduled(parameters: Any = None) -> tuple[str, dict[str, Any]]:
    return "TaskScheduled", {"resource": "x", "parameters": json.dumps(parameters)}


POSTED = (
    ("ExecutionStarted", {"input": "{}"}),
    entered("PerformEffect"),
    scheduled(),
    ("TaskStarted", {"resource": "invoke"}),
    ("TaskFailed", {"error": "NotPerformed", "cause": "The book is closed."}),
    scheduled(),
    ("TaskTimedOut", {"error": "States.Timeout", "cause": "It took too long."}),
    exited("PerformEffect"),
    entered("DeadLetter", {"rounds": 3, "failure": FAILURE}),
    scheduled({"QueueUrl": "q", "MessageBody": {"task_token": "token-1", "rounds": 3}}),
    ("TaskStarted", {"resource": "sendMessage.waitForTaskToken"}),
    ("TaskSubmitted", {"output": "{}"}),
)
DECIDED = (
    (
        "TaskSucceeded",
        {
            "output": json.dumps(
                {
                    "decision": "resolve",
                    "note": "by hand",
                    "decided_at": "2026-01-31T09:31:00.000Z",
                    "decided_by": "arn:aws:iam::123456789012:user/operator",
                }
            )
        },
    ),
    exited("DeadLetter", {"decision": "resolve", "note": "by hand"}),
    entered("Decision", kind="Choice"),
    entered("Done", kind="Succeed"),
    ("ExecutionSucceeded", {"output": '{"outcome": "resolved", "note": "by hand"}'}),
)
TIMED_OUT = (
    ("TaskTimedOut", {"error": "States.Timeout"}),
    ("ExecutionFailed", {"error": "States.Timeout"}),
)


def told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(step.state, step.what) for step in history.steps(events)]


def test_steps_tell_attempts_errors_the_decision_and_the_end() -> None:
    events = events_of(*POSTED, *DECIDED)
    assert told(events) == [
        ("", "started"),
        ("PerformEffect", "entered"),
        ("PerformEffect", "error"),
        ("PerformEffect", "attempt"),
        ("PerformEffect", "error"),
        ("DeadLetter", "entered"),
        ("DeadLetter", "decision"),
        ("Decision", "entered"),
        ("Done", "entered"),
        ("", "ended"),
    ]
    steps = history.steps(events)
    assert steps[2].detail == {"error": "NotPerformed", "cause": "The book is closed."}
    assert steps[3].detail == {"number": 2}
    assert steps[6].detail == {
        "decision": "resolve",
        "note": "by hand",
        "decided_at": "2026-01-31T09:31:00.000Z",
        "decided_by": "arn:aws:iam::123456789012:user/operator",
    }
    assert steps[-1].detail == {"status": "SUCCEEDED", "outcome": "resolved"}
    assert steps[2].at == START + timedelta(seconds=4)


def test_an_open_dead_letter_waits_and_its_token_is_told_by_the_history() -> None:
    (stay,) = dead_letter_stays(events_of(*POSTED))
    assert (stay.over, stay.decision, stay.task_token) == (False, {}, "token-1")
    assert stay.failure == FAILURE | {"rounds": 3}
    assert stay.posted_at == START + timedelta(seconds=8)
    assert "token-1" not in json.dumps(stay.as_json())


def test_a_message_body_kept_as_a_text_is_read_as_well() -> None:
    posted = list(POSTED)
    posted[9] = scheduled({"MessageBody": json.dumps({"task_token": "token-2"})})
    (stay,) = dead_letter_stays(events_of(*posted))
    assert stay.task_token == "token-2"


def test_a_redriven_execution_posts_the_dead_letter_again() -> None:
    again = scheduled({"MessageBody": {"task_token": "token-2"}})
    events = events_of(*POSTED, *TIMED_OUT, ("ExecutionRedriven", {"redriveCount": 1}), again)
    first, second = dead_letter_stays(events)
    assert first.over
    assert (second.over, second.task_token, second.failure) == (False, "token-2", first.failure)
    assert told(events)[-1] == ("", "redriven")


def test_aborted_and_timed_out_executions_have_an_end() -> None:
    for kind, status in (("ExecutionAborted", "ABORTED"), ("ExecutionTimedOut", "TIMED_OUT")):
        steps = history.steps(events_of(*POSTED, (kind, {})))
        assert steps[-1].detail == {"status": status}
        assert dead_letter_stays(events_of(*POSTED, (kind, {})))[-1].over


def test_a_cause_is_told_in_one_line() -> None:
    cause = json.dumps({"errorMessage": "no\n  such practice", "stackTrace": ["…"]})
    assert history.short_cause(cause) == "no such practice"
    assert history.short_cause("plain\ntext") == "plain text"
    assert history.short_cause(None) == ""
    assert history.short_cause("x" * 300) == "x" * 199 + "…"


def looked_up(output: dict[str, Any]) -> list[tuple[str, str, Any]]:
    events = events_of(entered("FindEffect"), scheduled(), exited("FindEffect", output))
    return [(s.what, s.state, s.detail.get("performed")) for s in history.steps(events)][1:]


def test_what_a_look_up_found_is_told_and_nothing_where_it_could_not_be_asked() -> None:
    for performed in (True, False, None):
        assert looked_up({"performed": performed}) == [("looked_up", "FindEffect", performed)]
    assert looked_up({"failure": FAILURE}) == []
