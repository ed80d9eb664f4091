"""One decision on many letters, by the tasks that wait for it."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.stub import ANY, Stubber

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import Listing
from actonce.operate.decisions.allowed import Decision
from actonce.operate.decisions.deciding import BulkDecision
from actonce.operate.decisions.results import DecisionOutcome, why_unsure
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core import transient
from tests.support.moto_stack import VERSION_DEPLOYED
from tests.support.queues import ids_left, letters, post
from tests.support.stacks import deployed

NO_ANSWER = ReadTimeoutError(endpoint_url="https://dynamodb.example")


def decide_on(
    stack: Stack,
    those: Listing[DeadLetter],
    decision: Decision,
    meanwhile: Callable[[], Any] = lambda: None,
) -> BulkDecision:
    work = BulkDecision(stack, those, decision, "a note", wait_for_others=0)
    meanwhile()
    work.run()
    return work


# ------------------------------------------------------------------ many


@pytest.mark.parametrize(
    ("error", "is_unknown"),
    [
        (NO_ANSWER, True),
        (EndpointConnectionError(endpoint_url="here"), True),  # of the last of several attempts
        (NoCredentialsError(), False),
        (ClientError({"ResponseMetadata": {"HTTPStatusCode": 500}}, "SendTaskSuccess"), True),  # type: ignore[typeddict-item]
        (ClientError({"ResponseMetadata": {"HTTPStatusCode": 400}}, "SendTaskSuccess"), False),  # type: ignore[typeddict-item]
        (Failed("It cannot be decided so."), False),
    ],
)
def test_a_decision_is_made_or_not_where_an_answer_says_so(
    error: Exception, *, is_unknown: bool
) -> None:
    assert (why_unsure(error) is not None) is is_unknown


def test_each_waiting_task_is_answered_through_throttling_and_fails_alone(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)  # answers are given in order
    monkeypatch.setattr(transient, "_LONGEST_PAUSE", 0.0)
    client = boto3.client("stepfunctions")
    moto_stack.aws._clients["stepfunctions"] = client
    deployed(moto_stack, moto_stack.outputs | VERSION_DEPLOYED)
    reads: list[Any] = []
    moto_stack.aws.client("cloudformation").meta.events.register(
        "before-call.cloudformation.DescribeStacks", lambda **_: reads.append(1)
    )
    for number in range(3):
        post(moto_stack, f"m-{number}", number, task_token=f"t-{number}")
    with Stubber(client) as steps:
        tokens: list[dict[str, Any]] = [{"taskToken": f"t-{n}", "output": ANY} for n in range(3)]
        steps.add_client_error("send_task_success", "ValidationException")
        steps.add_client_error("send_task_success", "ThrottlingException")
        steps.add_response("send_task_success", {}, tokens[1])
        steps.add_response("send_task_success", {}, tokens[2])
        work = decide_on(moto_stack, letters(moto_stack), "retry")
        steps.assert_no_pending_responses()
    assert [one.end for one in work.ended] == [
        "failed",
        DecisionOutcome.DECIDED,
        DecisionOutcome.DECIDED,
    ]
    assert ids_left(moto_stack) == ["m-0"]
    assert len(reads) == 1, "what is deployed is read once, not for each letter"


def test_what_is_told_of_a_letter_has_no_token_which_is_as_good_as_the_decision(
    moto_stack: Stack,
) -> None:
    post(moto_stack, "m-1", task_token="t-1")
    (letter,) = letters(moto_stack).entries
    assert letter.task_token == "t-1"
    assert "t-1" not in letter.as_json().values()
