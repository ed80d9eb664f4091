"""What becomes of a message that no attempt of a lease performs: its dead letter.

How deliveries, crashes and takeovers end is walked by tests/lab/conformance.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from actonce_core.effect import NotPerformed, Rejected
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.processing_table import Outcome, ProcessingTable
from actonce_core.message import MessageReader
from actonce_core.result import DeliveryResult, Start
from actonce_core.unstarted import UnstartedQueue
from tests.support.deliveries import delivery
from tests.support.lock_machine import BEGIN, LOCK_TIMEOUT, Machine
from tests.support.moto_aws import MotoAws

MAX_ROUNDS = 3
MAX_RETRIES = 7
OVER = LOCK_TIMEOUT + 1
"""Seconds after which an attempt that said nothing more is over."""
MESSAGE = {"message_id": "m", "practice": "main"}


class Case:
    """Deliveries of one message to a consumer; its effect fails as it is told, or is performed."""

    def __init__(self, aws: MotoAws) -> None:
        self.aws = aws
        self.letters_go_to = aws.dead_letter_queue
        self.fails: Callable[[], Exception] | None = None
        self.find_fails = False
        self.found: dict[str, Any] | None = None
        self.max_rounds = MAX_ROUNDS

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.fails:
            raise self.fails()
        return request

    def find(self, _: str) -> dict[str, Any] | None:
        if self.find_fails:
            raise TimeoutError("the book does not answer")
        return self.found

    def consume(self, at: float = 0.0) -> DeliveryResult:
        """What becomes of a delivery on a machine whose time is `at`."""
        return Consumer(
            reader=MessageReader(),
            lease=Machine(now=at).lease(self.aws),
            effect=self,
            unstarted=UnstartedQueue(self.aws.sqs, self.aws.unstarted_queue),
            dead_letters=DeadLetterQueue(self.aws.sqs, self.letters_go_to),
            lock_timeout=LOCK_TIMEOUT,
            max_rounds=self.max_rounds,
            max_retries=MAX_RETRIES,
        ).consume(delivery(MESSAGE))

    def goes_back(self, times: int, at: float = 0.0, apart: float = 0.0) -> None:
        """So many deliveries, each of which goes back to the queue."""
        for number in range(times):
            with pytest.raises(Exception, match=r"closed|crashed|does not answer"):
                self.consume(at + number * apart)
        assert self.aws.dead_letters() == []

    def letter(self, at: float = 0.0) -> dict[str, Any]:
        """The dead letter that the next delivery becomes."""
        end = self.consume(at)
        assert end.outcome is Start.STARTED
        (letter,) = self.aws.dead_letters()
        assert end.letter == letter
        row = self.aws.ledger_row("m")
        assert row["outcome"] == Outcome.DEAD_LETTER
        assert row["attempt_id"] == letter["attempt_id"]
        return letter

    def retry(self, letter: dict[str, Any]) -> None:
        table = ProcessingTable(self.aws.dynamodb, self.aws.ledger_table)
        assert table.decide("m", letter["attempt_id"], None, BEGIN)


@pytest.fixture
def case(aws: MotoAws) -> Case:
    return Case(aws)


def test_a_rejected_message_is_one_at_once_and_tried_again_if_that_is_decided(case: Case) -> None:
    case.fails = lambda: Rejected("there is no practice")
    letter = case.letter()
    assert (letter["reason"], letter["error"]) == ("rejected", "Rejected")
    assert letter["message"] == {"message_id": "m", "body": json.dumps(MESSAGE)}
    assert letter["ledger_message_id"] == "m"
    assert letter["source"] == {
        "sqs_message_id": "sqs-1",
        "message_attributes": {},
        "message_group_id": None,
        "deduplication_id": None,
    }
    case.fails = None
    assert case.consume(OVER).outcome is Start.SUPPRESSED
    case.retry(letter)
    assert case.consume(OVER).outcome is Start.STARTED
    assert case.aws.ledger_row("m")["outcome"] == "performed"


def test_a_letter_that_was_not_posted_leaves_its_message_to_the_next_delivery(case: Case) -> None:
    case.fails = lambda: Rejected("there is no practice")
    case.letters_go_to = f"{case.aws.dead_letter_queue}-that-is-not-there"
    with pytest.raises(ClientError):
        case.consume()
    case.letters_go_to = case.aws.dead_letter_queue
    assert case.letter(OVER)["reason"] == "rejected"


def crash() -> Exception:
    return ConnectionError("crashed")


@pytest.mark.parametrize(
    ("fails", "find_fails", "goes_back", "reason", "cause"),
    [
        (lambda: NotPerformed("closed"), False, [(MAX_RETRIES, 0)], "not_performed", "closed"),
        (crash, False, [(MAX_ROUNDS, OVER)], "rounds_used_up", "unknown outcome: 3"),
        (crash, True, [(1, OVER), (MAX_RETRIES, 0)], "outcome_unknown", "book does not answer"),
    ],
)
def test_what_is_given_back_too_often_is_one_and_a_decision_begins_anew(
    case: Case,
    fails: Callable[[], Exception],
    find_fails: bool,
    goes_back: list[tuple[int, float]],
    reason: str,
    cause: str,
) -> None:
    case.fails, case.find_fails = fails, find_fails
    at = 0.0
    for times, apart in goes_back:
        case.goes_back(times, at, apart)
        at += times * apart
    letter = case.letter(at)
    assert (letter["reason"], cause in letter["cause"]) == (reason, True)
    case.retry(letter)
    case.goes_back(MAX_ROUNDS, at, OVER)


def test_where_one_round_is_allowed_only_a_person_has_it_performed_again(case: Case) -> None:
    case.fails, case.max_rounds = crash, 1
    case.goes_back(1)
    letter = case.letter(OVER)
    assert (letter["reason"], letter["cause"]) == (
        "rounds_used_up",
        "attempts with an unknown outcome: 1",
    )
    case.fails = None
    case.retry(letter)
    assert case.consume(2 * OVER).outcome is Start.STARTED
    assert case.aws.ledger_row("m")["outcome"] == "performed"


def test_what_cannot_be_looked_up_for_a_while_is_looked_up_later(case: Case) -> None:
    case.fails, case.find_fails = lambda: ConnectionError("crashed"), True
    case.goes_back(1)
    case.goes_back(2 * MAX_ROUNDS, OVER)
    case.find_fails, case.found = False, {"slot": 1}
    assert case.consume(OVER).outcome is Start.STARTED
    assert case.aws.ledger_row("m")["outcome"] == "found"
