import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import given, settings
from hypothesis import strategies as st

from actonce import execution_records
from actonce.aws import Aws, Stack
from actonce.execution_records import Listed, executions_between, patiently, records, tell

START = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
STATE_MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:process-message"
FAILURE = {"reason": "rounds_used_up", "error": "States.Timeout", "cause": "It took too long."}

Kind = tuple[str, dict[str, Any]]


def history_of(*kinds: Kind) -> list[dict[str, Any]]:
    """Events as GetExecutionHistory gives them, one a second."""
    events = []
    for number, (kind, details) in enumerate(kinds):
        key = kind[kind.index("State") :] if kind.endswith(("Entered", "Exited")) else kind
        events.append(
            {
                "id": number + 1,
                "timestamp": START + timedelta(seconds=number),
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


def answered(decision: str, note: str = "") -> list[Kind]:
    answer = {"decision": decision, "note": note, "decided_by": "arn:aws:iam::1:user/ann"}
    output = {"decision": decision, "note": note, "rounds": 0, "failure": FAILURE}
    return [
        ("TaskSucceeded", {"output": json.dumps(answer)}),
        ("TaskStateExited", {"name": "DeadLetter", "output": json.dumps(output)}),
    ]


def succeeded(outcome: str) -> Kind:
    return "ExecutionSucceeded", {"output": json.dumps({"outcome": outcome})}


def of_stream(stream: str, *kinds: Kind) -> list[dict[str, Any]]:
    return [r for r in records("m-1", history_of(*kinds)) if r["stream"] == stream]


# --------------------------------------------------------------------------- executions


def test_an_execution_is_a_line_when_it_starts_and_one_when_it_ends() -> None:
    assert of_stream("executions", started(), succeeded("performed")) == [
        {
            "stream": "executions",
            "version": 1,
            "at": "2026-01-31T23:59:58.000Z",
            "execution_name": "m-1",
            "message_id": "m-1",
            "status": "RUNNING",
            "started_at": "2026-01-31T23:59:58.000Z",
            "stopped_at": None,
            "outcome": None,
            "error": None,
        },
        {
            "stream": "executions",
            "version": 1,
            "at": "2026-01-31T23:59:59.000Z",
            "execution_name": "m-1",
            "message_id": "m-1",
            "status": "SUCCEEDED",
            "started_at": "2026-01-31T23:59:58.000Z",
            "stopped_at": "2026-01-31T23:59:59.000Z",
            "outcome": "performed",
            "error": None,
        },
    ]


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
    last = of_stream("executions", started(), kind)[-1]

    assert (last["status"], last["error"], last["outcome"]) == (status, error, None)


def test_a_redrive_is_running_again_since_the_first_start() -> None:
    lines = of_stream(
        "executions",
        started(),
        ("ExecutionFailed", {"error": "States.Timeout"}),
        ("ExecutionRedriven", {"redriveCount": 1}),
        succeeded("resolved"),
    )

    assert [line["status"] for line in lines] == ["RUNNING", "FAILED", "RUNNING", "SUCCEEDED"]
    assert {line["started_at"] for line in lines} == {"2026-01-31T23:59:58.000Z"}
    assert lines[-1]["outcome"] == "resolved"


def test_an_id_is_written_as_tables_and_logs_keep_it() -> None:
    long_id = "x" * 2049

    assert of_stream("executions", started("Zoë 1/2"))[0]["message_id"] == "Zoë 1/2"
    stored = of_stream("executions", started(long_id))[0]["message_id"]
    assert stored.startswith("sha256-")
    assert len(stored) == 71


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null", '{"message_id": 5}'])
def test_an_execution_that_the_starter_did_not_start_has_no_message_id(text: str) -> None:
    (line,) = records("by-hand", history_of(("ExecutionStarted", {"input": text})))

    assert line["message_id"] is None
    assert line["execution_name"] == "by-hand"


# --------------------------------------------------------------------------- dead letters


def test_a_dead_letter_that_waits_is_posted_and_not_decided() -> None:
    assert of_stream("dead_letters", started(), posted()) == [
        {
            "stream": "dead_letters",
            "version": 1,
            "at": "2026-01-31T23:59:59.000Z",
            "message_id": "m-1",
            "execution_name": "m-1",
            "event": "posted",
            "reason": "rounds_used_up",
            "error": "States.Timeout",
            "decision": None,
            "note": None,
            "decided_by": None,
        }
    ]


@pytest.mark.parametrize("decision", ["retry", "resolve", "reject"])
def test_a_decision_is_a_line_at_its_own_time(decision: str) -> None:
    lines = of_stream("dead_letters", started(), posted(), *answered(decision, "By telephone."))

    assert [line["event"] for line in lines] == ["posted", "decided"]
    assert lines[1] | {"decision": None, "note": None, "decided_by": None} == lines[0] | {
        "event": "decided",
        "at": "2026-02-01T00:00:01.000Z",
    }
    assert lines[1]["decision"] == decision
    assert lines[1]["note"] == "By telephone."
    assert lines[1]["decided_by"] == "arn:aws:iam::1:user/ann"


def test_an_answer_that_is_no_decision_is_only_posted_again() -> None:
    lines = of_stream("dead_letters", started(), posted(), *answered("perhaps"), posted())

    assert [line["event"] for line in lines] == ["posted", "posted"]


def test_one_that_nobody_answered_is_not_decided_and_posted_again_by_a_redrive() -> None:
    lines = of_stream(
        "dead_letters",
        started(),
        posted(),
        ("ExecutionFailed", {"error": "States.Timeout"}),
        ("ExecutionRedriven", {}),
        *answered("resolve"),
    )

    assert [line["event"] for line in lines] == ["posted", "posted", "decided"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["retry", "resolve", "reject", "perhaps"]), max_size=6))
def test_every_decision_follows_its_post_and_none_is_lost(decisions: list[str]) -> None:
    kinds = itertools.chain.from_iterable((posted(), *answered(one)) for one in decisions)
    lines = of_stream("dead_letters", started(), *kinds)

    real = [one for one in decisions if one != "perhaps"]
    assert [line["decision"] for line in lines if line["event"] == "decided"] == real
    assert sum(line["event"] == "posted" for line in lines) == len(decisions)
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)


# --------------------------------------------------------------------------- what AWS answers


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> tuple[Stack, Stubber]:
    """Answers that neither emulator can give: throttling, pages, an execution that is gone."""
    monkeypatch.setattr(execution_records, "_LONGEST_PAUSE", 0.0)
    client = boto3.client(
        "stepfunctions", "us-east-1", aws_access_key_id="t", aws_secret_access_key="t"
    )
    aws = Aws(_clients={"stepfunctions": client})
    return Stack(aws, "actonce", {"ProcessMessageArn": STATE_MACHINE}), Stubber(client)


def item(name: str, start: int, stop: int | None) -> dict[str, Any]:
    found = {
        "executionArn": f"{STATE_MACHINE.replace(':stateMachine:', ':execution:')}:{name}",
        "stateMachineArn": STATE_MACHINE,
        "name": name,
        "status": "RUNNING" if stop is None else "SUCCEEDED",
        "startDate": START + timedelta(seconds=start),
    }
    return found if stop is None else found | {"stopDate": START + timedelta(seconds=stop)}


def test_executions_that_ran_at_some_time_of_the_day_are_found(
    stubbed: tuple[Stack, Stubber],
) -> None:
    stack, stubber = stubbed
    first = [item("later", 20, None), item("begins", 9, 30), item("within", 3, 5)]
    second = [item("throughout", -9, None), item("ends", -9, 0), item("earlier", -9, -1)]
    stubber.add_response("list_executions", {"executions": first, "nextToken": "more"})
    stubber.add_client_error("list_executions", "ThrottlingException")
    stubber.add_response("list_executions", {"executions": second})

    with stubber:
        found = executions_between(stack, START, START + timedelta(seconds=10), retry_for=60)

    assert [one.name for one in found] == ["begins", "within", "throughout", "ends"]
    stubber.assert_no_pending_responses()


def test_an_execution_that_is_forgotten_meanwhile_is_told_of(
    stubbed: tuple[Stack, Stubber],
) -> None:
    stack, stubber = stubbed
    stubber.add_client_error("get_execution_history", "ExecutionDoesNotExist")

    with stubber:
        (told,) = tell(stack, [Listed("arn:aws:states:x", "gone", START, None)], retry_for=60)

    assert told.records is None
    assert told.listed.name == "gone"


def test_throttling_is_waited_out_for_a_while_and_other_errors_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution_records, "_LONGEST_PAUSE", 0.0)
    calls: list[str] = []

    def fail(code: str, times: int) -> str:
        calls.append(code)
        if len(calls) <= times:
            raise ClientError({"Error": {"Code": code, "Message": ""}}, "GetExecutionHistory")
        return "answer"

    assert patiently(lambda: fail("ThrottlingException", 5), retry_for=60) == "answer"
    assert len(calls) == 6

    calls.clear()
    with pytest.raises(ClientError, match="AccessDeniedException"):
        patiently(lambda: fail("AccessDeniedException", 5), retry_for=60)
    assert len(calls) == 1

    calls.clear()
    with pytest.raises(ClientError, match="ThrottlingException"):
        patiently(lambda: fail("ThrottlingException", 5), retry_for=-1)
    assert len(calls) == 1
