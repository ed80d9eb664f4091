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
from actonce.messages.filters import Listing, Narrowing
from actonce.operate.decisions.answers import End, Unsure, may_be_made
from actonce.operate.decisions.carried_out import Deciding, decide
from actonce.operate.decisions.offered import Decision
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.cli.conftest import VERSION_DEPLOYED
from tests.hostile import HOSTILE_SENT
from tests.support.queues import (
    bodies_left,
    dead,
    hold,
    ids_left,
    letters,
    post,
    put_row,
    received,
    row,
)
from tests.support.stacks import deployed, fail, forbid

EXPIRED = ClientError({"Error": {"Code": "ExpiredTokenException", "Message": "no"}}, "UpdateItem")
NO_ANSWER = ReadTimeoutError(endpoint_url="https://dynamodb.example")


def decide_on(
    stack: Stack,
    those: Listing[DeadLetter],
    decision: Decision,
    meanwhile: Callable[[], Any] = lambda: None,
) -> Deciding:
    work = Deciding(stack, those, decision, "a note", wait_for_others=0)
    meanwhile()
    work.run()
    return work


def sent_again(stack: Stack) -> int:
    return len(received(stack, stack.requests_queue))


# ------------------------------------------------------------------ many


@pytest.mark.parametrize("decision", ["resolve", "retry"])
def test_all_that_were_shown_are_decided_with_their_older_letters_and_none_that_came_later(
    ledger: Stack, decision: Decision
) -> None:
    for number in range(12):
        dead(ledger, f"m-{number}", number)
    post(ledger, "m-7", 1)

    def later() -> None:
        dead(ledger, "later")
        post(ledger, "m-1", 50)

    those = letters(ledger)
    assert (len(those.entries), those.beside) == (12, 1)
    work = decide_on(ledger, those, decision, later)
    assert (work.counted, work.left) == ({End.DECIDED: 12}, 0)
    assert row(ledger, "later")["outcome"] == "dead_letter"
    assert ids_left(ledger) == ["later", "m-1"]
    sent = bodies_left(ledger, ledger.requests_queue)
    if decision == "retry":
        assert row(ledger, "m-7")["status"] == "IN_PROGRESS"
        assert sent == sorted(f'{{"message_id": "m-{n}", "number": {n}}}' for n in range(12))
    else:
        assert (row(ledger, "m-7")["outcome"], row(ledger, "m-7")["note"]) == ("resolved", "a note")
        assert sent == []


def test_a_message_is_meant_by_its_newest_letter_and_listed_without_its_text(
    ledger: Stack,
) -> None:
    dead(ledger, "m-1", 1, reason="rejected", error="Rejected")
    post(ledger, "m-1", 2, reason="outcome_unknown", cause="find: 503")
    dead(ledger, "m-2", 3, reason="rejected", message={"body": {"practice": "north"}})
    for narrowing, expected in (
        (Narrowing({"reason": "rejected"}), ["m-2"]),
        (Narrowing({}, match="503"), ["m-1"]),
        (Narrowing({}, match="north"), ["m-2"]),
    ):
        entries = letters(ledger, narrowing).entries
        assert [one.message_id for one in entries] == expected
        assert all(one.message is None and one.queued.body == "" for one in entries)


@pytest.mark.parametrize("comes_first", ["stale", "open", None])
def test_it_is_of_the_attempt_that_waits_whichever_letter_looks_newest(
    ledger: Stack, monkeypatch: pytest.MonkeyPatch, comes_first: str | None
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)
    if comes_first == "open":
        dead(ledger, "m-1", 1)
    post(ledger, "m-1", 2)  # by a machine whose clock is ahead, which crashed when it had posted it
    if comes_first != "open":
        dead(ledger, "m-1", 1)
    if comes_first is None:
        assert decide(ledger, "m-1", "retry").decided
    else:
        assert decide_on(ledger, letters(ledger), "reject").counted == {End.DECIDED: 1}
    assert (sent_again(ledger), ids_left(ledger)) == (int(comes_first is None), [])


@pytest.mark.parametrize("decision", ["retry", "resolve"])
def test_a_letter_that_was_shown_decides_nothing_that_failed_again_since(
    ledger: Stack, decision: Decision
) -> None:
    dead(ledger, "m-1", 1)
    # Somebody has had it tried again, it failed again, and the old letter is still there.
    work = decide_on(ledger, letters(ledger), decision, lambda: dead(ledger, "m-1", 2))
    (decided,) = work.ended
    assert (decided.end, "newer dead letter" in decided.said) == (End.OVER, True)
    assert row(ledger, "m-1")["outcome"] == "dead_letter"
    assert (sent_again(ledger), ids_left(ledger)) == (0, ["m-1"])


def test_what_is_hostile_is_a_letter_and_what_is_none_is_left_alone(ledger: Stack) -> None:
    text = HOSTILE_SENT
    dead(ledger, text, execution_name="sha256-1", error=text, cause=text)
    for body in (" ", "{}", "[]", "[" * 100_000):
        ledger.sqs.send_message(QueueUrl=ledger.dead_letter_queue, MessageBody=body)
    for wrong in ({"error": None}, {"cause": 7}, {"rounds": "x"}, {"execution_name": ["m-1"]}):
        post(ledger, "m-1", **wrong)
    assert letters(ledger).beside == 8
    work = decide_on(ledger, letters(ledger, Narrowing({"error": text}, match=text)), "resolve")
    assert work.counted == {End.DECIDED: 1}
    assert row(ledger, text)["outcome"] == "resolved"
    assert len(received(ledger, ledger.dead_letter_queue)) == 8


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_letter_that_does_not_come_again_is_told_and_not_decided(
    ledger: Stack, *, is_gone: bool
) -> None:
    dead(ledger, "m-1")
    url = ledger.dead_letter_queue

    def takes_it() -> None:
        if is_gone:
            ledger.sqs.purge_queue(QueueUrl=url)
        else:
            hold(ledger, url)

    (one,) = decide_on(ledger, letters(ledger), "resolve", takes_it).ended
    assert (one.end, one.happened) == ("failed", False)
    assert ("no longer in the queue" in one.said, "Another reader holds it" in one.said) == (
        is_gone,
        not is_gone,
    )
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


def test_killed_between_decision_and_deletion_the_next_run_clears_up(ledger: Stack) -> None:
    for number in range(5):
        dead(ledger, f"m-{number}", number)

    def killed(**_: Any) -> None:
        raise SystemExit

    events = ledger.sqs.meta.events
    events.register("before-call.sqs.DeleteMessageBatch", killed, unique_id="kill")
    with pytest.raises(SystemExit):
        decide_on(ledger, letters(ledger), "reject")
    events.unregister("before-call.sqs.DeleteMessageBatch", unique_id="kill")
    work = decide_on(ledger, letters(ledger), "reject")
    assert work.counted == {End.ALREADY: 5}
    assert all(one.happened for one in work.ended)
    assert ids_left(ledger) == []


@pytest.fixture
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "READERS", 1)


def ended_early(stack: Stack, decision: Decision, error: type[Exception]) -> Deciding:
    work = Deciding(stack, letters(stack), decision, "a note", wait_for_others=0)
    with pytest.raises(error):
        work.run()
    return work


@pytest.mark.usefixtures("one_after_the_other")
def test_what_was_decided_before_credentials_ran_out_is_counted_and_said_to_lie_there_still(
    ledger: Stack,
) -> None:
    for number in range(5):
        dead(ledger, f"m-{number}", number)
    fail(ledger, "dynamodb", "UpdateItem", EXPIRED, after=2)
    fail(ledger, "sqs", "DeleteMessageBatch", EXPIRED)
    work = ended_early(ledger, "reject", ClientError)
    assert (work.counted, work.left, work.left_behind) == ({End.DECIDED: 2}, 3, 2)
    (note,) = work.notes
    assert "2" in note
    assert "could not be deleted" in note


@pytest.mark.usefixtures("one_after_the_other")
@pytest.mark.parametrize(
    ("service", "operation", "error"),
    [
        ("dynamodb", "UpdateItem", NO_ANSWER),
        ("dynamodb", "GetItem", NO_ANSWER),
        # The row is written, and its message is not sent again.
        ("sqs", "SendMessage", ClientError({"Error": {"Code": "AccessDenied"}}, "SendMessage")),
    ],
)
def test_a_decision_without_an_answer_is_neither_made_nor_left_undone(
    ledger: Stack, service: str, operation: str, error: Exception
) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)
    put_row(ledger, "m-1", "IN_PROGRESS", None)  # its row is looked at
    fail(ledger, service, operation, error, after=operation != "GetItem")
    work = ended_early(ledger, "retry", type(error))
    assert work.counted == {End.DECIDED: 1, "unknown": 1}
    assert work.left == 1
    assert [one.happened for one in work.ended] == [True, False]


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
    assert may_be_made(error) is is_unknown


def test_each_waiting_task_is_answered_through_throttling_and_fails_alone(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "READERS", 1)  # answers are given in order
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
    assert [one.end for one in work.ended] == ["failed", End.DECIDED, End.DECIDED]
    assert ids_left(moto_stack) == ["m-0"]
    assert len(reads) == 1, "what is deployed is read once, not for each letter"


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize(
    ("decision", "status", "outcome", "end"),
    [
        ("resolve", "COMPLETE", "resolved", End.ALREADY),
        ("resolve", "COMPLETE", "rejected", End.OVER),
        ("reject", "COMPLETE", "performed", End.OVER),
        ("retry", "COMPLETE", "performed", End.OVER),
        ("retry", "IN_PROGRESS", None, End.CONTINUED),
        ("reject", "IN_PROGRESS", None, End.NOT_DECIDED),
    ],
)
def test_a_letter_that_was_decided_or_overtaken_meanwhile_says_so(
    ledger: Stack, decision: Decision, status: str, outcome: str | None, end: End
) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    work = decide_on(
        ledger, letters(ledger), decision, lambda: put_row(ledger, "m-1", status, outcome)
    )
    ends = {one.entry.message_id: one.end for one in work.ended}
    assert ends == {"m-1": end, "m-2": End.DECIDED}
    assert ids_left(ledger) == (["m-1"] if end is End.NOT_DECIDED else [])
    assert sent_again(ledger) == {End.CONTINUED: 2}.get(end, int(decision == "retry"))


def test_the_second_step_of_a_decision_is_made_by_the_next_one(ledger: Stack) -> None:
    """The row was written, and then its message could not be sent again."""
    dead(ledger, "m-1")
    forbid(ledger, "sqs", "SendMessage")
    with pytest.raises(Unsure, match="AccessDenied"):
        decide(ledger, "m-1", "retry")
    assert row(ledger, "m-1")["status"] == "IN_PROGRESS"
    del ledger.aws._clients["sqs"]  # allowed from now on
    assert decide(ledger, "m-1", "retry").end is End.CONTINUED
    assert (sent_again(ledger), ids_left(ledger)) == (1, [])


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
        ("perform", {"reason": "rounds_used_up"}, True),
        ("retry", {"reason": "rejected"}, True),
        ("perform", {"reason": "rejected"}, False),
        ("retry", {"source": None}, False),
        ("retry", {"attempt_id": None}, False),
    ],
)
def test_what_is_tried_again_is_looked_up_first_unless_nothing_happened(
    ledger: Stack, decision: Decision, more: dict[str, Any], *, is_decided: bool
) -> None:
    if "by_now" in more:
        ledger.outputs["FindFunctionArn"] = more["by_now"]
    dead(ledger, "m-1", **more)
    answer = decide(ledger, "m-1", decision)
    assert answer.decided is is_decided, answer.said
    item = row(ledger, "m-1")
    assert ("attempt_id" not in item) is is_decided
    nothing_happened = decision == "perform" or more.get("reason") == "rejected"
    assert ("outcome_unknown" in item) is (is_decided and not nothing_happened)
    assert sent_again(ledger) == is_decided
    assert bool(ids_left(ledger)) is not (is_decided or answer.end.goes)


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
    ledger: Stack, own: int, message_id: str, ids: dict[str, str] | None
) -> None:
    kept = {f"a{n}": {"dataType": "String", "stringValue": "v"} for n in range(own)}
    source = {"sqs_message_id": "first-id", "message_attributes": kept, "message_group_id": "g"}
    dead(ledger, message_id, source=source | {"deduplication_id": "d-1"})
    answer = decide(ledger, message_id, "retry")
    assert answer.decided is (ids is not None)
    assert (row(ledger, message_id).get("outcome") == "dead_letter") is (ids is None)
    for sent in received(ledger, ledger.requests_queue):
        told = {name: one["StringValue"] for name, one in sent["MessageAttributes"].items()}
        assert told == dict.fromkeys(kept, "v") | (ids or {})


def test_a_letter_that_only_looks_older_frees_no_row_whose_message_nobody_sends(
    ledger: Stack,
) -> None:
    dead(ledger, "m-1", 1, source=None)
    post(ledger, "m-1", 2)
    decide_on(ledger, letters(ledger), "retry")
    assert (row(ledger, "m-1")["outcome"], sent_again(ledger)) == ("dead_letter", 0)


@pytest.mark.parametrize("is_denied", [True, False])
def test_a_letter_that_was_decided_and_not_deleted_is_told(
    ledger: Stack, *, is_denied: bool
) -> None:
    def refused(parsed: dict[str, Any], **_: Any) -> None:
        parsed["Failed"] = [{"Id": one["Id"]} for one in parsed.pop("Successful")]

    dead(ledger, "m-1")
    if is_denied:
        forbid(ledger, "sqs", "DeleteMessageBatch")
    else:
        ledger.sqs.meta.events.register("after-call.sqs.DeleteMessageBatch", refused)
    answer = decide(ledger, "m-1", "reject")
    assert (answer.end, answer.left_behind) == (End.DECIDED, 1)
    assert "could not be deleted" in answer.said
    assert ("AccessDenied" in answer.said) is is_denied
    assert row(ledger, "m-1")["outcome"] == "rejected"


@pytest.mark.parametrize("decision", ["retry", "resolve"])
def test_a_letter_whose_row_is_gone_is_nothing_to_decide(ledger: Stack, decision: Decision) -> None:
    post(ledger, "m-1")
    answer = decide(ledger, "m-1", decision)
    assert (answer.end, "Find out by hand" in answer.said) == (End.NOT_DECIDED, True)
    with pytest.raises(Failed, match="There is no dead letter of 'm-2'"):
        decide(ledger, "m-2", decision)
    assert (sent_again(ledger), ids_left(ledger)) == (0, ["m-1"])
