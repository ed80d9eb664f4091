from typing import Any

import pytest

from actonce.records.execution_records import records
from tests.support.histories import Kind, history_of, posted, started, succeeded


def executions(*kinds: Kind) -> list[dict[str, Any]]:
    return [r for r in records("m-1", history_of(*kinds)) if r["stream"] == "executions"]


def test_an_execution_is_a_line_when_it_starts_and_one_when_it_ends() -> None:
    start = {
        "stream": "executions", "version": 1, "at": "2026-01-31T23:59:58.000Z",
        "execution_name": "m-1", "message_id": "Zoë 1/2", "status": "RUNNING",
        "started_at": "2026-01-31T23:59:58.000Z", "stopped_at": None, "outcome": None,
        "error": None,
    }  # fmt: skip
    end = "2026-01-31T23:59:59.000Z"
    ended = {"at": end, "stopped_at": end, "status": "SUCCEEDED", "outcome": "performed"}
    lines = executions(started("Zoë 1/2"), succeeded("performed"))
    assert lines == [start, start | ended]


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        (("ExecutionFailed", {"error": "RejectedByOperator"}), "FAILED", "RejectedByOperator"),
        (("ExecutionTimedOut", {}), "TIMED_OUT", None),
        (("ExecutionAborted", {"error": "Stopped"}), "ABORTED", "Stopped"),
    ],
)
def test_an_execution_that_did_not_succeed_says_how_it_ended(
    kind: Kind, status: str, error: str | None
) -> None:
    last = executions(started(), kind)[-1]
    assert (last["status"], last["error"], last["outcome"]) == (status, error, None)


def test_a_redrive_is_running_again_since_the_first_start() -> None:
    lines = executions(
        started(),
        ("ExecutionFailed", {"error": "States.Timeout"}),
        ("ExecutionRedriven", {"redriveCount": 1}),
        succeeded("resolved"),
    )
    assert [line["status"] for line in lines] == ["RUNNING", "FAILED", "RUNNING", "SUCCEEDED"]
    assert {line["started_at"] for line in lines} == {"2026-01-31T23:59:58.000Z"}
    assert lines[-1]["outcome"] == "resolved"


@pytest.mark.parametrize("text", ["", "[1]", '{"message_id": 5}'])
def test_an_execution_that_the_starter_did_not_start_has_no_message_id(text: str) -> None:
    (line,) = records("by-hand", history_of(("ExecutionStarted", {"input": text})))
    assert line["message_id"] is None
    assert line["execution_name"] == "by-hand"


def test_the_dead_letters_of_the_same_history_are_told_with_it() -> None:
    assert [line["stream"] for line in records("m-1", history_of(started(), posted()))] == [
        "executions",
        "dead_letters",
    ]
