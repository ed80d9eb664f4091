"""One decision on the dead letters behind a lock: what it covers, and what it leaves alone."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from actonce.messages.filters import EntryFilter
from actonce.operate.bulk import UNKNOWN
from actonce.operate.decisions.allowed import Decision
from actonce.operate.decisions.deciding import BulkDecision, decide
from actonce.operate.decisions.results import DecisionOutcome, DecisionUnconfirmed
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.support.hostile import HOSTILE_SENT
from tests.support.queues import (
    dead,
    decide_shown,
    hold,
    ids_left,
    letters,
    post,
    put_row,
    received,
    row,
)
from tests.support.stacks import fail, forbid

NO_ANSWER = ReadTimeoutError(endpoint_url="here")
EXPIRED = ClientError({"Error": {"Code": "ExpiredTokenException", "Message": "no"}}, "It")
NOT_DELETED = "could not be deleted"


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is listed has an order."""
    monkeypatch.setattr(scan, "READERS", 1)


def decide_all(
    stack: Stack, decision: Decision, entry_filter: EntryFilter | None = None
) -> BulkDecision:
    """The decision on all that are shown now; `run` makes it."""
    those = letters(stack, entry_filter)
    return BulkDecision(stack, those, decision, "a note", wait_for_others=0)


def ends(work: BulkDecision) -> dict[str | None, str]:
    """What became of each message that is done with."""
    return {one.entry.message_id: one.end for one in work.ended}


def text_of(work: BulkDecision) -> str:
    """What is said of the last."""
    return work.ended[-1].text


def sent_again(stack: Stack) -> int:
    return len(received(stack, stack.requests_queue))


def not_deleted(parsed: dict[str, Any], **_: Any) -> None:
    """SQS's answer to a deletion of which nothing came."""
    parsed["Failed"] = [{"Id": one["Id"]} for one in parsed.pop("Successful")]


def sqs_deletes_nothing(stack: Stack) -> None:
    stack.sqs.meta.events.register("after-call.sqs.DeleteMessageBatch", not_deleted)


# ---------------------------------------------------------------- what a decision covers


def test_what_was_shown_is_decided_with_its_older_letters_and_nothing_that_came_later(
    lease: Stack,
) -> None:
    for number in range(12):
        dead(lease, f"m-{number}", number)
    post(lease, "m-7", 1)
    work = decide_all(lease, "resolve")
    assert (len(work.listing.entries), work.listing.not_listed) == (12, 1)
    dead(lease, "later")
    post(lease, "m-1", 50)
    work.run()
    assert ends(work) == {f"m-{number}": DecisionOutcome.DECIDED for number in range(12)}
    assert (row(lease, "m-7")["outcome"], row(lease, "m-7")["note"]) == ("resolved", "a note")
    assert row(lease, "later")["outcome"] == "dead_letter"
    assert ids_left(lease) == ["later", "m-1"]
    assert sent_again(lease) == 0


@pytest.mark.parametrize(
    ("entry_filter", "message_id"),
    [
        (EntryFilter({"reason": "rejected"}), "m-2"),
        (EntryFilter({}, match="north"), "m-2"),
    ],
)
def test_a_message_is_meant_by_its_newest_letter_and_listed_without_its_text(
    lease: Stack, entry_filter: EntryFilter, message_id: str
) -> None:
    dead(lease, "m-1", 1, reason="rejected", error="Rejected")
    post(lease, "m-1", 2, reason="outcome_unknown", cause="find: 503")
    dead(lease, "m-2", 3, reason="rejected", message={"body": {"practice": "north"}})
    (letter,) = letters(lease, entry_filter).entries
    assert (letter.message_id, letter.message, letter.queued.body) == (message_id, None, "")


def test_a_letter_that_only_looks_newest_decides_nothing_and_is_deleted(lease: Stack) -> None:
    """The stray one was posted by a machine whose clock is ahead, which crashed then."""
    dead(lease, "m-1", 1)
    post(lease, "m-1", 2)
    (work := decide_all(lease, "reject")).run()
    assert ends(work) == {"m-1": DecisionOutcome.SUPERSEDED}
    stands = "another dead letter of the message stands there now. Look again."
    assert text_of(work).endswith(stands)
    assert (sent_again(lease), ids_left(lease)) == (0, ["m-1"])


def test_a_letter_that_was_shown_decides_nothing_that_failed_again_since(lease: Stack) -> None:
    dead(lease, "m-1", 1)
    retry, resolve = decide_all(lease, "retry"), decide_all(lease, "resolve")
    dead(lease, "m-1", 2)
    retry.run()
    assert ends(retry) == {"m-1": DecisionOutcome.SUPERSEDED}
    resolve.run()
    assert ends(resolve) == {"m-1": "failed"}
    assert text_of(resolve).startswith("It is no longer in the queue: somebody decided on it")
    assert (row(lease, "m-1")["outcome"], sent_again(lease)) == ("dead_letter", 0)
    assert ids_left(lease) == ["m-1"]


def test_what_is_hostile_is_a_letter_and_what_is_none_is_left_alone(lease: Stack) -> None:
    dead(
        lease,
        HOSTILE_SENT,
        execution_name="sha256-1",
        error=HOSTILE_SENT,
        cause=HOSTILE_SENT,
    )
    for body in (" ", "{}", "[]", "[" * 100_000):
        lease.sqs.send_message(QueueUrl=lease.dead_letter_queue, MessageBody=body)
    wrong: list[dict[str, Any]] = [
        {"error": None},
        {"cause": 7},
        {"rounds": "x"},
        {"execution_name": ["m-1"]},
    ]
    for fields in wrong:
        post(lease, "m-1", **fields)
    assert letters(lease).not_listed == 8
    by_error = EntryFilter({"error": HOSTILE_SENT}, match=HOSTILE_SENT)
    (work := decide_all(lease, "resolve", by_error)).run()
    assert ends(work) == {HOSTILE_SENT: DecisionOutcome.DECIDED}
    assert row(lease, HOSTILE_SENT)["outcome"] == "resolved"
    assert len(received(lease, lease.dead_letter_queue)) == 8


def test_a_letter_that_is_gone_or_that_another_reader_holds_is_not_decided(lease: Stack) -> None:
    dead(lease, "m-1")
    held, gone = decide_all(lease, "resolve"), decide_all(lease, "resolve")
    hold(lease, lease.dead_letter_queue)
    held.run()
    assert text_of(held) == "Another reader holds it. Give the same command again."
    lease.sqs.purge_queue(QueueUrl=lease.dead_letter_queue)
    gone.run()
    assert text_of(gone).startswith("It is no longer in the queue")
    assert row(lease, "m-1")["outcome"] == "dead_letter"


def test_a_letter_whose_row_is_gone_is_nothing_to_decide(lease: Stack) -> None:
    post(lease, "m-1")
    decisions: tuple[Decision, ...] = ("retry", "resolve")
    for decision in decisions:
        answer = decide_shown(lease, "m-1", decision)
        assert answer.end == "not_decided"
        assert "Find out by hand whether the effect happened" in answer.text
    with pytest.raises(Failed, match="There is no dead letter of 'm-2' in the queue"):
        decide(lease, "m-2", "retry", "", None)
    assert (sent_again(lease), ids_left(lease)) == (0, ["m-1"])


# ---------------------------------------------------------------- where a run ends early


def test_killed_between_decision_and_deletion_the_next_run_clears_up(lease: Stack) -> None:
    def killed(**_: Any) -> None:
        raise SystemExit

    for number in range(3):
        dead(lease, f"m-{number}", number)
    work = decide_all(lease, "reject")
    events = lease.sqs.meta.events
    events.register("before-call.sqs.DeleteMessageBatch", killed, unique_id="kill")
    with pytest.raises(SystemExit):
        work.run()
    assert work.results_by_end == {DecisionOutcome.DECIDED: 3}
    (note,) = work.notes
    assert note.startswith("3 of them could not be deleted from the queue")
    events.unregister("before-call.sqs.DeleteMessageBatch", unique_id="kill")
    (again := decide_all(lease, "reject")).run()
    assert again.results_by_end == {DecisionOutcome.ALREADY: 3}
    assert text_of(again) == "It was already decided: reject."
    assert ids_left(lease) == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda stack: fail(stack, "dynamodb", "UpdateItem", NO_ANSWER, after=1),
        lambda stack: forbid(stack, "sqs", "SendMessage", after=1),
    ],
    ids=["no answer", "its row is written and it was not sent"],
)
def test_a_decision_of_which_no_answer_came_is_neither_made_nor_left_undone(
    lease: Stack, broken: Callable[[Stack], None]
) -> None:
    for number in range(3):
        dead(lease, f"m-{number}", number)
    put_row(lease, "m-1", "IN_PROGRESS", None)
    work = decide_all(lease, "retry")
    broken(lease)
    with pytest.raises((ClientError, BotoCoreError)):
        work.run()
    assert ends(work) == {"m-0": DecisionOutcome.DECIDED, "m-1": UNKNOWN}
    assert text_of(work).startswith("It is not known whether the decision was taken")
    assert work.left == 1


def test_the_second_step_of_a_decision_is_made_by_the_next_one(lease: Stack) -> None:
    dead(lease, "m-1")
    forbid(lease, "sqs", "SendMessage")
    with pytest.raises(DecisionUnconfirmed, match="one that was begun is completed"):
        decide_shown(lease, "m-1", "retry")
    assert row(lease, "m-1")["status"] == "IN_PROGRESS"
    del lease.aws._clients["sqs"]
    answer = decide_shown(lease, "m-1", "retry")
    assert (answer.end, answer.left_behind) == ("continued", 0)
    assert (sent_again(lease), ids_left(lease)) == (1, [])


def test_a_letter_that_was_decided_and_not_deleted_is_reported(lease: Stack) -> None:
    dead(lease, "m-1")
    sqs_deletes_nothing(lease)
    answer = decide_shown(lease, "m-1", "reject")
    assert (answer.end, answer.left_behind) == (DecisionOutcome.DECIDED, 1)
    assert NOT_DELETED in answer.text
    assert row(lease, "m-1")["outcome"] == "rejected"
