"""Many decisions at once: on moto, with rows in the executions' place; and with Step Functions'
answers that no emulator gives."""

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from actonce.messages.dead_letters import DeadLetter, Decision, End, dead_letter, decide, is_of_last
from actonce.messages.filters import Narrowing
from actonce.operate.bulk import Listing, counted
from actonce.operate.deciding import Deciding, look
from actonce.queues import scan
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce_core.histories.dead_letters import Stay
from tests.cli.conftest import VERSION_DEPLOYED, deployed
from tests.cli.received import received
from tests.hostile import HOSTILE_SENT

TABLE = "rows"


@pytest.fixture
def ledger(moto_stack: Stack) -> Stack:
    moto_stack.dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    outputs = moto_stack.outputs | {"LedgerTableName": TABLE}
    return dataclasses.replace(moto_stack, outputs=outputs)


def put_row(
    stack: Stack, message_id: str, status: str, outcome: str | None, attempt_id: str = "a-0"
) -> None:
    item: dict[str, Any] = {"message_id": {"S": message_id}, "status": {"S": status}}
    item |= {"memory": {"S": "ledger"}, "fingerprint": {"S": "f"}}
    item |= {"attempt_id": {"S": attempt_id}}
    if outcome:
        item["outcome"] = {"S": outcome}
    stack.dynamodb.put_item(TableName=TABLE, Item=item)


def row(stack: Stack, message_id: str) -> dict[str, str]:
    item = stack.dynamodb.get_item(TableName=TABLE, Key={"message_id": {"S": message_id}})["Item"]
    return {name: value["S"] for name, value in item.items() if "S" in value}


def post(stack: Stack, message_id: str, number: int = 0, **more: Any) -> str:
    body = {
        "version": 1,
        "message_id": message_id,
        "reason": "not_performed",
        "error": "NotPerformed",
        "cause": "closed",
        "rounds": 1,
        "attempt_id": f"a-{number}",
        "execution_name": message_id,
        "posted_at": f"2026-01-31T09:30:{number:02}.000Z",
        "message": {
            "message_id": message_id,
            "body": json.dumps({"message_id": message_id, "number": number}),
        },
        "source": {
            "sqs_message_id": "first-id",
            "body": json.dumps({"message_id": message_id}),
            "message_attributes": {},
            "message_group_id": None,
            "deduplication_id": None,
        },
    }
    return stack.sqs.send_message(
        QueueUrl=stack.dead_letter_queue, MessageBody=json.dumps(body | more)
    )["MessageId"]


def dead(stack: Stack, message_id: str, number: int = 0, **more: Any) -> None:
    put_row(stack, message_id, "COMPLETE", "dead_letter", f"a-{number}")
    post(stack, message_id, number, **more)


def shown(stack: Stack, narrowing: Narrowing | None = None) -> Listing[DeadLetter]:
    with QueueReader(stack.sqs, stack.dead_letter_queue, wait_for_others=0) as queue:
        return look(queue, narrowing or Narrowing({}))


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


def ids_left(stack: Stack) -> list[str]:
    left = received(stack, stack.dead_letter_queue)
    return sorted(json.loads(message["Body"])["message_id"] for message in left)


def test_all_that_were_shown_are_decided_and_none_that_came_later(ledger: Stack) -> None:
    for number in range(12):
        dead(ledger, f"m-{number}", number)
    work = decide_on(ledger, shown(ledger), "resolve", lambda: dead(ledger, "later"))
    assert counted(work.ended) == {End.DECIDED: 12}
    assert work.left == 0
    assert row(ledger, "m-7")["outcome"] == "resolved"
    assert row(ledger, "later")["outcome"] == "dead_letter"
    assert ids_left(ledger) == ["later"]


def test_what_is_retried_is_sent_again_and_a_letter_posted_since_is_left(ledger: Stack) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)
    again = lambda: post(ledger, "m-1", 50)  # noqa: E731
    work = decide_on(ledger, shown(ledger), "retry", again)
    assert counted(work.ended) == {End.DECIDED: 3}
    sent = received(ledger, ledger.requests_queue)
    assert sorted(json.loads(m["Body"])["message_id"] for m in sent) == ["m-0", "m-1", "m-2"]
    assert row(ledger, "m-1")["status"] == "IN_PROGRESS"
    assert ids_left(ledger) == ["m-1"]


def test_older_letters_of_the_same_message_go_with_its_newest(ledger: Stack) -> None:
    post(ledger, "m-1", 1)
    dead(ledger, "m-1", 2)
    those = shown(ledger)
    assert (len(those.entries), those.beside) == (1, 1)
    work = decide_on(ledger, those, "retry")
    assert counted(work.ended) == {End.DECIDED: 1}
    assert len(received(ledger, ledger.requests_queue)) == 1
    assert ids_left(ledger) == []


@pytest.mark.parametrize("decision", ["retry", "resolve", "reject"])
def test_a_letter_that_was_shown_decides_nothing_that_failed_again_since(
    ledger: Stack, decision: Decision
) -> None:
    dead(ledger, "m-1", 1)
    # Somebody has had it tried again, it failed again, and the old letter is still there.
    work = decide_on(ledger, shown(ledger), decision, lambda: dead(ledger, "m-1", 2))
    (decided,) = work.ended
    assert decided.end is End.NOT_DECIDED
    assert "the message has another letter since: look again" in decided.said
    assert row(ledger, "m-1")["outcome"] == "dead_letter"
    assert received(ledger, ledger.requests_queue) == []
    assert ids_left(ledger) == ["m-1"]


def test_one_decision_by_hand_is_of_the_attempt_that_waits_whichever_letter_looks_newest(
    ledger: Stack,
) -> None:
    post(ledger, "m-1", 2)  # by a machine whose clock is ahead, which crashed when it had posted it
    dead(ledger, "m-1", 1)
    assert decide(ledger, "m-1", "retry").decided
    assert len(received(ledger, ledger.requests_queue)) == 1
    assert ids_left(ledger) == []


def test_only_what_is_meant_is_shown_by_its_newest_letter(ledger: Stack) -> None:
    dead(ledger, "m-1", 1, reason="rejected", error="Rejected")
    post(ledger, "m-1", 2, reason="outcome_unknown", cause="find: 503")
    dead(ledger, "m-2", 3, reason="rejected", message={"body": {"practice": "north"}})
    dead(ledger, "m-3", 4)

    def names(narrowing: Narrowing) -> set[str]:
        return {letter.message_id for letter in shown(ledger, narrowing).entries}

    assert names(Narrowing({"reason": "rejected"})) == {"m-2"}
    assert names(Narrowing({}, match="503")) == {"m-1"}
    assert names(Narrowing({}, match="north")) == {"m-2"}
    assert names(Narrowing({"error": "NotPerformed"}, limit=1)) == {"m-1"}
    assert all(
        letter.message is None and letter.queued.body == "" for letter in shown(ledger).entries
    )


@pytest.mark.parametrize(
    ("decision", "status", "outcome", "end", "stays"),
    [
        ("resolve", "COMPLETE", "resolved", End.ALREADY, False),
        ("resolve", "COMPLETE", "rejected", End.NOT_DECIDED, False),
        ("reject", "COMPLETE", "performed", End.NOT_DECIDED, False),
        ("retry", "COMPLETE", "performed", End.NOT_DECIDED, False),
        ("retry", "IN_PROGRESS", None, End.CONTINUED, False),
        ("reject", "IN_PROGRESS", None, End.NOT_DECIDED, True),
    ],
)
def test_a_letter_that_was_decided_or_overtaken_meanwhile_says_so(
    ledger: Stack, decision: Any, status: str, outcome: str | None, end: End, stays: bool
) -> None:
    dead(ledger, "m-1")
    dead(ledger, "m-2")
    work = decide_on(
        ledger, shown(ledger), decision, lambda: put_row(ledger, "m-1", status, outcome)
    )
    assert {one.entry.message_id: one.end for one in work.ended} == {
        "m-1": end,
        "m-2": End.DECIDED,
    }
    assert ids_left(ledger) == (["m-1"] if stays else [])
    sent_again = len(received(ledger, ledger.requests_queue))
    assert sent_again == {End.CONTINUED: 2}.get(end, int(decision == "retry"))


NOT_LOOKED_UP: dict[str, Any] = {
    "reason": "outcome_unknown",
    "error": "_CannotFind",
    "cause": "LookupError: No function is named to look it up (FindFunctionArn)",
}


@pytest.mark.parametrize(
    ("decision", "more", "end"),
    [
        ("retry", NOT_LOOKED_UP, End.NOT_DECIDED),
        ("perform", NOT_LOOKED_UP, End.DECIDED),
        ("retry", {"reason": "rounds_used_up"}, End.DECIDED),
        ("perform", {"reason": "rounds_used_up"}, End.DECIDED),
        ("retry", {"reason": "rejected"}, End.DECIDED),
    ],
)
def test_what_is_tried_again_is_looked_up_first_unless_nothing_happened(
    ledger: Stack, decision: Any, more: dict[str, Any], end: End
) -> None:
    dead(ledger, "m-1", **more)
    work = decide_on(ledger, shown(ledger), decision)
    assert [one.end for one in work.ended] == [end]
    key = {"message_id": {"S": "m-1"}}
    item = ledger.dynamodb.get_item(TableName=TABLE, Key=key)["Item"]
    is_free = end is End.DECIDED
    assert ("attempt_id" not in item) is is_free
    nothing_happened = decision == "perform" or more["reason"] == "rejected"
    assert ("outcome_unknown" in item) is (is_free and not nothing_happened)
    assert len(received(ledger, ledger.requests_queue)) == (end is End.DECIDED)
    assert ids_left(ledger) == ([] if end is End.DECIDED else ["m-1"])


def test_what_can_be_looked_up_by_now_may_be_retried(ledger: Stack) -> None:
    dead(ledger, "m-1", **NOT_LOOKED_UP)
    ledger.outputs["FindFunctionArn"] = "arn:find"
    assert decide(ledger, "m-1", "retry").decided


@pytest.mark.parametrize("decision", ["retry", "perform", "resolve"])
def test_a_letter_whose_row_is_gone_is_nothing_to_decide(ledger: Stack, decision: Any) -> None:
    post(ledger, "m-1")
    answer = decide(ledger, "m-1", decision)
    assert answer.end is End.NOT_DECIDED
    assert "find out by hand" in answer.said
    assert ids_left(ledger) == ["m-1"]
    assert received(ledger, ledger.requests_queue) == []


def test_a_letter_that_another_reader_holds_is_not_decided(ledger: Stack) -> None:
    dead(ledger, "m-1")
    those = shown(ledger)
    url = ledger.dead_letter_queue
    work = decide_on(
        ledger,
        those,
        "resolve",
        lambda: ledger.sqs.receive_message(QueueUrl=url, VisibilityTimeout=600),
    )
    (one,) = work.ended
    assert (one.end, one.happened) == (End.FAILED, False)
    assert "Another reader holds it" in one.said


def test_interrupted_and_begun_again_it_goes_on(ledger: Stack) -> None:
    for number in range(15):
        dead(ledger, f"m-{number}", number)
    work = Deciding(ledger, shown(ledger), "reject", "no", rate=30, wait_for_others=0)

    def ctrl_c(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.run(ctrl_c)
    first = counted(work.ended)
    assert set(first) == {End.DECIDED}
    assert work.left == 15 - first[End.DECIDED] > 0
    again = decide_on(ledger, shown(ledger), "reject")
    assert counted(again.ended) == {End.DECIDED: work.left}
    assert ids_left(ledger) == []


def test_killed_between_decision_and_deletion_the_next_run_clears_up(ledger: Stack) -> None:
    for number in range(5):
        dead(ledger, f"m-{number}", number)

    def killed(**_: Any) -> None:
        raise SystemExit

    events = ledger.sqs.meta.events
    events.register("before-call.sqs.DeleteMessageBatch", killed, unique_id="kill")
    with pytest.raises(SystemExit):
        decide_on(ledger, shown(ledger), "reject")
    events.unregister("before-call.sqs.DeleteMessageBatch", unique_id="kill")
    work = decide_on(ledger, shown(ledger), "reject")
    assert counted(work.ended) == {End.ALREADY: 5}
    assert all(one.happened for one in work.ended)
    assert ids_left(ledger) == []


def test_who_may_not_decide_is_told_so_and_nothing_is_deleted(ledger: Stack) -> None:
    for number in range(3):
        dead(ledger, f"m-{number}", number)

    def forbid(**_: Any) -> None:
        error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error, "UpdateItem")  # type: ignore[arg-type]

    ledger.dynamodb.meta.events.register("before-call.dynamodb.UpdateItem", forbid)
    with pytest.raises(ClientError, match="AccessDenied"):
        decide_on(ledger, shown(ledger), "reject")
    assert len(ids_left(ledger)) == 3


def test_hostile_texts_are_letters_like_others(ledger: Stack) -> None:
    text = HOSTILE_SENT
    dead(ledger, text, execution_name="sha256-1", error=text, cause=text)
    work = decide_on(ledger, shown(ledger, Narrowing({"error": text}, match=text)), "resolve")
    assert counted(work.ended) == {End.DECIDED: 1}
    assert row(ledger, text)["outcome"] == "resolved"


def test_what_is_no_letter_is_left_alone(ledger: Stack) -> None:
    dead(ledger, "m-1")
    for body in (" ", "{}", "[]", "[" * 100_000):
        ledger.sqs.send_message(QueueUrl=ledger.dead_letter_queue, MessageBody=body)
    for wrong in ({"error": None}, {"cause": 7}, {"rounds": "x"}, {"execution_name": ["m-1"]}):
        post(ledger, "m-1", **wrong)
    work = decide_on(ledger, shown(ledger, Narrowing({}, match="m")), "resolve")
    assert counted(work.ended) == {End.DECIDED: 1}
    assert len(received(ledger, ledger.dead_letter_queue)) == 8


# ------------------------------------------------------------------- with executions


@pytest.fixture
def stepfunctions(moto_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(scan, "READERS", 1)  # answers are given in order
    client = boto3.client("stepfunctions")
    moto_stack.aws._clients["stepfunctions"] = client
    deployed(moto_stack.aws, moto_stack.outputs | VERSION_DEPLOYED)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def test_each_waiting_task_is_answered_and_throttling_passes(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    for number in range(3):
        post(moto_stack, f"m-{number}", number, task_token=f"t-{number}")
    throttled = {"taskToken": "t-1", "output": ANY}
    stepfunctions.add_response("send_task_success", {}, {"taskToken": "t-0", "output": ANY})
    stepfunctions.add_client_error(
        "send_task_success", "ThrottlingException", expected_params=throttled
    )
    stepfunctions.add_response("send_task_success", {}, throttled)
    stepfunctions.add_response("send_task_success", {}, {"taskToken": "t-2", "output": ANY})
    reads: list[Any] = []
    moto_stack.aws.client("cloudformation").meta.events.register(
        "before-call.cloudformation.DescribeStacks", lambda **_: reads.append(1)
    )
    work = decide_on(moto_stack, shown(moto_stack), "retry")
    assert counted(work.ended) == {End.DECIDED: 3}
    assert ids_left(moto_stack) == []
    assert len(reads) == 1  # what is deployed is read once, not for each letter


def test_a_letter_whose_execution_is_gone_fails_alone_and_stays(
    moto_stack: Stack, stepfunctions: Stubber
) -> None:
    post(moto_stack, "m-0", 0, task_token="t-0")
    post(moto_stack, "m-1", 1, task_token="t-1")
    stepfunctions.add_client_error("send_task_success", "TaskDoesNotExist")
    stepfunctions.add_client_error("describe_execution", "ExecutionDoesNotExist")
    stepfunctions.add_response("send_task_success", {}, {"taskToken": "t-1", "output": ANY})
    work = decide_on(moto_stack, shown(moto_stack), "resolve")
    assert [one.end for one in work.ended] == [End.NOT_DECIDED, End.DECIDED]
    assert ids_left(moto_stack) == ["m-0"]


def test_a_letter_that_left_the_queue_is_not_decided(ledger: Stack) -> None:
    dead(ledger, "m-0")
    url = ledger.dead_letter_queue
    work = decide_on(ledger, shown(ledger), "resolve", lambda: ledger.sqs.purge_queue(QueueUrl=url))
    assert [(one.end, one.happened) for one in work.ended] == [(End.FAILED, False)]
    assert row(ledger, "m-0")["outcome"] == "dead_letter"


AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def stay(second: int, decision: str | None, token: str | None = None) -> Stay:
    """In the state DeadLetter, from a second on; decided within ten of them, or open."""
    at = AT + timedelta(seconds=second)
    made = {"decision": decision, "note": ""} if decision else {}
    answered = at + timedelta(seconds=10) if decision else None
    return Stay(at, {}, made, answered, token, over=decision is not None)


@pytest.mark.parametrize("has_tokens", [True, False])
def test_a_letter_is_known_by_its_token_or_else_by_its_time(*, has_tokens: bool) -> None:
    first = stay(0, "retry")
    second = stay(20, None, "t-2" if has_tokens else None)
    # Posted a moment before, or after, its state was entered by the history's clock.
    for posted_at, token, expected in (
        ("2026-01-31T09:29:59.999Z", "t-1", False),
        ("2026-01-31T09:30:00.001Z", "t-1", False),
        ("2026-01-31T09:30:19.999Z", "t-2", True),
        ("2026-01-31T09:30:20.001Z", "t-2", True),
    ):
        body = {"message_id": "m-1", "execution_name": "m-1", "reason": "rejected", "error": "E"}
        body |= {"cause": "", "rounds": "0", "posted_at": posted_at, "task_token": token}
        letter = dead_letter(Queued("id", json.dumps(body), {}, {}, "handle"))
        assert letter is not None
        assert is_of_last(letter, [first, second]) is expected
        assert is_of_last(letter, [stay(0, None)])


@pytest.mark.parametrize(("made", "end"), [("retry", End.ALREADY), ("resolve", End.NOT_DECIDED)])
def test_a_letter_that_was_seen_is_not_taken_for_one_that_was_posted_since(
    moto_stack: Stack, stepfunctions: Stubber, made: Decision, end: End
) -> None:
    arn = "arn:aws:states:us-east-1:123456789012:execution:p:m-0"
    post(moto_stack, "m-0", 0, task_token="t-0", execution_arn=arn)
    stepfunctions.add_client_error(
        "send_task_success", "TaskTimedOut", expected_params={"taskToken": "t-0", "output": ANY}
    )
    stepfunctions.add_response(
        "describe_execution",
        {
            "executionArn": arn,
            "stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:p",
            "status": "RUNNING",
            "startDate": AT,
            "input": "{}",
        },
    )
    entered = {"stateEnteredEventDetails": {"name": "DeadLetter", "input": "{}"}}
    output = json.dumps({"decision": "retry", "note": ""})
    exited = {"stateExitedEventDetails": {"name": "DeadLetter", "output": output}}
    told = [
        ("TaskStateEntered", entered),
        ("TaskStateExited", exited),
        ("TaskStateEntered", entered),
    ]
    stepfunctions.add_response(
        "get_execution_history",
        {
            "events": [
                {"timestamp": AT + timedelta(minutes=n), "type": kind, "id": n + 1, **details}
                for n, (kind, details) in enumerate(told)
            ]
        },
    )
    again = lambda: post(moto_stack, "m-0", 59, task_token="t-1", execution_arn=arn)  # noqa: E731
    work = decide_on(moto_stack, shown(moto_stack), made, again)
    assert [one.end for one in work.ended] == [end]
    assert "the last decision was retry" in work.ended[0].said
    assert "the message has another letter since: look again" in work.ended[0].said
    assert ids_left(moto_stack) == ["m-0"]
