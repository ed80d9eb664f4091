"""Each state on its own, by TestState with mocked answers, on the definition that is deployed.

MiniStack's TestState is not AWS's in two ways, so nothing here rests on them: it looks at Catch
before Retry (AWS answers RETRIABLE until the attempts are used up), and a mocked answer or error
does not go through the JSONata of a state; tests/test_state_machine_definition.py evaluates that.
"""

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.type_defs import TestStateOutputTypeDef

MESSAGE = {"message_id": "m-1", "body": {"message_id": "m-1"}}
WAITING = {"rounds": 1, "failure": {"reason": "rounds_used_up", "error": "E", "cause": "C"}}


class States:
    """Runs one state of ProcessMessage at a time."""

    def __init__(self, stack: Stack) -> None:
        machine = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
        definition = json.loads(machine["definition"])
        definition["States"]["AwaitStraggler"]["Seconds"] = 0
        self._definition = json.dumps(definition)
        self._role = machine["roleArn"]
        # TestState's host name begins with "sync-", which no loopback address does.
        self._stepfunctions = boto3.client(
            "stepfunctions",
            endpoint_url=stack.aws.endpoint_url,
            region_name=EMBEDDED_REGION,
            aws_access_key_id=EMBEDDED_CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=EMBEDDED_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=Config(inject_host_prefix=False, retries={"total_max_attempts": 1}),
        )

    def run(
        self,
        name: str,
        state_input: Any,
        *,
        result: Any = None,
        error: str | None = None,
        retries: int = 0,
    ) -> "TestStateOutputTypeDef":
        mock: dict[str, Any] = {}
        if error is not None:
            mock = {"mock": {"errorOutput": {"error": error, "cause": "mocked"}}}
        elif result is not None:
            mock = {"mock": {"result": json.dumps(result)}}
        return self._stepfunctions.test_state(
            definition=self._definition,
            roleArn=self._role,
            stateName=name,
            input=json.dumps(state_input),
            context=json.dumps({"Execution": {"Input": MESSAGE, "Id": "arn", "Name": "m-1"}}),
            stateConfiguration={"retrierRetryCount": retries},
            **mock,
        )


@pytest.fixture(scope="module")
def states(stack: Stack) -> States:
    return States(stack)


@pytest.mark.parametrize(
    ("error", "following"),
    [
        ("NotPerformed", "DeadLetter"),
        ("Lambda.TooManyRequestsException", "DeadLetter"),
        ("States.QueryEvaluationError", "AwaitStraggler"),
        ("Rejected", "DeadLetter"),
        ("OutcomeUnknown", "AwaitStraggler"),
        ("Lambda.ServiceException", "AwaitStraggler"),
        ("Lambda.AWSLambdaException", "AwaitStraggler"),
        ("Lambda.SdkClientException", "AwaitStraggler"),
        ("Lambda.ClientExecutionTimeoutException", "AwaitStraggler"),
        ("States.Timeout", "AwaitStraggler"),
        ("Sandbox.Timedout", "AwaitStraggler"),
        ("Lambda.Unknown", "AwaitStraggler"),
        ("Runtime.ExitError", "AwaitStraggler"),
        ("Runtime.OutOfMemory", "AwaitStraggler"),
        ("SomethingNew", "AwaitStraggler"),
    ],
)
def test_where_an_error_of_the_effect_leads(states: States, error: str, following: str) -> None:
    answer = states.run("PerformEffect", MESSAGE, error=error)

    assert answer["status"] == "CAUGHT_ERROR"
    assert answer["nextState"] == following
    assert answer["error"] == error


def test_effect_that_was_performed_ends_the_execution(states: States) -> None:
    answer = states.run(
        "PerformEffect", MESSAGE, result={"Payload": {"performed": True, "effect": {"slot": 1}}}
    )

    assert answer["status"] == "SUCCEEDED"
    assert "nextState" not in answer


def test_straggler_is_awaited_before_the_look_up(states: States) -> None:
    answer = states.run("AwaitStraggler", WAITING)

    assert answer["nextState"] == "FindEffect"
    assert json.loads(answer["output"]) == WAITING


def test_look_up_leads_to_its_judgement(states: States) -> None:
    answer = states.run(
        "FindEffect", WAITING, result={"Payload": {"performed": False, "effect": None}}
    )

    assert (answer["status"], answer["nextState"]) == ("SUCCEEDED", "Performed?")


@pytest.mark.parametrize(
    "error",
    [
        *("States.Timeout", "Lambda.ServiceException", "SomethingNew"),
        "States.QueryEvaluationError",
    ],
)
def test_a_look_up_that_fails_for_good_is_a_persons_business(states: States, error: str) -> None:
    answer = states.run("FindEffect", WAITING, error=error)

    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "DeadLetter")


@pytest.mark.parametrize(
    ("performed", "rounds", "following"),
    [
        (True, 1, "Done"),
        (True, 3, "Done"),
        (False, 0, "PerformEffect"),
        (False, 2, "PerformEffect"),
        (False, 3, "DeadLetter"),
        ("perhaps", 1, "DeadLetter"),
        (None, 1, "DeadLetter"),
    ],
)
def test_what_follows_the_look_up(
    states: States, performed: Any, rounds: int, following: str
) -> None:
    found = WAITING | {"performed": performed, "rounds": rounds, "effect": None}

    answer = states.run("Performed?", found)

    assert answer["nextState"] == following


def test_look_up_without_a_clear_answer_is_an_unknown_outcome(states: States) -> None:
    answer = states.run("Performed?", WAITING | {"performed": "perhaps", "effect": None})

    assert json.loads(answer["output"])["failure"] == {
        "reason": "outcome_unknown",
        "error": "E",
        "cause": "C | FindEffect: it answered neither true nor false",
    }


def test_effect_that_was_found_is_the_executions_answer(states: States) -> None:
    answer = states.run("Performed?", WAITING | {"performed": True, "effect": {"slot": 7}})

    assert json.loads(answer["output"]) == {"outcome": "found", "effect": {"slot": 7}}


@pytest.mark.parametrize("retries", [0, 9])
def test_dead_letter_that_cannot_be_posted_is_posted_again(states: States, retries: int) -> None:
    answer = states.run("DeadLetter", WAITING, error="SQS.AmazonSQSException", retries=retries)

    assert answer["status"] == "RETRIABLE"


@pytest.mark.parametrize(
    ("error", "retries"), [("SQS.AmazonSQSException", 10), ("States.Timeout", 0)]
)
def test_dead_letter_fails_only_when_it_cannot_be_posted_or_nobody_answers(
    states: States, error: str, retries: int
) -> None:
    answer = states.run("DeadLetter", WAITING, error=error, retries=retries)

    assert (answer["status"], answer["error"]) == ("FAILED", error)


def test_decision_follows_the_dead_letter(states: States) -> None:
    answer = states.run("DeadLetter", WAITING, result={"decision": "retry"})

    assert (answer["status"], answer["nextState"]) == ("SUCCEEDED", "Decision")


@pytest.mark.parametrize(
    ("decision", "reason", "following"),
    [
        ("retry", "rejected", "PerformEffect"),
        ("retry", "not_performed", "PerformEffect"),
        ("retry", "rounds_used_up", "FindEffect"),
        ("retry", "outcome_unknown", "FindEffect"),
        ("perform", "outcome_unknown", "PerformEffect"),
        ("resolve", "rejected", "Done"),
        ("reject", "rejected", "Failed"),
        ("none", "rejected", "DeadLetter"),
        ("Resolve", "rejected", "DeadLetter"),
    ],
)
def test_what_follows_a_decision(
    states: States, decision: str, reason: str, following: str
) -> None:
    decided = {"rounds": 0, "failure": {"reason": reason}, "decision": decision, "note": "why"}

    answer = states.run("Decision", decided)

    assert answer["nextState"] == following


def test_resolved_message_ends_with_the_operators_note(states: States) -> None:
    decided = WAITING | {"decision": "resolve", "note": "booked by telephone"}

    answer = states.run("Decision", decided)

    assert json.loads(answer["output"]) == {"outcome": "resolved", "note": "booked by telephone"}


def test_rejected_message_fails_with_the_operators_note(states: States) -> None:
    answer = states.run("Failed", {"note": "no such patient"})

    assert answer["status"] == "FAILED"
    assert (answer["error"], answer["cause"]) == ("RejectedByOperator", "no such patient")


def test_done_succeeds(states: States) -> None:
    assert states.run("Done", {"outcome": "found"})["status"] == "SUCCEEDED"
