"""One decision on the dead letters of a stack: what it covers, and what it leaves alone."""

from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from actonce.messages.filters import EntryFilter
from actonce.operate.bulk import UNKNOWN
from actonce.operate.decisions.allowed import Decision
from actonce.operate.decisions.deciding import BulkDecision, decide
from actonce.operate.decisions.results import DecisionOutcome
from actonce.queues import scan
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.support.hostile import HOSTILE_SENT
from tests.support.queues import decide_shown, hold, ids_left, letters, post, received
from tests.support.stacks import fail
from tests.support.waiting import answer_to, dead, decision_on

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


def not_deleted(parsed: dict[str, Any], **_: Any) -> None:
    """SQS's answer to a deletion of which nothing came."""
    parsed["Failed"] = [{"Id": one["Id"]} for one in parsed.pop("Successful")]


def sqs_deletes_nothing(stack: Stack) -> None:
    stack.sqs.meta.events.register("after-call.sqs.DeleteMessageBatch", not_deleted)


# ---------------------------------------------------------------- what a decision covers


def test_what_was_shown_is_decided_with_its_older_letters_and_nothing_that_came_later(
    machine: Stack,
) -> None:
    for number in range(12):
        dead(machine, f"m-{number}", number)
    post(machine, "m-7", 1)
    work = decide_all(machine, "resolve")
    assert (len(work.listing.entries), work.listing.not_listed) == (12, 1)
    dead(machine, "later")
    work.run()
    assert ends(work) == {f"m-{number}": DecisionOutcome.DECIDED for number in range(12)}
    assert (answer := answer_to(machine, "m-7")) is not None
    assert (answer["decision"], answer["note"]) == ("resolve", "a note")
    assert decision_on(machine, "later") is None
    assert ids_left(machine) == ["later"]


@pytest.mark.parametrize(
    ("entry_filter", "message_id"),
    [
        (EntryFilter({"reason": "rejected"}), "m-2"),
        (EntryFilter({}, match="north"), "m-2"),
    ],
)
def test_a_message_is_meant_by_its_newest_letter_and_listed_without_its_text(
    machine: Stack, entry_filter: EntryFilter, message_id: str
) -> None:
    dead(machine, "m-1", 1, reason="rejected", error="Rejected")
    post(machine, "m-1", 2, reason="outcome_unknown", cause="find: 503")
    dead(machine, "m-2", 3, reason="rejected", message={"body": {"practice": "north"}})
    (letter,) = letters(machine, entry_filter).entries
    assert (letter.message_id, letter.message, letter.queued.body) == (message_id, None, "")


def test_a_letter_that_was_shown_decides_nothing_that_failed_again_since(machine: Stack) -> None:
    dead(machine, "m-1", 1)
    retry, resolve = decide_all(machine, "retry"), decide_all(machine, "resolve")
    dead(machine, "m-1", 2)
    retry.run()
    assert ends(retry) == {"m-1": DecisionOutcome.SUPERSEDED}
    resolve.run()
    assert ends(resolve) == {"m-1": "failed"}
    assert text_of(resolve).startswith("It is no longer in the queue: somebody decided on it")
    assert decision_on(machine, "m-1") is None
    assert ids_left(machine) == ["m-1"]


def test_what_is_hostile_is_a_letter_and_what_is_none_is_left_alone(machine: Stack) -> None:
    dead(
        machine,
        HOSTILE_SENT,
        execution_name="sha256-1",
        error=HOSTILE_SENT,
        cause=HOSTILE_SENT,
    )
    for body in (" ", "{}", "[]", "[" * 100_000):
        machine.sqs.send_message(QueueUrl=machine.dead_letter_queue, MessageBody=body)
    wrong: list[dict[str, Any]] = [
        {"error": None},
        {"cause": 7},
        {"rounds": "x"},
        {"execution_name": ["m-1"]},
        {"task_token": None},  # of an earlier release's lease
        {"execution_arn": None},
    ]
    for fields in wrong:
        post(machine, "m-1", **fields)
    assert letters(machine).not_listed == 10
    by_error = EntryFilter({"error": HOSTILE_SENT}, match=HOSTILE_SENT)
    (work := decide_all(machine, "resolve", by_error)).run()
    assert ends(work) == {HOSTILE_SENT: DecisionOutcome.DECIDED}
    assert decision_on(machine, HOSTILE_SENT) == "resolve"
    assert len(received(machine, machine.dead_letter_queue)) == 10


def test_a_letter_that_is_gone_or_that_another_reader_holds_is_not_decided(machine: Stack) -> None:
    dead(machine, "m-1")
    held, gone = decide_all(machine, "resolve"), decide_all(machine, "resolve")
    hold(machine, machine.dead_letter_queue)
    held.run()
    assert text_of(held) == "Another reader holds it. Give the same command again."
    machine.sqs.purge_queue(QueueUrl=machine.dead_letter_queue)
    gone.run()
    assert text_of(gone).startswith("It is no longer in the queue")
    assert decision_on(machine, "m-1") is None


def test_a_letter_whose_execution_is_gone_is_nothing_to_decide(machine: Stack) -> None:
    post(machine, "m-1")
    decisions: tuple[Decision, ...] = ("retry", "resolve")
    for decision in decisions:
        answer = decide_shown(machine, "m-1", decision)
        assert answer.end == "not_decided"
        assert "Find out by hand whether the effect happened" in answer.text
    with pytest.raises(Failed, match="There is no dead letter of 'm-2' in the queue"):
        decide(machine, "m-2", "retry", "", None)
    assert ids_left(machine) == ["m-1"]


# ---------------------------------------------------------------- where a run ends early


def test_killed_between_decision_and_deletion_the_next_run_clears_up(machine: Stack) -> None:
    def killed(**_: Any) -> None:
        raise SystemExit

    for number in range(3):
        dead(machine, f"m-{number}", number)
    work = decide_all(machine, "reject")
    events = machine.sqs.meta.events
    events.register("before-call.sqs.DeleteMessageBatch", killed, unique_id="kill")
    with pytest.raises(SystemExit):
        work.run()
    assert work.results_by_end == {DecisionOutcome.DECIDED: 3}
    (note,) = work.notes
    assert note.startswith("3 of them could not be deleted from the queue")
    events.unregister("before-call.sqs.DeleteMessageBatch", unique_id="kill")
    (again := decide_all(machine, "reject")).run()
    assert again.results_by_end == {DecisionOutcome.ALREADY: 3}
    assert text_of(again).startswith("It was already decided: the last decision was reject")
    assert ids_left(machine) == []


def test_a_decision_of_which_no_answer_came_is_neither_made_nor_left_undone(
    machine: Stack,
) -> None:
    for number in range(3):
        dead(machine, f"m-{number}", number)
    work = decide_all(machine, "reject")
    fail(machine, "stepfunctions", "SendTaskSuccess", NO_ANSWER, after=1)
    with pytest.raises(BotoCoreError):
        work.run()
    assert ends(work) == {"m-0": DecisionOutcome.DECIDED, "m-1": UNKNOWN}
    assert text_of(work).startswith("It is not known whether the decision was taken")
    assert work.left == 1


def test_a_letter_that_was_decided_and_not_deleted_is_reported(machine: Stack) -> None:
    dead(machine, "m-1")
    sqs_deletes_nothing(machine)
    answer = decide_shown(machine, "m-1", "reject")
    assert (answer.end, answer.left_behind) == (DecisionOutcome.DECIDED, 1)
    assert NOT_DELETED in answer.text
    assert decision_on(machine, "m-1") == "reject"
