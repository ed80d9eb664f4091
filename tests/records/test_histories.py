"""What is told of an execution by its history: its steps, its dead letters, and its records.

Histories are as Step Functions writes them; the embedded AWS writes less in some events.
"""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce.messages import history
from actonce_core.histories.records import records
from actonce_core.histories.stays import dead_letter_records, decision_waits
from tests.support.histories import (
    FAILURE,
    Kind,
    answer_events,
    history_of,
    posted,
    started,
    succeeded,
)  # fmt: skip
from tests.support.snapshots import Snapshot


def entered(state: str, kind: str = "Task") -> Kind:
    return f"{kind}StateEntered", {"name": state, "input": "null"}


def exited(state: str, output: Any = None) -> Kind:
    return "TaskStateExited", {"name": state, "output": json.dumps(output)}


def scheduled(parameters: Any = None) -> Kind:
    return "TaskScheduled", {"resource": "x", "parameters": json.dumps(parameters)}


def failed(error: str) -> Kind:
    return "ExecutionFailed", {"error": error}


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
NOBODY_DECIDED = (("TaskTimedOut", {"error": "States.Timeout"}), failed("States.Timeout"))
REDRIVEN: Kind = ("ExecutionRedriven", {"redriveCount": 1})
REJECTED = failed("RejectedByOperator")

HISTORIES: dict[str, tuple[Kind, ...]] = {
    "performed": (started("Zoë 1/2"), succeeded("performed")),
    "waits": POSTED,
    # A message's body that is kept as a text is read as well.
    "waits, its letter a text": (
        *POSTED[:9],
        scheduled({"MessageBody": json.dumps({"task_token": "token-2"})}),
    ),
    "resolved": (
        *POSTED,
        *answer_events("resolve", "by hand"),
        entered("Decision", "Choice"),
        entered("Done", "Succeed"),
        succeeded("resolved"),
    ),
    # Nobody answered it, so a redrive posts it again.
    "nobody decided": (*POSTED, *NOBODY_DECIDED),
    "posted again": (
        *POSTED,
        *NOBODY_DECIDED,
        REDRIVEN,
        scheduled({"MessageBody": {"task_token": "token-2"}}),
    ),
    "redriven and resolved": (
        *(started(), posted(), *NOBODY_DECIDED),
        *(REDRIVEN, *answer_events("resolve"), succeeded("resolved")),
    ),
    # It was rejected, so a redrive only fails again.
    "rejected": (started(), posted(), *answer_events("reject"), REJECTED, REDRIVEN, REJECTED),
    "aborted": (*POSTED, ("ExecutionAborted", {"error": "Stopped"})),
    "timed out": (*POSTED, ("ExecutionTimedOut", {})),
    **{
        f"looked up: {one}": (
            started(),
            entered("FindEffect"),
            scheduled(),
            exited("FindEffect", expected),
        )
        for one, expected in (
            *((f"{performed}", {"performed": performed}) for performed in (True, False, None)),
            ("it could not be", {"failure": FAILURE}),
        )
    },
    # What the starter did not start has no message id.
    **{
        f"by hand: {text}": (("ExecutionStarted", {"input": text}),)
        for text in ("", "[1]", '{"message_id": 5}')
    },
}


def test_what_each_history_tells_is_as_reviewed(snapshot: Snapshot) -> None:
    lines = []
    for name, kinds in HISTORIES.items():
        events = history_of(*kinds)
        steps = history.steps(events)
        lines.append(f"{name}, last in {history.last_state(events) or 'none'}\n")
        lines += [f"    {s.at:%S} {s.state} {s.event_type} {json.dumps(s.detail)}\n" for s in steps]
        for wait in decision_waits(events):
            assert wait.task_token is None or wait.task_token not in json.dumps(wait.as_json())
            lines.append(f"    wait: {wait.task_token} {json.dumps(wait.as_json())}\n")
        lines += [f"    {json.dumps(one)}\n" for one in records("m-1", events)]
    snapshot("histories.txt", "".join(lines))


@given(st.lists(st.sampled_from(["retry", "perform", "resolve", "reject", "perhaps"]), max_size=6))
def test_every_decision_follows_its_post_and_what_is_none_is_only_posted_again(
    decisions: list[str],
) -> None:
    kinds = itertools.chain.from_iterable((posted(), *answer_events(one)) for one in decisions)
    lines = dead_letter_records("m-1", history_of(started(), *kinds))

    real = [one for one in decisions if one != "perhaps"]
    assert [line["decision"] for line in lines if line["event"] == "decided"] == real
    assert sum(line["event"] == "posted" for line in lines) == len(decisions)
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)


def exception(message: str, **more: Any) -> str:
    """A cause as Lambda tells it."""
    return json.dumps({"errorMessage": message, "errorType": "ValueError", **more})


OUT_OF_TIME = "Task timed out after 3.00 seconds"
REQUEST = "5fea7756-0ea4-451a-a703-a558b933e274"
CAUSE_UNKNOWN = (
    "The cause could not be determined because Lambda did not return an error type. Returned "
    "payload: "
)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (None, ""),
        ("plain\ntext", "plain text"),
        ("x" * 300, "x" * 199 + "…"),
        ('{"errorMessage": "\\ud"}', '{"errorMessage": "\\ud"}'),
        (exception("no\n  such practice", stackTrace=["…"]), "no such practice"),
        (exception('say "no"', stackTrace=["x" * 99])[:80], 'say "no"'),
        (CAUSE_UNKNOWN + exception(f"RequestId: {REQUEST} Error: {OUT_OF_TIME}"), OUT_OF_TIME),
        (
            CAUSE_UNKNOWN + exception(f"2026-01-31T09:30:00.000Z {REQUEST} {OUT_OF_TIME}"),
            OUT_OF_TIME,
        ),
        (
            exception("no answer") + " | FindEffect: ValueError: " + exception("journal is down"),
            "no answer; the look-up failed: ValueError: journal is down",
        ),
    ],
)
def test_a_cause_is_told_in_one_line_by_the_messages_of_its_exceptions(
    cause: str | None, expected: str
) -> None:
    assert history.short_cause(cause) == expected
