"""One decision on many letters, and on rows in the executions' place; on moto."""

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
from actonce.operate.decisions.deciding import BulkDecision, decide
from actonce.operate.decisions.results import DecisionOutcome, why_unsure
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, UsageError
from actonce_core import transient
from tests.support.moto_stack import VERSION_DEPLOYED
from tests.support.queues import (
    dead,
    decide_shown,
    ids_left,
    letters,
    post,
    put_row,
    received,
    row,
)
from tests.support.stacks import deployed
from tests.support.tables import consistency_of_reads

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


def sent_again(stack: Stack) -> int:
    return len(received(stack, stack.requests_queue))


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


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize(
    ("decision", "status", "outcome", "end"),
    [
        ("resolve", "COMPLETE", "resolved", DecisionOutcome.ALREADY),
        ("resolve", "COMPLETE", "rejected", DecisionOutcome.SUPERSEDED),
        ("retry", "COMPLETE", "performed", DecisionOutcome.SUPERSEDED),
        ("reject", "COMPLETE", "dead_letter", DecisionOutcome.SUPERSEDED),
        ("retry", "IN_PROGRESS", None, DecisionOutcome.CONTINUED),
        ("reject", "IN_PROGRESS", None, DecisionOutcome.NOT_DECIDED),
    ],
)
def test_a_letter_that_was_decided_or_overtaken_meanwhile_says_so(
    lease: Stack, decision: Decision, status: str, outcome: str | None, end: DecisionOutcome
) -> None:
    dead(lease, "m-1")
    dead(lease, "m-2")
    work = decide_on(
        lease, letters(lease), decision, lambda: put_row(lease, "m-1", status, outcome, "a-9")
    )
    ends = {one.entry.message_id: one.end for one in work.ended}
    assert ends == {"m-1": end, "m-2": DecisionOutcome.DECIDED}
    assert ids_left(lease) == (["m-1"] if end is DecisionOutcome.NOT_DECIDED else [])
    assert sent_again(lease) == {DecisionOutcome.CONTINUED: 2}.get(end, int(decision == "retry"))


def test_a_letter_stays_whose_row_its_own_attempt_may_still_complete(lease: Stack) -> None:
    # The attempt has posted it, and writes that it waits for a decision a moment later.
    put_row(lease, "m-1", "IN_PROGRESS", None)
    post(lease, "m-1")
    assert decide_shown(lease, "m-1", "retry").end is DecisionOutcome.CONTINUED
    assert sent_again(lease) == 1
    put_row(lease, "m-1", "COMPLETE", "dead_letter")
    assert decide_shown(lease, "m-1", "resolve", "by hand").decided
    assert ids_left(lease) == []


def test_what_its_row_says_is_read_consistently(lease: Stack) -> None:
    dead(lease, "m-1")
    put_row(lease, "m-1", "COMPLETE", "performed")
    reads = consistency_of_reads(lease.dynamodb)
    assert decide_shown(lease, "m-1", "retry").end is DecisionOutcome.SUPERSEDED
    assert reads == [True, True]  # of the decision, and of whether its letter may go


def test_the_letter_of_an_earlier_attempt_decides_nothing_and_is_deleted(lease: Stack) -> None:
    shown = post(lease, "m-1", 0, reason="outcome_unknown")
    dead(lease, "m-1", 1, reason="outcome_unknown")  # a colleague's retry ended so
    answer = decide(lease, "m-1", "perform", "looked", shown[:8])
    assert (answer.end, "Look again" in answer.text) == (DecisionOutcome.SUPERSEDED, True)
    assert (row(lease, "m-1")["outcome"], sent_again(lease)) == ("dead_letter", 0)
    assert ids_left(lease) == ["m-1"]


def test_behind_a_lock_every_decision_names_its_letter(lease: Stack) -> None:
    dead(lease, "m-1")
    with pytest.raises(UsageError, match="Look first"):
        decide(lease, "m-1", "retry", "x")
    assert (ids_left(lease), row(lease, "m-1")["outcome"]) == (["m-1"], "dead_letter")


NOTHING_FINDS: dict[str, Any] = {
    "reason": "outcome_unknown",
    "error": "_CannotFind",
    "cause": "LookupError: No function is named to look it up (FindFunctionArn)",
}


@pytest.mark.parametrize(
    ("decision", "more", "is_decided"),
    [
        ("retry", NOTHING_FINDS, False),
        ("retry", NOTHING_FINDS | {"by_now": "arn:find"}, True),
        ("perform", NOTHING_FINDS, True),
        ("retry", {"reason": "rounds_used_up"}, True),
        ("perform", {"reason": "rounds_used_up"}, False),
        ("retry", {"reason": "rejected"}, True),
        ("perform", {"reason": "rejected"}, False),
        ("retry", {"source": None}, False),
        ("retry", {"attempt_id": None}, False),
    ],
)
def test_what_is_tried_again_is_looked_up_first_unless_nothing_happened(
    lease: Stack, decision: Decision, more: dict[str, Any], *, is_decided: bool
) -> None:
    if "by_now" in more:
        lease.outputs["FindFunctionArn"] = more["by_now"]
    dead(lease, "m-1", **more)
    answer = decide_shown(lease, "m-1", decision)
    assert answer.decided is is_decided, answer.text
    item = row(lease, "m-1")
    assert ("attempt_id" not in item) is is_decided
    nothing_happened = decision == "perform" or more.get("reason") == "rejected"
    assert ("outcome_unknown" in item) is (is_decided and not nothing_happened)
    assert sent_again(lease) == is_decided
    assert bool(ids_left(lease)) is not is_decided


@pytest.mark.parametrize(
    ("own", "message_id", "ids"),
    [
        (8, "m-1", {"source_message_id": "first-id", "source_deduplication_id": "d-1"}),
        (9, "m-1", {"source_message_id": "first-id"}),
        (9, "d-1", {"source_deduplication_id": "d-1"}),
        (10, "m-1", {}),
        (10, "first-id", None),
    ],
)
def test_what_is_sent_again_keeps_its_attributes_and_the_id_that_its_own_comes_from(
    lease: Stack, own: int, message_id: str, ids: dict[str, str] | None
) -> None:
    kept = {f"a{n}": {"dataType": "String", "stringValue": "v"} for n in range(own)}
    source = {"sqs_message_id": "first-id", "message_attributes": kept, "message_group_id": "g"}
    dead(lease, message_id, source=source | {"deduplication_id": "d-1"})
    answer = decide_shown(lease, message_id, "retry")
    assert answer.decided is (ids is not None)
    assert (row(lease, message_id).get("outcome") == "dead_letter") is (ids is None)
    for sent in received(lease, lease.requests_queue):
        attributes = {name: one["StringValue"] for name, one in sent["MessageAttributes"].items()}
        assert attributes == dict.fromkeys(kept, "v") | (ids or {})
