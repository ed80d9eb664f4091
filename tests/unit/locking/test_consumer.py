"""One delivery where a ledger or a lease stands in front of the effect: where it ends."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.effect import NotPerformed, OutcomeUnknown, Rejected
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.locks import Outcome, ProcessingTable, StillInProgress
from actonce_core.message import MessageReader, Refusal
from actonce_core.start import End, Start
from actonce_core.unstarted import UnstartedQueue
from appointments import AppointmentBook, book_key
from tests.support.deliveries import delivery
from tests.support.lock_machine import BEGIN, LOCK_TIMEOUT, SKEW, Machine
from tests.support.moto_aws import MotoAws

MAX_ROUNDS = 3
MAX_RETRIES = 7
OVER = LOCK_TIMEOUT + SKEW + 1
"""Seconds after which an attempt that said nothing more is over."""
MESSAGE = {"message_id": "m", "practice": "main"}


class Case:
    """Deliveries of one message to a consumer, whose effect is the example's but where it fails."""

    def __init__(self, way: str, aws: MotoAws) -> None:
        self.way, self.aws = way, aws
        self.book = AppointmentBook(aws.dynamodb, aws.appointments_table)
        self.failures: list[Exception] = []
        self.find_fails = False

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.failures:
            raise self.failures.pop(0)
        return self.book.perform(request)

    def find(self, message_id: str) -> dict[str, Any] | None:
        if self.find_fails:
            raise TimeoutError("the book does not answer")
        return self.book.find(message_id)

    def consume(self, at: float = 0.0, effect: Any = None) -> End:
        """What becomes of a delivery on a machine whose time is `at`."""
        consumer = Consumer(
            reader=MessageReader(),
            locks=Machine(now=at).locks(self.way, self.aws),
            effect=effect or self,
            unstarted=UnstartedQueue(self.aws.sqs, self.aws.unstarted_queue),
            dead_letters=DeadLetterQueue(self.aws.sqs, self.aws.dead_letter_queue),
            lock_timeout=LOCK_TIMEOUT,
            max_rounds=MAX_ROUNDS,
            max_retries=MAX_RETRIES,
        )
        return consumer.consume(delivery(MESSAGE))

    def ends(self, at: float = 0.0) -> Start:
        outcome = self.consume(at).outcome
        assert isinstance(outcome, Start)
        return outcome

    def crashes(self, at: float = 0.0, *, after_it_happened: bool = False) -> None:
        """An attempt of which nobody knows how it ended."""
        self.failures.insert(0, ConnectionError("lost answer"))
        with pytest.raises(OutcomeUnknown, match="lost answer"):
            self.consume(at)
        if after_it_happened:
            self.book.perform({"message_id": "m", "body": json.dumps(MESSAGE)})

    def goes_back(self, times: int, at: float = 0.0) -> None:
        """So many deliveries, at once one after the other, each of which goes back to the queue."""
        for _ in range(times):
            with pytest.raises(Exception, match=r"closed|down|does not answer"):
                self.consume(at)
        assert self.aws.dead_letters() == []

    def retry(self, letter: dict[str, Any]) -> bool:
        table = ProcessingTable(self.aws.dynamodb, self.aws.ledger_table)
        return table.decide("m", letter["attempt_id"], None, BEGIN)

    def outcome(self) -> str:
        return str(self.aws.ledger_row("m").get("outcome", "none"))

    def appointments(self) -> int:
        return len(self.aws.appointments())


@pytest.fixture(params=["ledger", "lease"])
def case(request: pytest.FixtureRequest, aws: MotoAws) -> Case:
    return Case(request.param, aws)


def test_a_message_is_acted_on_once_and_its_duplicates_suppressed(case: Case) -> None:
    assert [case.ends(at) for at in (0, 0, 1000 * OVER)] == [
        Start.STARTED,
        Start.SUPPRESSED,
        Start.SUPPRESSED,
    ]
    assert (case.appointments(), case.outcome()) == (1, "performed")
    row = case.aws.ledger_row("m")
    assert (row["status"], json.loads(row["effect"])["slot"]) == ("COMPLETE", 1)


def test_a_duplicate_of_a_message_in_progress_goes_back_to_the_queue(aws: MotoAws) -> None:
    case = Case("ledger", aws)
    case.crashes()
    with pytest.raises(StillInProgress):
        case.consume()
    assert aws.unstarted() == aws.dead_letters() == []


def test_what_another_way_took_is_refused(case: Case) -> None:
    Case("lease" if case.way == "ledger" else "ledger", case.aws).consume()
    assert isinstance(case.consume().outcome, Refusal)
    assert (case.aws.reasons(), case.appointments()) == (["other_memory"], 1)


@pytest.mark.parametrize("waited_before", [0, 1])
def test_an_unknown_outcome_is_looked_up_before_it_is_repeated(
    case: Case, waited_before: int
) -> None:
    case.failures += [NotPerformed("down")] * waited_before
    case.goes_back(waited_before)
    case.crashes(after_it_happened=True)
    assert case.ends(OVER) is Start.STARTED
    assert (case.appointments(), case.outcome()) == (1, "found")


def test_a_rejected_message_becomes_a_dead_letter_at_once_and_is_done_until_it_is_tried_again(
    case: Case,
) -> None:
    case.failures = [Rejected("there is no practice")]
    end = case.consume()
    assert end.outcome is Start.STARTED
    (letter,) = case.aws.dead_letters()
    assert end.letter == letter
    assert letter["reason"] == "rejected"
    assert letter["message"] == {"message_id": "m", "body": json.dumps(MESSAGE)}
    assert letter["ledger_message_id"] == "m"
    assert letter["source"] == {
        "sqs_message_id": "sqs-1",
        "message_attributes": {},
        "message_group_id": None,
        "deduplication_id": None,
    }
    assert case.ends(OVER) is Start.SUPPRESSED
    assert (case.appointments(), case.outcome()) == (0, Outcome.DEAD_LETTER)
    assert case.retry(letter)
    assert case.ends(OVER) is Start.STARTED
    assert case.appointments() == 1


def test_a_message_that_is_never_performed_becomes_a_dead_letter(case: Case) -> None:
    closed = book_key("main") | {"closed": {"BOOL": True}}
    case.aws.dynamodb.put_item(TableName=case.aws.appointments_table, Item=closed)
    case.goes_back(MAX_RETRIES)
    assert case.ends() is Start.STARTED
    (letter,) = case.aws.dead_letters()
    assert (letter["reason"], letter["error"]) == ("not_performed", "NotPerformed")
    assert letter["rounds"] == 1
    assert letter["attempt_id"] == case.aws.ledger_row("m")["attempt_id"]
    # A decision to try again begins anew.
    assert case.retry(letter)
    case.goes_back(MAX_RETRIES)


def test_a_provider_that_is_down_uses_up_no_rounds_and_delays_nobody_after_it(case: Case) -> None:
    case.failures += [NotPerformed("down")] * 2 * MAX_ROUNDS
    case.goes_back(2 * MAX_ROUNDS)
    # Released: the next one need not look, and may be another machine.
    assert case.ends() is Start.STARTED
    assert case.appointments() == 1
    row = case.aws.ledger_row("m")
    assert (row["consumption_count"], row["given_back"]) == ("7", "6")


def test_a_message_that_crashes_every_time_becomes_a_dead_letter(case: Case) -> None:
    for number in range(MAX_ROUNDS):
        case.crashes(number * OVER)
    assert case.ends(MAX_ROUNDS * OVER) is Start.STARTED
    (letter,) = case.aws.dead_letters()
    assert letter["reason"] == "rounds_used_up"
    assert case.appointments() == 0


def test_what_can_never_be_looked_up_becomes_a_dead_letter(case: Case) -> None:
    case.crashes()
    case.find_fails = True
    case.goes_back(MAX_RETRIES, OVER)
    assert case.ends(OVER) is Start.STARTED
    (letter,) = case.aws.dead_letters()
    assert letter["reason"] == "outcome_unknown"
    assert "the book does not answer" in letter["cause"]
    assert case.appointments() == 0


@pytest.mark.parametrize("performed", [True, False])
def test_what_cannot_be_looked_up_for_a_while_is_looked_up_later_and_uses_up_no_round(
    case: Case, performed: bool
) -> None:
    case.crashes(after_it_happened=performed)
    case.find_fails = True
    case.goes_back(2 * MAX_ROUNDS, OVER)  # nobody waits for a lock again
    case.find_fails = False
    assert case.ends(OVER) is Start.STARTED
    assert case.aws.dead_letters() == []
    assert (case.appointments(), case.outcome()) == (1, "found" if performed else "performed")


def test_a_dead_letter_that_cannot_be_posted_completes_nothing(case: Case) -> None:
    case.failures += [Rejected("no")] * 2
    with Stubber(case.aws.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        with pytest.raises(ClientError):
            case.consume()
    assert case.aws.ledger_row("m")["status"] == "IN_PROGRESS"
    case.consume(OVER)
    assert len(case.aws.dead_letters()) == 1


def test_a_consumer_that_slept_past_its_time_does_not_act(case: Case) -> None:
    class AfterANap(Case):
        """Wakes up in the middle of its step, after another has acted."""

        def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
            if self.appointments() == 0:
                self.consume(OVER, self.book)
            return self.book.perform_fenced(request, fence)

    with pytest.raises(Exception, match="is over"):
        AfterANap(case.way, case.aws).consume()
    assert case.appointments() == 1
