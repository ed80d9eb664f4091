"""Histories as Step Functions writes them; the embedded AWS writes less in some events."""

import json
from datetime import timedelta
from typing import Any

import pytest

from actonce.messages import history
from actonce_core.histories.stays import dead_letter_stays
from tests.support.histories import FAILURE, START, Kind, answered, history_of, posted, succeeded


def entered(state: str, kind: str = "Task") -> Kind:
    return f"{kind}StateEntered", {"name": state, "input": "null"}


def exited(state: str, output: Any = None) -> Kind:
    return "TaskStateExited", {"name": state, "output": json.dumps(output)}


def scheduled(parameters: Any = None) -> Kind:
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
    posted(),
    scheduled({"QueueUrl": "q", "MessageBody": {"task_token": "token-1", "rounds": 3}}),
    ("TaskStarted", {"resource": "sendMessage.waitForTaskToken"}),
    ("TaskSubmitted", {"output": "{}"}),
)
DECIDED = (
    *answered("resolve", "by hand"),
    entered("Decision", "Choice"),
    entered("Done", "Succeed"),
    succeeded("resolved"),
)
TIMED_OUT = (
    ("TaskTimedOut", {"error": "States.Timeout"}),
    ("ExecutionFailed", {"error": "States.Timeout"}),
)


def test_steps_tell_attempts_errors_the_decision_and_the_end() -> None:
    steps = history.steps(history_of(*POSTED, *DECIDED))
    assert [(step.state, step.what) for step in steps] == [
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
    assert steps[2].detail == {"error": "NotPerformed", "cause": "The book is closed."}
    assert steps[3].detail == {"number": 2}
    assert steps[6].detail == {
        "decision": "resolve",
        "note": "by hand",
        "decided_by": "arn:aws:iam::1:user/ann",
    }
    assert steps[-1].detail == {"status": "SUCCEEDED", "outcome": "resolved"}
    assert steps[2].at == START + timedelta(seconds=4)


def test_an_open_dead_letter_waits_and_its_token_is_told_by_the_history() -> None:
    (stay,) = dead_letter_stays(history_of(*POSTED))
    assert (stay.over, stay.decision, stay.task_token) == (False, {}, "token-1")
    assert stay.failure == FAILURE | {"rounds": 3}
    assert "token-1" not in json.dumps(stay.as_json())
    # A message's body that is kept as a text is read as well.
    as_text = scheduled({"MessageBody": json.dumps({"task_token": "token-2"})})
    (stay,) = dead_letter_stays(history_of(*POSTED[:9], as_text))
    assert stay.task_token == "token-2"


def test_a_redriven_execution_posts_the_dead_letter_again() -> None:
    again = scheduled({"MessageBody": {"task_token": "token-2"}})
    events = history_of(*POSTED, *TIMED_OUT, ("ExecutionRedriven", {"redriveCount": 1}), again)
    first, second = dead_letter_stays(events)
    assert first.over
    assert (second.over, second.task_token, second.failure) == (False, "token-2", first.failure)
    assert (history.steps(events)[-1].what, history.last_state(events)) == (
        "redriven",
        "DeadLetter",
    )


@pytest.mark.parametrize(
    ("kind", "status"), [("ExecutionAborted", "ABORTED"), ("ExecutionTimedOut", "TIMED_OUT")]
)
def test_aborted_and_timed_out_executions_have_an_end(kind: str, status: str) -> None:
    events = history_of(*POSTED, (kind, {}))
    assert history.steps(events)[-1].detail == {"status": status}
    assert dead_letter_stays(events)[-1].over


def exception(message: str, **more: Any) -> str:
    """A cause as Lambda tells it."""
    return json.dumps({"errorMessage": message, "errorType": "ValueError", **more})


OUT_OF_TIME = "Task timed out after 3.00 seconds"
REQUEST = "5fea7756-0ea4-451a-a703-a558b933e274"
UNTOLD = (
    "The cause could not be determined because Lambda did not return an error type. Returned "
    "payload: "
)


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (None, ""),
        ("plain\ntext", "plain text"),
        ("x" * 300, "x" * 199 + "…"),
        ('{"errorMessage": "\\ud"}', '{"errorMessage": "\\ud"}'),
        (exception("no\n  such practice", stackTrace=["…"]), "no such practice"),
        (exception('say "no"', stackTrace=["x" * 99])[:80], 'say "no"'),
        (UNTOLD + exception(f"RequestId: {REQUEST} Error: {OUT_OF_TIME}"), OUT_OF_TIME),
        (UNTOLD + exception(f"2026-01-31T09:30:00.000Z {REQUEST} {OUT_OF_TIME}"), OUT_OF_TIME),
        (
            exception("no answer") + " | FindEffect: ValueError: " + exception("journal is down"),
            "no answer; the look-up failed: ValueError: journal is down",
        ),
    ],
)
def test_a_cause_is_told_in_one_line_by_the_messages_of_its_exceptions(
    cause: str | None, told: str
) -> None:
    assert history.short_cause(cause) == told


@pytest.mark.parametrize(
    ("output", "found"),
    [({"performed": one}, [one]) for one in (True, False, None)] + [({"failure": FAILURE}, [])],
)
def test_what_a_look_up_found_is_told_and_nothing_where_it_could_not_be_asked(
    output: dict[str, Any], found: list[Any]
) -> None:
    events = history_of(entered("FindEffect"), scheduled(), exited("FindEffect", output))
    _, *told = history.steps(events)
    assert [(step.what, step.detail["performed"]) for step in told] == [
        ("looked_up", performed) for performed in found
    ]
