"""A decision on one message, with the answers of Step Functions that no emulator gives."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from actonce.messages.dead_letters import is_of_last
from actonce.operate.decisions.answers import DecisionEnd
from actonce.operate.decisions.deciding import decide
from actonce.operate.decisions.offered import Decision, decisions_on
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.execution import execution_name
from actonce_core.histories.stays import Stay
from tests.cli.conftest import STATE_MACHINE, VERSION_DEPLOYED
from tests.support.histories import START, Kind, history_of
from tests.support.queues import hold, ids_left, letter, post
from tests.support.stacks import deployed

ARN = STATE_MACHINE.replace(":stateMachine:", ":execution:") + ":m-1"


@pytest.fixture
def stepfunctions(moto_stack: Stack) -> Iterator[Stubber]:
    client = boto3.client("stepfunctions")
    moto_stack.aws._clients["stepfunctions"] = client
    deployed(moto_stack, moto_stack.outputs | VERSION_DEPLOYED)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def accepts(stubber: Stubber, token: str) -> None:
    stubber.add_response("send_task_success", {}, {"taskToken": token, "output": ANY})


def refuses(stubber: Stubber, token: str, code: str) -> None:
    expected = {"taskToken": token, "output": ANY}
    stubber.add_client_error("send_task_success", code, expected_params=expected)


def outputs_sent(stubber: Stubber) -> list[dict[str, Any]]:
    """What is answered to tasks from now on."""
    outputs: list[dict[str, Any]] = []
    stubber.client.meta.events.register(
        "provide-client-params.sfn.SendTaskSuccess",
        lambda params, **_: outputs.append(json.loads(params["output"])),
    )
    return outputs


# ------------------------------------------------------------------ one that is accepted


def test_a_decision_goes_to_step_functions_with_who_made_it_and_then_its_letters_go(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    outputs = outputs_sent(stepfunctions)
    post(moto_stack, "m-1", 1, task_token="old")
    post(moto_stack, "m-1", 2, task_token="new")
    post(moto_stack, "m-2", task_token="another's")
    accepts(stepfunctions, "new")
    assert decide(moto_stack, "m-1", "reject", "geschlossen – zu").decided
    (output,) = outputs
    assert (output["decision"], output["note"]) == ("reject", "geschlossen – zu")
    assert output["decided_by"].startswith("arn:aws:")
    assert datetime.fromisoformat(output["decided_at"]).tzinfo is not None
    assert ids_left(moto_stack) == ["m-2"]


def test_a_letter_that_cannot_be_answered_does_not_hide_one_that_can(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "m-1", 2, task_token="stale")
    post(moto_stack, "m-1", 1, task_token="open")
    refuses(stepfunctions, "stale", "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        decide(moto_stack, "m-1", "resolve")
    # Nothing is deleted that was not accepted. Counted: whoever receives them holds them for long.
    assert sum(counts(moto_stack.sqs, moto_stack.dead_letter_queue)) == 2
    refuses(stepfunctions, "stale", "TaskTimedOut")
    accepts(stepfunctions, "open")
    assert decide(moto_stack, "m-1", "resolve").decided
    assert ids_left(moto_stack) == []


VERSION = {
    "perform": VERSION_DEPLOYED["EffectFunctionArn"],
    "find": VERSION_DEPLOYED["FindFunctionArn"],
    "timeout": 120,
    "margin": 40,
}


@pytest.mark.parametrize(
    ("decision", "version"),
    [("retry", VERSION), ("perform", VERSION), ("resolve", None), ("reject", None)],
)
def test_a_decision_to_act_carries_the_version_that_is_deployed_now(
    moto_stack: Stack, stepfunctions: Stubber, decision: Decision, version: Any
) -> None:
    outputs = outputs_sent(stepfunctions)
    # Found before the deployment, as by a console that has been open for long.
    before = dict.fromkeys(VERSION_DEPLOYED, "before")
    stack = dataclasses.replace(moto_stack, outputs=moto_stack.outputs | before)
    post(stack, "m-1", task_token="token", reason="rounds_used_up")
    accepts(stepfunctions, "token")
    assert decide(stack, "m-1", decision, "mended").decided
    (output,) = outputs
    assert output.get("version") == version


NO_FINDER = {name: told for name, told in VERSION_DEPLOYED.items() if name != "FindFunctionArn"}


@pytest.mark.parametrize(
    ("status", "outputs", "version"),
    [
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", VERSION_DEPLOYED, VERSION),
        ("UPDATE_ROLLBACK_COMPLETE", NO_FINDER, VERSION | {"find": ""}),
        ("UPDATE_IN_PROGRESS", VERSION_DEPLOYED, None),
        ("UPDATE_ROLLBACK_IN_PROGRESS", {}, None),
        ("UPDATE_ROLLBACK_FAILED", VERSION_DEPLOYED, None),
    ],
)
def test_nothing_is_tried_again_while_a_deployment_is_under_way(
    moto_stack: Stack, stepfunctions: Stubber, status: str, outputs: dict[str, str], version: Any
) -> None:
    client = boto3.client("cloudformation")
    moto_stack.aws._clients["cloudformation"] = client
    told: Any = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
    stack = {"StackName": "actonce", "CreationTime": START, "StackStatus": status, "Outputs": told}
    sent = outputs_sent(stepfunctions)
    post(moto_stack, "m-1", task_token="token")
    with Stubber(client) as cloudformation:
        cloudformation.add_response("describe_stacks", {"Stacks": [stack]})
        if version is None:
            with pytest.raises(Failed, match=f"is {status}, and .* when the deployment has ended"):
                decide(moto_stack, "m-1", "retry")
            assert ids_left(moto_stack) == ["m-1"]
            return
        accepts(stepfunctions, "token")
        assert decide(moto_stack, "m-1", "retry").decided
    assert sent[0]["version"] == version


UNKNOWN: dict[str, Any] = {
    "reason": "outcome_unknown",
    "error": "States.Timeout",
    "cause": "late | FindEffect: No function is named to look it up (FindFunctionArn)",
}
"""Why a message waits that nothing could look up."""

REFUSED: dict[str, Any] = {"reason": "rejected", "error": "Rejected", "cause": "no such practice"}
"""Why one waits of which it is known that nothing happened."""


@pytest.mark.parametrize(
    ("reason", "cause", "kept_from"),
    [
        ("rejected", "", "perform"),
        ("not_performed", UNKNOWN["cause"], "perform"),
        ("rounds_used_up", "", None),
        ("outcome_unknown", UNKNOWN["cause"], "retry"),
        ("outcome_unknown", "late | FindEffect: Unclear: no table", None),
        # What an effect says of itself is not what FindEffect says.
        ("outcome_unknown", UNKNOWN["cause"] + " | FindEffect: E: x", None),
        ("of another version", "", None),
    ],
)
def test_what_can_be_decided_is_offered(
    moto_stack: Stack, reason: str, cause: str, kept_from: str | None
) -> None:
    every = ["retry", "perform", "resolve", "reject"]
    assert decisions_on(moto_stack, reason, cause) == [one for one in every if one != kept_from]


# ------------------------------------------------------------------ one that is not


def entered(state: str, failure: dict[str, Any] | None = None) -> Kind:
    kind = "FailStateEntered" if state == "Failed" else "TaskStateEntered"
    return kind, {"name": state, "input": json.dumps({"failure": failure or {}})}


def left(decision: str) -> Kind:
    return "TaskStateExited", {"name": "DeadLetter", "output": json.dumps({"decision": decision})}


SEND = {"resourceType": "sqs", "resource": "sendMessage.waitForTaskToken"}
TOLD_TOKEN = (
    "TaskScheduled",
    SEND | {"region": "r", "parameters": json.dumps({"MessageBody": {"task_token": "token"}})},
)
"""As AWS's histories tell it."""

POSTED = [entered("DeadLetter")]
NOBODY_ANSWERED = [
    entered("DeadLetter", UNKNOWN),
    ("TaskTimedOut", SEND | {"error": "States.Timeout"}),
    ("ExecutionFailed", {"error": "States.Timeout"}),
]
RESOLVED = [*POSTED, left("resolve")]
NOT_DECIDED, OVER, ALREADY, CONTINUED = (
    DecisionEnd.NOT_DECIDED,
    DecisionEnd.OVER,
    DecisionEnd.ALREADY,
    DecisionEnd.CONTINUED,
)


@dataclass(frozen=True)
class Case:
    """A decision whose token is refused, or that has none, and what the execution tells then.

    Attributes:
        end: how it ends; None: by an error.
        said: within what is said.
        status: of the execution; None: it is gone.
        events: its history.
        refused: why its letter's token is not accepted; None: it is not sent.
        letter: of the message's only letter; None: it has none.
        redrive: asked for, and what AWS says, if it does not do it.
    """

    decision: Decision
    end: DecisionEnd | None
    said: str
    status: str | None
    events: list[Kind]
    refused: str | None = "TaskTimedOut"
    letter: dict[str, Any] | None = dataclasses.field(default_factory=dict)
    redrive: str | None = None


CASES = {
    # The same decision, or another, was made before.
    "again": Case(
        "resolve", ALREADY, "decision was resolve", "SUCCEEDED", RESOLVED, "TaskDoesNotExist"
    ),
    "otherwise": Case(
        "reject", OVER, "Its execution ended SUCCEEDED", "SUCCEEDED", RESOLVED, "InvalidToken"
    ),
    "posted again": Case("resolve", ALREADY, "newer dead letter", "RUNNING", [*RESOLVED, *POSTED]),
    "posted again, otherwise": Case(
        "retry", OVER, "newer dead letter. Look again", "RUNNING", [*RESOLVED, *POSTED]
    ),
    "rejected for good": Case(
        "retry", OVER, "was reject", "FAILED", [*POSTED, left("reject"), entered("Failed")],
        letter=None,
    ),
    # Nobody decided in time, or somebody ended it: a retry, and only that, has it go on.
    "late": Case("retry", CONTINUED, "continues now", "FAILED", NOBODY_ANSWERED, redrive="yes"),
    "late, nothing finds": Case(
        "retry", CONTINUED, "continues now", "FAILED", NOBODY_ANSWERED, None, UNKNOWN, redrive="yes"
    ),
    "late, otherwise": Case(
        "resolve", NOT_DECIDED, "Only retry continues it", "FAILED", NOBODY_ANSWERED
    ),
    "too late": Case(
        "retry", None, "does not redrive it", "FAILED", NOBODY_ANSWERED,
        redrive="ExecutionNotRedrivable",
    ),
    "not allowed": Case(
        "retry", None, "^An error occurred", "FAILED", NOBODY_ANSWERED, redrive="AccessDenied"
    ),
    "aborted": Case(
        "retry", CONTINUED, "ended ABORTED in FindEffect", "ABORTED", [entered("FindEffect")],
        letter=None, redrive="yes",
    ),
    "aborted before what was decided": Case(
        "retry", CONTINUED, "in TellDecision. It continues now: ActOnce carries out what was",
        "ABORTED", [*RESOLVED, entered("TellDecision")], redrive="yes",
    ),
    "failed after a decision": Case(
        "retry", CONTINUED, "ended FAILED in PerformEffect", "FAILED",
        [*RESOLVED, entered("PerformEffect")], redrive="yes",
    ),
    # It waits, and cannot be answered.
    "nothing finds": Case(
        "retry", NOT_DECIDED, "No function can look", "RUNNING", [entered("DeadLetter", UNKNOWN)],
        None, UNKNOWN,
    ),
    "known not to have happened": Case(
        "perform", NOT_DECIDED, "decide retry", "RUNNING", [entered("DeadLetter", REFUSED)],
        None, REFUSED,
    ),
    # The answer to an accepted decision was lost, and the history lags behind.
    "history lags behind": Case(
        "resolve", None, "taken a moment ago", "RUNNING", [*POSTED, TOLD_TOKEN]
    ),
    "no token told": Case("resolve", None, "same command again", "RUNNING", POSTED),
    "letter gone": Case(
        "resolve", None, "no longer in the queue", "RUNNING", POSTED, letter=None
    ),
    # Nothing waits.
    "not waiting": Case(
        "reject", NOT_DECIDED, "nobody has made one", "RUNNING", [entered("FindEffect")],
        letter=None,
    ),
    "execution gone": Case("resolve", NOT_DECIDED, "Find out by hand", None, []),
    "nobody knows": Case("resolve", None, "It has no execution", None, [], letter=None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_not_accepted_is_told_by_its_execution(
    moto_stack: Stack, stepfunctions: Stubber, case: Case
) -> None:
    if case.letter is not None:
        post(moto_stack, "m-1", task_token="token", execution_arn=ARN, **case.letter)
        if case.refused is not None:
            refuses(stepfunctions, "token", case.refused)
    if case.status is None:
        stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    else:
        described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
        stepfunctions.add_response(
            "describe_execution", described | {"status": case.status, "input": "{}"}
        )
        # Times of events that were before the letter was posted, or after it.
        at = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
        events = history_of(*case.events, start=at)
        stepfunctions.add_response("get_execution_history", {"events": events})
    if case.redrive == "yes":
        redriven = {"redriveDate": START}
        stepfunctions.add_response("redrive_execution", redriven, {"executionArn": ARN})
    elif case.redrive:
        stepfunctions.add_client_error("redrive_execution", case.redrive, "no")

    if case.end is None:
        with pytest.raises((Failed, ClientError), match=case.said):
            decide(moto_stack, "m-1", case.decision)
    else:
        answer = decide(moto_stack, "m-1", case.decision)
        assert (answer.end, case.said in answer.said) == (case.end, True), answer.said
    # It stays to be seen, unless something else became of its message.
    stays = case.letter is not None and case.end in (None, NOT_DECIDED)
    assert ids_left(moto_stack) == (["m-1"] if stays else [])


def test_a_letter_that_is_gone_from_the_queue_is_answered_by_its_history(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    described = {"executionArn": ARN, "stateMachineArn": STATE_MACHINE, "startDate": START}
    stepfunctions.add_response("describe_execution", described | {"status": "RUNNING"})
    events = history_of(*POSTED, TOLD_TOKEN)
    stepfunctions.add_response("get_execution_history", {"events": events})
    accepts(stepfunctions, "token")
    assert decide(moto_stack, "m-1", "resolve").decided


def test_an_id_that_poses_as_the_name_of_another_messages_execution_is_not_decided_on(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    name = execution_name("order 17")
    post(moto_stack, "order 17", 1, execution_name=name, task_token="meant")
    post(moto_stack, name, 2, execution_name=execution_name(name), task_token="posing")
    accepts(stepfunctions, "meant")
    assert decide(moto_stack, name, "resolve").decided
    assert ids_left(moto_stack) == [name]


@pytest.mark.usefixtures("minute_long_looks")
def test_where_another_reader_holds_the_letter_one_that_poses_as_it_is_not_taken_for_it(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    name = execution_name("order 17")
    post(moto_stack, "order 17", 1, execution_name=name, task_token="meant")
    hold(moto_stack, moto_stack.dead_letter_queue)
    post(moto_stack, name, 2, execution_name=execution_name(name), task_token="posing")
    for _ in range(2):
        stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    with pytest.raises(Failed, match="cannot be told"):
        decide(moto_stack, name, "resolve")


@pytest.mark.parametrize("has_tokens", [True, False])
def test_a_letter_is_known_by_its_token_or_else_by_its_time(*, has_tokens: bool) -> None:
    at = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    answered = at + timedelta(seconds=10)
    first = Stay(at, {}, {"decision": "retry"}, answered, None, over=True)
    second = Stay(at + timedelta(seconds=20), {}, task_token="t-2" if has_tokens else None)
    # Posted a moment before, or after, its state was entered by the history's clock.
    for posted_at, token, expected in (
        ("2026-01-31T09:29:59.999Z", "t-1", False),
        ("2026-01-31T09:30:00.001Z", "t-1", False),
        ("2026-01-31T09:30:19.999Z", "t-2", True),
        ("2026-01-31T09:30:20.001Z", "t-2", True),
    ):
        one = letter(posted_at=posted_at, task_token=token)
        assert is_of_last(one, [first, second]) is expected
        assert is_of_last(one, [Stay(at, {})])
