"""One delivery where a ledger or a lease stands in front of the effect: where it ends."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.effect import Effect, NotPerformed, OutcomeUnknown, Rejected
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.locks import Outcome, ProcessingTable, StillInProgress
from actonce_core.message import MessageReader
from actonce_core.start import End, Start
from actonce_core.unstarted import UnstartedQueue
from appointments import AppointmentBook, book_key
from tests.support.deliveries import delivery
from tests.support.lock_machine import BEGIN, LOCK_TIMEOUT, SKEW, Machine
from tests.support.moto_aws import MotoAws

ways = pytest.mark.parametrize("way", ["ledger", "lease"])
MAX_ROUNDS = 3
MAX_RETRIES = 7
MESSAGE = {"message_id": "m", "practice": "main"}


class Failing:
    """An effect that fails as told, and otherwise is the example's."""

    def __init__(self, aws: MotoAws, *failures: Exception | None) -> None:
        self.book = AppointmentBook(aws.dynamodb, aws.appointments_table)
        self.failures = list(failures)
        self.find_fails = False

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return self.book.perform(request)

    def find(self, message_id: str) -> dict[str, Any] | None:
        if self.find_fails:
            raise TimeoutError("the book does not answer")
        return self.book.find(message_id)


def _consumer(way: str, aws: MotoAws, effect: Effect, at: float = 0.0) -> Consumer:
    return Consumer(
        reader=MessageReader(),
        locks=Machine(now=at).locks(way, aws),
        effect=effect,
        unstarted=UnstartedQueue(aws.sqs, aws.unstarted_queue),
        dead_letters=DeadLetterQueue(aws.sqs, aws.dead_letter_queue),
        lock_timeout=LOCK_TIMEOUT,
        max_rounds=MAX_ROUNDS,
        max_retries=MAX_RETRIES,
    )


def _consume(way: str, aws: MotoAws, effect: Effect, number: int = 0) -> End:
    """The delivery's `number`th try, each after the last one's attempt is over."""
    at = number * (LOCK_TIMEOUT + SKEW + 1)
    return _consumer(way, aws, effect, at).consume(delivery(MESSAGE))


def _appointments(aws: MotoAws) -> int:
    items = aws.dynamodb.scan(TableName=aws.appointments_table)["Items"]
    return sum(item["appointment_id"]["S"].startswith("appointment-") for item in items)


@ways
def test_a_message_is_acted_on_once_and_its_duplicates_suppressed(way: str, aws: MotoAws) -> None:
    book = AppointmentBook(aws.dynamodb, aws.appointments_table)
    assert _consume(way, aws, book).outcome is Start.STARTED
    assert _consume(way, aws, book).outcome is Start.SUPPRESSED
    assert _consume(way, aws, book, 1000).outcome is Start.SUPPRESSED
    assert _appointments(aws) == 1
    row = aws.ledger_row("m")
    assert (row["status"], row["outcome"]) == ("COMPLETE", "performed")
    assert json.loads(row["effect"])["slot"] == 1


def test_a_duplicate_of_a_message_in_progress_goes_back_to_the_queue(aws: MotoAws) -> None:
    crashed = Failing(aws, RuntimeError("crashed"))
    with pytest.raises(OutcomeUnknown, match="crashed"):
        _consume("ledger", aws, crashed)
    with pytest.raises(StillInProgress):
        _consume("ledger", aws, crashed)
    assert aws.unstarted() == aws.dead_letters() == []


@ways
def test_an_unknown_outcome_is_looked_up_before_it_is_repeated(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, ConnectionError("lost answer"))
    with pytest.raises(Exception, match="lost answer"):
        _consume(way, aws, effect)
    effect.book.perform({"message_id": "m", "body": json.dumps(MESSAGE)})  # it had happened
    assert _consume(way, aws, effect, 1).outcome is Start.STARTED
    assert _appointments(aws) == 1
    assert aws.ledger_row("m")["outcome"] == "found"


@ways
def test_a_rejected_message_becomes_a_dead_letter_at_once_and_is_done(
    way: str, aws: MotoAws
) -> None:
    effect = Failing(aws, Rejected("there is no practice"))
    assert _consume(way, aws, effect).outcome is Start.STARTED
    (letter,) = aws.dead_letters()
    assert letter["reason"] == "rejected"
    assert letter["message"] == {"message_id": "m", "body": json.dumps(MESSAGE)}
    assert letter["ledger_message_id"] == "m"
    assert _consume(way, aws, effect, 1).outcome is Start.SUPPRESSED
    assert aws.ledger_row("m")["outcome"] == Outcome.DEAD_LETTER
    assert _appointments(aws) == 0


@ways
def test_a_message_that_is_never_performed_becomes_a_dead_letter(way: str, aws: MotoAws) -> None:
    aws.dynamodb.put_item(
        TableName=aws.appointments_table, Item=book_key("main") | {"closed": {"BOOL": True}}
    )
    book = AppointmentBook(aws.dynamodb, aws.appointments_table)
    _give_back(way, aws, book, MAX_RETRIES)
    assert _consume(way, aws, book).outcome is Start.STARTED
    (letter,) = aws.dead_letters()
    assert letter["reason"] == "not_performed"
    assert letter["error"] == "NotPerformed"
    assert letter["rounds"] == 1
    assert letter["attempt_id"] == aws.ledger_row("m")["attempt_id"]
    # A decision to try again begins anew.
    assert _retry(aws, letter)
    _give_back(way, aws, book, MAX_RETRIES)


def _retry(aws: MotoAws, letter: dict[str, Any]) -> bool:
    table = ProcessingTable(aws.dynamodb, aws.ledger_table)
    return table.decide("m", letter["attempt_id"], None, BEGIN)


def _give_back(way: str, aws: MotoAws, effect: Effect, times: int, at: float = 0.0) -> None:
    """So many deliveries, at once one after the other, of which each goes back to the queue."""
    for _ in range(times):
        with pytest.raises(Exception, match=r"closed|down|does not answer"):
            _consumer(way, aws, effect, at).consume(delivery(MESSAGE))
    assert aws.dead_letters() == []


@ways
def test_a_provider_that_is_down_uses_up_no_rounds_and_delays_nobody_after_it(
    way: str, aws: MotoAws
) -> None:
    effect = Failing(aws, *[NotPerformed("down")] * 2 * MAX_ROUNDS)
    _give_back(way, aws, effect, 2 * MAX_ROUNDS)
    # Released: the next one need not look, and may be another machine.
    assert _consume(way, aws, effect).outcome is Start.STARTED
    assert _appointments(aws) == 1
    row = aws.ledger_row("m")
    assert (row["consumption_count"], row["given_back"]) == ("7", "6")


@ways
def test_a_crash_while_it_waits_for_its_provider_is_still_looked_up(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, NotPerformed("down"), ConnectionError("lost answer"))
    _give_back(way, aws, effect, 1)
    with pytest.raises(OutcomeUnknown, match="lost answer"):
        _consume(way, aws, effect)
    effect.book.perform({"message_id": "m", "body": json.dumps(MESSAGE)})  # it had happened
    assert _consume(way, aws, effect, 1).outcome is Start.STARTED
    assert _appointments(aws) == 1
    assert aws.ledger_row("m")["outcome"] == "found"


@ways
def test_a_message_that_crashes_every_time_becomes_a_dead_letter(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, *[RuntimeError("crashed")] * 10)
    for number in range(MAX_ROUNDS):
        with pytest.raises(OutcomeUnknown):
            _consume(way, aws, effect, number)
    _consume(way, aws, effect, MAX_ROUNDS)
    (letter,) = aws.dead_letters()
    assert letter["reason"] == "rounds_used_up"
    assert len(effect.failures) == 10 - MAX_ROUNDS


@ways
def test_what_can_never_be_looked_up_becomes_a_dead_letter(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, RuntimeError("crashed"))
    effect.find_fails = True
    with pytest.raises(OutcomeUnknown, match="crashed"):
        _consume(way, aws, effect)
    at = LOCK_TIMEOUT + SKEW + 1
    _give_back(way, aws, effect, MAX_RETRIES, at)
    assert _consumer(way, aws, effect, at).consume(delivery(MESSAGE)).outcome is Start.STARTED
    (letter,) = aws.dead_letters()
    assert letter["reason"] == "outcome_unknown"
    assert "the book does not answer" in letter["cause"]
    assert _appointments(aws) == 0


@ways
@pytest.mark.parametrize("performed", [True, False])
def test_what_cannot_be_looked_up_for_a_while_is_looked_up_later_and_uses_up_no_round(
    way: str, aws: MotoAws, performed: bool
) -> None:
    effect = Failing(aws, RuntimeError("crashed"))
    with pytest.raises(OutcomeUnknown, match="crashed"):
        _consume(way, aws, effect)
    if performed:
        effect.book.perform({"message_id": "m", "body": json.dumps(MESSAGE)})
    effect.find_fails = True
    at = LOCK_TIMEOUT + SKEW + 1
    _give_back(way, aws, effect, 2 * MAX_ROUNDS, at)  # nobody waits for a lock again
    effect.find_fails = False
    assert _consumer(way, aws, effect, at).consume(delivery(MESSAGE)).outcome is Start.STARTED
    assert aws.dead_letters() == []
    assert _appointments(aws) == 1
    assert aws.ledger_row("m")["outcome"] == ("found" if performed else "performed")


@ways
def test_a_dead_letter_that_cannot_be_posted_completes_nothing(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, Rejected("no"), Rejected("no"))
    with Stubber(aws.sqs) as stub:
        stub.add_client_error("send_message", "ServiceUnavailable", http_status_code=503)
        with pytest.raises(ClientError):
            _consume(way, aws, effect)
    assert aws.ledger_row("m")["status"] == "IN_PROGRESS"
    _consume(way, aws, effect, 1)
    assert len(aws.dead_letters()) == 1


@ways
def test_a_dead_letter_that_is_tried_again_is_acted_on(way: str, aws: MotoAws) -> None:
    effect = Failing(aws, Rejected("no"))
    _consume(way, aws, effect)
    assert _retry(aws, *aws.dead_letters())
    assert _consume(way, aws, effect, 1).outcome is Start.STARTED
    assert _appointments(aws) == 1


@ways
def test_a_consumer_that_slept_past_its_time_does_not_act(way: str, aws: MotoAws) -> None:
    book = AppointmentBook(aws.dynamodb, aws.appointments_table)

    class AfterANap(Failing):
        """Wakes up in the middle of its step, after another has acted."""

        def perform_fenced(self, request: dict[str, Any], fence: dict[str, Any]) -> dict[str, Any]:
            if _appointments(aws) == 0:
                _consume(way, aws, book, 1)
            return book.perform_fenced(request, fence)

    with pytest.raises(Exception, match="is over"):
        _consume(way, aws, AfterANap(aws))
    assert _appointments(aws) == 1
