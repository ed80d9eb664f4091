"""Decisions, with the answers of Step Functions that no emulator gives."""

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from actonce.messages.dead_letters import End, NotThere, decide
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.cli.conftest import STATE_MACHINE, VERSION_DEPLOYED, deployed
from tests.cli.received import received

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ARN = STATE_MACHINE.replace(":stateMachine:", ":execution:") + ":m-1"
INPUT = {"message_id": "m-1", "body": {"message_id": "m-1"}}


@pytest.fixture
def stepfunctions(moto_stack: Stack) -> Iterator[Stubber]:
    client = boto3.client("stepfunctions")
    moto_stack.aws._clients["stepfunctions"] = client
    deployed(moto_stack.aws, moto_stack.outputs | VERSION_DEPLOYED)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


NOT_LOOKED_UP = {
    "reason": "outcome_unknown",
    "error": "States.Timeout",
    "cause": "late | FindEffect: States.QueryEvaluationError: The expression threw: No function is "
    "named to look it up (FindFunctionArn).",
}


def post(
    stack: Stack, token: str, message_id: str = "m-1", at: str = "09:30:00", **more: str
) -> None:
    body = {
        "version": 1,
        "message_id": message_id,
        "reason": "rejected",
        "error": "Rejected",
        "cause": "no such practice",
        "rounds": 0,
        "execution_arn": ARN.replace("m-1", message_id),
        "execution_name": message_id,
        "posted_at": f"2026-01-31T{at}.000Z",
        "task_token": token,
        "message": INPUT,
    }
    stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=json.dumps(body | more))


def tokens_left(stack: Stack) -> set[str]:
    return {json.loads(m["Body"])["task_token"] for m in received(stack, stack.dead_letter_queue)}


def accepts(stubber: Stubber, token: str) -> None:
    stubber.add_response("send_task_success", {}, {"taskToken": token, "output": ANY})


def outputs_sent(stubber: Stubber) -> list[dict[str, Any]]:
    """What is answered to tasks from now on."""
    outputs: list[dict[str, Any]] = []
    stubber.client.meta.events.register(
        "provide-client-params.sfn.SendTaskSuccess",
        lambda params, **_: outputs.append(json.loads(params["output"])),
    )
    return outputs


def refuses(stubber: Stubber, token: str, code: str) -> None:
    stubber.add_client_error(
        "send_task_success", code, expected_params={"taskToken": token, "output": ANY}
    )


def execution(stubber: Stubber, status: str, error: str | None = None) -> None:
    answer: dict[str, Any] = {
        "executionArn": ARN,
        "stateMachineArn": STATE_MACHINE,
        "status": status,
        "startDate": AT,
        "input": json.dumps(INPUT),
    }
    if error:
        answer["error"] = error
    stubber.add_response("describe_execution", answer, {"executionArn": ARN})


def history(
    stubber: Stubber, *events: tuple[str, dict[str, Any]], entered_with: Any = None
) -> None:
    entered = {"name": "DeadLetter", "input": json.dumps(entered_with or {})}
    posted = [
        ("TaskStateEntered", {"stateEnteredEventDetails": entered}),
        *events,
    ]
    numbered = [
        {"timestamp": AT, "type": kind, "id": number, **details}
        for number, (kind, details) in enumerate(posted, 1)
    ]
    stubber.add_response("get_execution_history", {"events": numbered})


def posted_with(token: str) -> tuple[str, dict[str, Any]]:
    """The event that tells the token, as on AWS."""
    details = {
        "resourceType": "sqs",
        "resource": "sendMessage.waitForTaskToken",
        "region": "us-east-1",
        "parameters": json.dumps({"MessageBody": {"task_token": token}}),
    }
    return "TaskScheduled", {"taskScheduledEventDetails": details}


TIMED_OUT = (
    (
        "TaskTimedOut",
        {
            "taskTimedOutEventDetails": {
                "resourceType": "sqs",
                "resource": "sendMessage.waitForTaskToken",
                "error": "States.Timeout",
            }
        },
    ),
    ("ExecutionFailed", {"executionFailedEventDetails": {"error": "States.Timeout"}}),
)
DECIDED = (
    (
        "TaskStateExited",
        {
            "stateExitedEventDetails": {
                "name": "DeadLetter",
                "output": '{"decision": "resolve", "note": "x"}',
            }
        },
    ),
)


def test_a_decision_goes_to_step_functions_with_who_made_it(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    outputs = outputs_sent(stepfunctions)
    post(moto_stack, "token")
    post(moto_stack, "another's", message_id="m-2")
    accepts(stepfunctions, "token")
    answer = decide(moto_stack, "m-1", "reject", "geschlossen – zu")
    assert answer.decided
    (output,) = outputs
    assert (output["decision"], output["note"]) == ("reject", "geschlossen – zu")
    assert output["decided_by"].startswith("arn:aws:")
    assert datetime.fromisoformat(output["decided_at"]).tzinfo is not None
    assert tokens_left(moto_stack) == {"another's"}


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
    moto_stack: Stack, stepfunctions: Stubber, decision: Any, version: Any
) -> None:
    outputs = outputs_sent(stepfunctions)
    # Found before the deployment, as by a console that has been open for long.
    before = dict.fromkeys(VERSION_DEPLOYED, "before")
    stack = dataclasses.replace(moto_stack, outputs=moto_stack.outputs | before)
    post(stack, "token")
    accepts(stepfunctions, "token")

    assert decide(stack, "m-1", decision, "mended").decided

    (output,) = outputs
    assert output.get("version") == version


def test_a_version_without_a_function_that_finds_says_so(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    cloudformation = moto_stack.aws.client("cloudformation")
    cloudformation.delete_stack(StackName="actonce")
    named = {name: told for name, told in VERSION_DEPLOYED.items() if name != "FindFunctionArn"}
    deployed(moto_stack.aws, moto_stack.outputs | named)
    outputs = outputs_sent(stepfunctions)
    post(moto_stack, "token")
    accepts(stepfunctions, "token")

    assert decide(moto_stack, "m-1", "retry").decided

    (output,) = outputs
    assert output["version"] == VERSION | {"find": ""}


@pytest.mark.parametrize(
    ("status", "outputs", "is_decided"),
    [
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", VERSION_DEPLOYED, True),
        ("UPDATE_ROLLBACK_COMPLETE", VERSION_DEPLOYED, True),
        ("UPDATE_IN_PROGRESS", VERSION_DEPLOYED, False),
        ("UPDATE_ROLLBACK_IN_PROGRESS", {}, False),
        ("UPDATE_ROLLBACK_FAILED", VERSION_DEPLOYED, False),
    ],
)
def test_nothing_is_tried_again_while_a_deployment_is_under_way(
    moto_stack: Stack,
    stepfunctions: Stubber,
    status: str,
    outputs: dict[str, str],
    is_decided: bool,
) -> None:
    client = boto3.client("cloudformation")
    moto_stack.aws._clients["cloudformation"] = client
    told: Any = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
    stack = {"StackName": "actonce", "CreationTime": AT, "StackStatus": status, "Outputs": told}
    post(moto_stack, "token")
    with Stubber(client) as cloudformation:
        cloudformation.add_response("describe_stacks", {"Stacks": [stack]})
        if is_decided:
            accepts(stepfunctions, "token")
            assert decide(moto_stack, "m-1", "retry").decided
        else:
            with pytest.raises(Failed, match=f"is {status}, and .* when the deployment has ended"):
                decide(moto_stack, "m-1", "retry")
            assert tokens_left(moto_stack) == {"token"}


def test_nothing_is_deleted_unless_the_decision_was_accepted(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        decide(moto_stack, "m-1", "resolve")
    assert tokens_left(moto_stack) == {"token"}


def test_the_newest_entry_is_answered_and_the_older_ones_of_the_execution_go(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "old", at="09:30:00")
    post(moto_stack, "new", at="10:30:00")
    accepts(stepfunctions, "new")
    assert decide(moto_stack, "m-1", "resolve").decided
    assert tokens_left(moto_stack) == set()


def test_an_entry_that_cannot_be_answered_does_not_hide_one_that_can(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "stale", at="10:30:00")
    post(moto_stack, "open", at="09:30:00")
    refuses(stepfunctions, "stale", "TaskTimedOut")
    accepts(stepfunctions, "open")
    assert decide(moto_stack, "m-1", "resolve").decided
    assert tokens_left(moto_stack) == set()


@pytest.mark.parametrize("code", ["TaskDoesNotExist", "TaskTimedOut", "InvalidToken"])
@pytest.mark.parametrize(("again", "end"), [("reject", End.NOT_DECIDED), ("resolve", End.ALREADY)])
def test_a_second_decision_changes_nothing_and_says_so(
    moto_stack: Stack, stepfunctions: Stubber, code: str, again: Any, end: End
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", code)
    execution(stepfunctions, "SUCCEEDED")
    history(stepfunctions, *DECIDED)
    answer = decide(moto_stack, "m-1", again)
    assert answer.end is end
    assert "the last decision was resolve. Its execution ended SUCCEEDED" in answer.said
    assert tokens_left(moto_stack) == set()


@pytest.mark.parametrize(
    ("status", "error"),
    [("FAILED", "States.Timeout"), ("ABORTED", None), ("FAILED", "SQS.AmazonSQSException")],
)
def test_a_retry_of_what_nobody_answered_has_it_posted_again(
    moto_stack: Stack, stepfunctions: Stubber, status: str, error: str | None
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "TaskTimedOut")
    execution(stepfunctions, status, error)
    history(stepfunctions, *TIMED_OUT)
    stepfunctions.add_response("redrive_execution", {"redriveDate": AT}, {"executionArn": ARN})
    answer = decide(moto_stack, "m-1", "retry")
    assert answer.end is End.CONTINUED
    assert tokens_left(moto_stack) == set()


def test_a_retry_that_nothing_can_look_up_is_refused_and_says_what_to_do(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "token", **NOT_LOOKED_UP)
    execution(stepfunctions, "RUNNING")
    history(stepfunctions, entered_with={"failure": NOT_LOOKED_UP})
    answer = decide(moto_stack, "m-1", "retry")
    assert not answer.end.happened
    assert answer.said.startswith("Nothing can look it up")
    assert "dead-letters perform" in answer.said
    assert tokens_left(moto_stack) == {"token"}


@pytest.mark.parametrize(
    ("decision", "more"),
    [
        ("perform", NOT_LOOKED_UP),
        ("resolve", NOT_LOOKED_UP),
        ("retry", NOT_LOOKED_UP | {"cause": "late | FindEffect: Unclear: no table"}),
        # What an effect says of itself is not what FindEffect says.
        ("retry", NOT_LOOKED_UP | {"cause": NOT_LOOKED_UP["cause"] + " | FindEffect: E: x"}),
        ("retry", NOT_LOOKED_UP | {"reason": "not_performed"}),
    ],
)
def test_every_other_decision_on_an_unknown_outcome_is_made(
    moto_stack: Stack, stepfunctions: Stubber, decision: Any, more: dict[str, str]
) -> None:
    post(moto_stack, "token", **more)
    accepts(stepfunctions, "token")
    assert decide(moto_stack, "m-1", decision, "nothing in the journal").decided


def test_a_retry_of_what_nobody_answered_in_time_posts_it_whatever_can_look_it_up(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "token", **NOT_LOOKED_UP)
    execution(stepfunctions, "FAILED", "States.Timeout")
    history(stepfunctions, *TIMED_OUT, entered_with={"failure": NOT_LOOKED_UP})
    stepfunctions.add_response("redrive_execution", {"redriveDate": AT}, {"executionArn": ARN})
    assert decide(moto_stack, "m-1", "retry").end is End.CONTINUED


@pytest.mark.parametrize("decision", ["perform", "resolve", "reject"])
def test_another_decision_on_what_nobody_answered_says_what_to_do(
    moto_stack: Stack, stepfunctions: Stubber, decision: Any
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "TaskTimedOut")
    execution(stepfunctions, "FAILED", "States.Timeout")
    history(stepfunctions, *TIMED_OUT)
    answer = decide(moto_stack, "m-1", decision)
    assert answer.end is End.NOT_DECIDED
    assert "retry has it go on" in answer.said
    assert tokens_left(moto_stack) == {"token"}  # it stays to be seen


def test_a_dead_letter_that_is_gone_from_the_queue_is_answered_by_its_history(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    execution(stepfunctions, "RUNNING")
    history(stepfunctions, posted_with("from history"))
    accepts(stepfunctions, "from history")
    assert decide(moto_stack, "m-1", "resolve").decided


def test_a_dead_letter_that_nothing_tells_of_is_a_failure(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    execution(stepfunctions, "RUNNING")
    history(stepfunctions)
    with pytest.raises(Failed, match="is gone from the queue"):
        decide(moto_stack, "m-1", "resolve")


def test_a_refused_token_of_the_last_stay_is_never_told_as_undecided(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    """The answer to an accepted decision was lost, and the history lags behind."""
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "TaskTimedOut")
    execution(stepfunctions, "RUNNING")
    history(stepfunctions, posted_with("token"))
    with pytest.raises(Failed, match="answered a moment ago"):
        decide(moto_stack, "m-1", "perform", "not in the book")
    assert tokens_left(moto_stack) == {"token"}


def test_a_running_execution_that_needs_no_decision_is_left_alone(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    execution(stepfunctions, "RUNNING")
    history(stepfunctions, *DECIDED)
    answer = decide(moto_stack, "m-1", "reject")
    assert not answer.end.happened
    assert answer.said.startswith("It waits for no decision")


def test_a_message_that_nobody_knows_is_a_failure(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    with pytest.raises(Failed, match="no dead letter and no execution"):
        decide(moto_stack, "m-1", "resolve")


@pytest.mark.usefixtures("minute_long_looks")
def test_where_another_reader_holds_letters_one_is_not_said_not_to_be_there(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "token", message_id="m-2")
    moto_stack.sqs.receive_message(QueueUrl=moto_stack.dead_letter_queue, VisibilityTimeout=600)
    stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    with pytest.raises(NotThere, match="cannot be told, and it has no execution"):
        decide(moto_stack, "m-1", "resolve")


def test_an_entry_whose_execution_is_gone_stays_to_be_seen(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "TaskDoesNotExist")
    stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    answer = decide(moto_stack, "m-1", "resolve")
    assert not answer.end.happened
    assert "find out by hand" in answer.said
    assert tokens_left(moto_stack) == {"token"}


@pytest.mark.parametrize("code", ["ExecutionNotRedrivable", "InvalidAction"])
def test_what_cannot_be_redriven_is_a_failure_and_keeps_its_entry(
    moto_stack: Stack, stepfunctions: Stubber, code: str
) -> None:
    post(moto_stack, "token")
    refuses(stepfunctions, "token", "TaskTimedOut")
    execution(stepfunctions, "FAILED", "States.Timeout")
    history(stepfunctions, *TIMED_OUT)
    stepfunctions.add_client_error("redrive_execution", code, "too old")
    with pytest.raises(Failed, match="cannot redrive"):
        decide(moto_stack, "m-1", "retry")
    assert tokens_left(moto_stack) == {"token"}


def interrupted_in(stubber: Stubber, state: str, status: str = "ABORTED") -> None:
    """An execution that ended in the middle of a state."""
    execution(stubber, status)
    entered = {"stateEnteredEventDetails": {"name": state, "input": "{}"}}
    history(stubber, ("TaskStateEntered", entered), (f"Execution{status.title()}", {}))


@pytest.mark.parametrize("status", ["ABORTED", "FAILED"])
@pytest.mark.parametrize("state", ["PerformEffect", "AwaitStraggler", "FindEffect", "Decision"])
def test_a_retry_of_what_ended_undecided_goes_on_from_there(
    moto_stack: Stack, stepfunctions: Stubber, state: str, status: str
) -> None:
    interrupted_in(stepfunctions, state, status)
    stepfunctions.add_response("redrive_execution", {"redriveDate": AT}, {"executionArn": ARN})

    answer = decide(moto_stack, "m-1", "retry")

    assert (answer.end, f"ended {status} in {state}" in answer.said) == (End.CONTINUED, True)


@pytest.mark.parametrize("decision", ["perform", "resolve", "reject"])
def test_what_was_aborted_waits_for_no_decision(
    moto_stack: Stack, stepfunctions: Stubber, decision: Any
) -> None:
    interrupted_in(stepfunctions, "PerformEffect")

    answer = decide(moto_stack, "m-1", decision)

    assert answer.end is End.NOT_DECIDED
    assert "retry has it go on" in answer.said


def test_what_an_operator_has_rejected_is_not_continued(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    execution(stepfunctions, "FAILED", "RejectedByOperator")
    entered = {"stateEnteredEventDetails": {"name": "Failed", "input": "{}"}}
    history(stepfunctions, *DECIDED, ("FailStateEntered", entered))

    answer = decide(moto_stack, "m-1", "retry")

    assert answer.end is End.NOT_DECIDED
