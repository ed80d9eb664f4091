"""What a ledger and a lease promise alike, and what each promises of time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.locking.locks import (
    Acquired,
    Attempt,
    Completed,
    DifferentContent,
    InProgress,
    LockLost,
    OtherMemory,
    Outcome,
    ProcessingLocks,
    ProcessingTable,
    act_once,
    heartbeats_in_a_thread,
)
from tests.support.lock_machine import BEGIN, LOCK_TIMEOUT, SKEW, Machine
from tests.support.moto_aws import MotoAws

ways = pytest.mark.parametrize("way", ["ledger", "lease"])
pairs = pytest.mark.parametrize(("way", "other"), [("ledger", "lease"), ("lease", "ledger")])


def _ask(locks: ProcessingLocks, fingerprint: str = "a") -> Acquired:
    return locks.acquire_processing_lock("m", LOCK_TIMEOUT, fingerprint=fingerprint)


def _acquired(locks: ProcessingLocks) -> Attempt:
    attempt = _ask(locks)
    assert isinstance(attempt, Attempt), attempt
    return attempt


@ways
def test_a_message_is_held_then_free_without_a_look_then_complete_for_good(
    way: str, aws: MotoAws
) -> None:
    machine = Machine()
    locks = machine.locks(way, aws)

    first = _acquired(locks)
    assert (first.consumption_count, first.outcome_unknown, first.straggler_seconds) == (
        1,
        False,
        0,
    )
    held = aws.ledger_row("m")
    assert (held["status"], held["consumption_count"]) == ("IN_PROGRESS", "1")
    assert (held["attempt_id"], held["updated"]) == (first.attempt_id, "2026-01-31T09:30:00.000Z")

    locks.release_processing_lock(first)
    again = _acquired(locks)
    assert (again.consumption_count, again.outcome_unknown, again.rounds) == (2, False, 1)
    assert machine.slept == []

    locks.mark_message_processed(again, Outcome.PERFORMED, {"slot": 1})
    much_later = Machine(now=100 * 86_400).locks(way, aws)
    assert _ask(much_later) == Completed(Outcome.PERFORMED, {"slot": 1})
    assert aws.ledger_row("m")["consumption_count"] == "2"


@pairs
def test_another_content_or_memory_is_told_whatever_state_the_message_is_in(
    way: str, other: str, aws: MotoAws
) -> None:
    locks, late = Machine().locks(way, aws), Machine(now=86_400)

    def refused() -> bool:
        of_the_other = _ask(late.locks(other, aws))
        return _ask(locks, "b") == DifferentContent("a") and of_the_other == OtherMemory(way)

    attempt = _acquired(locks)
    assert refused()
    assert aws.ledger_row("m")["attempt_id"] == attempt.attempt_id
    locks.release_processing_lock(attempt)
    assert refused()
    locks.mark_message_processed(_acquired(locks), Outcome.PERFORMED, None)
    assert refused()
    assert late.slept == []


@ways
def test_a_silent_attempt_is_taken_over_and_nothing_of_it_is_written_any_more(
    way: str, aws: MotoAws
) -> None:
    locks = Machine().locks(way, aws)
    first = _acquired(locks)
    second = _acquired(Machine(now=LOCK_TIMEOUT + SKEW + 1).locks(way, aws))

    def write(attempt: Attempt) -> None:
        item = {"message_id": {"S": "m"}, "appointment_id": {"S": attempt.attempt_id}}
        aws.dynamodb.transact_write_items(
            TransactItems=[
                attempt.fence,  # type: ignore[list-item]
                {"Put": {"TableName": aws.appointments_table, "Item": item}},
            ]
        )

    assert (second.outcome_unknown, second.consumption_count) == (True, 2)
    # Behind a ledger's takeover nobody straggles.
    assert second.straggler_seconds == (20 if way == "lease" else 0)
    with pytest.raises(LockLost):
        locks.mark_message_processed(first, Outcome.PERFORMED, None)
    with pytest.raises(LockLost):
        locks.release_processing_lock(first)
    with pytest.raises(aws.dynamodb.exceptions.TransactionCanceledException):
        write(first)
    write(second)
    assert aws.dynamodb.scan(TableName=aws.appointments_table)["Count"] == 1
    assert aws.ledger_row("m")["attempt_id"] == second.attempt_id


@ways
def test_a_write_whose_answer_was_lost_is_still_ones_own(way: str, aws: MotoAws) -> None:
    # The SDK sends the same write again; then its condition fails over what it wrote itself.
    machine = Machine()
    locks = machine.locks(way, aws)
    attempt = _acquired(locks)
    machine.ids = [attempt.attempt_id]
    assert _acquired(machine.locks(way, aws)).consumption_count == 1
    for _ in range(2):
        locks.mark_message_processed(attempt, Outcome.PERFORMED, {"slot": 1})


@ways
def test_what_dynamodb_does_not_answer_is_raised(way: str, aws: MotoAws) -> None:
    with Stubber(aws.dynamodb) as stub:
        stub.add_client_error("update_item", "ThrottlingException", http_status_code=400)
        with pytest.raises(ClientError, match="ThrottlingException"):
            _ask(Machine().locks(way, aws))


# ------------------------------------------------------------------ decisions


def _completed(locks: ProcessingLocks, outcome: Outcome = Outcome.DEAD_LETTER) -> Attempt:
    attempt = _acquired(locks)
    locks.mark_message_processed(attempt, outcome, None)
    return attempt


def _decide(
    aws: MotoAws, attempt: Attempt, outcome: Outcome | None, *, nothing_happened: bool = False
) -> bool:
    table = ProcessingTable(aws.dynamodb, aws.ledger_table)
    return table.decide("m", attempt.attempt_id, outcome, BEGIN, nothing_happened=nothing_happened)


@ways
@pytest.mark.parametrize("decided", [Outcome.RESOLVED, Outcome.REJECTED])
def test_a_decision_on_a_dead_letter_is_final(way: str, decided: Outcome, aws: MotoAws) -> None:
    locks = Machine().locks(way, aws)
    attempt = _completed(locks)
    assert _decide(aws, attempt, decided) is True
    assert _decide(aws, attempt, None) is False
    assert _ask(locks) == Completed(decided, None)


@ways
@pytest.mark.parametrize("nothing_happened", [True, False])
def test_a_dead_letter_that_is_tried_again_is_looked_up_first_unless_nothing_happened(
    way: str, nothing_happened: bool, aws: MotoAws
) -> None:
    machine = Machine()
    locks = machine.locks(way, aws)
    assert _decide(aws, _completed(locks), None, nothing_happened=nothing_happened) is True
    attempt = _acquired(locks)
    assert attempt.outcome_unknown is not nothing_happened
    assert (attempt.rounds, attempt.given_back, attempt.straggler_seconds) == (1, 0, 0)
    assert machine.slept == []


@ways
def test_a_decision_is_of_the_attempt_whose_dead_letter_was_seen(way: str, aws: MotoAws) -> None:
    locks = Machine().locks(way, aws)
    seen = _completed(locks)
    assert _decide(aws, seen, None) is True
    again = _completed(locks)
    assert _decide(aws, seen, Outcome.REJECTED) is False
    assert _decide(aws, again, None) is True
    performed = _completed(locks, Outcome.PERFORMED)
    assert _decide(aws, performed, None) is False
    assert aws.ledger_row("m")["status"] == "COMPLETE"


# ------------------------------------------------------------------ the ledger's time


@pytest.mark.parametrize(
    ("contender", "waits", "is_taken_over"),
    [
        (Machine(ahead=SKEW, now=LOCK_TIMEOUT), LOCK_TIMEOUT, False),
        # The holder's own time counts, not the contender's.
        (Machine(now=LOCK_TIMEOUT + SKEW), 1.0, False),
        # Not a wish: what every ledger does, and why the margin is a parameter.
        (Machine(ahead=LOCK_TIMEOUT + SKEW + 1), LOCK_TIMEOUT, True),
    ],
)
def test_a_ledger_takes_over_beyond_the_margin_for_clocks_alone_also_from_the_living(
    contender: Machine, waits: float, is_taken_over: bool, aws: MotoAws
) -> None:
    _acquired(Machine().ledger(aws))
    got = contender.ledger(aws).acquire_processing_lock("m", waits, fingerprint="a")
    assert isinstance(got, Attempt if is_taken_over else InProgress)


def test_a_ledgers_attempt_is_lost_before_others_may_take_it_over(aws: MotoAws) -> None:
    machine = Machine()
    locks = machine.ledger(aws)
    attempt = _acquired(locks)
    for now, lost in ((LOCK_TIMEOUT - 20 - 0.001, False), (LOCK_TIMEOUT - 20, True)):
        machine.now = now
        assert locks.is_lost(attempt) is lost


# ------------------------------------------------------------------ the lease's time


def test_a_lease_is_taken_over_after_a_whole_lease_whatever_the_clocks_say(aws: MotoAws) -> None:
    _acquired(Machine().lease(aws))
    contender = Machine(ahead=-86_400)
    assert _acquired(contender.lease(aws)).outcome_unknown is True
    assert contender.slept == [LOCK_TIMEOUT]


def test_a_straggler_is_waited_for_alive_and_then_looked_up(aws: MotoAws) -> None:
    _acquired(Machine().lease(aws))
    machine = Machine()
    locks = machine.lease(aws)
    attempt = _acquired(locks)
    machine.while_asleep = machine.beat
    version = aws.ledger_row("m")["version"]
    found_at: list[float] = []

    def find() -> dict[str, Any]:
        found_at.append(machine.now)
        return {"slot": 1}

    assert act_once(locks, attempt, _never, find) == {"slot": 1}

    assert aws.ledger_row("m")["outcome"] == Outcome.FOUND
    assert aws.ledger_row("m")["version"] != version
    assert found_at == [LOCK_TIMEOUT + 20]
    assert machine.slept == [LOCK_TIMEOUT, 20]


def _never(_: Attempt) -> dict[str, Any]:
    raise AssertionError("it was found, or its time was over")


@ways
def test_a_step_is_not_begun_after_the_attempt_s_time(way: str, aws: MotoAws) -> None:
    machine = Machine()
    locks = machine.locks(way, aws)
    attempt = _acquired(locks)
    machine.now = LOCK_TIMEOUT
    with pytest.raises(LockLost, match="before the step began"):
        act_once(locks, attempt, _never, None)
    assert aws.ledger_row("m")["status"] == "IN_PROGRESS"


def test_a_heartbeat_while_a_contender_waits_keeps_the_lease(aws: MotoAws) -> None:
    holder = Machine()
    locks = holder.lease(aws)
    with locks.at_work(_acquired(locks)):
        got = _ask(Machine(ahead=86_400, while_asleep=holder.beat).lease(aws))
    assert got == InProgress()
    assert holder.beats == []


def test_a_holder_that_cannot_be_confirmed_counts_itself_lost_in_half_a_lease(aws: MotoAws) -> None:
    machine = Machine()
    locks = machine.lease(aws)
    attempt = _acquired(locks)
    with locks.at_work(attempt):
        machine.now = LOCK_TIMEOUT / 2 - 0.001
        assert locks.is_lost(attempt) is False
        assert machine.beats[0]() is True
        machine.now = LOCK_TIMEOUT - 0.002
        assert locks.is_lost(attempt) is False, "the heartbeat confirmed it"
        with Stubber(aws.dynamodb) as stub:
            stub.add_client_error("update_item", "InternalServerError", http_status_code=500)
            assert machine.beats[0]() is True, "it goes on trying"
        machine.now = LOCK_TIMEOUT
        assert locks.is_lost(attempt) is True


def test_a_heartbeat_learns_that_the_lease_is_gone(aws: MotoAws) -> None:
    holder = Machine()
    locks = holder.lease(aws)
    attempt = _acquired(locks)
    with locks.at_work(attempt):
        _acquired(Machine().lease(aws))
        assert holder.beats[0]() is False
        assert locks.is_lost(attempt) is True


@pytest.mark.parametrize("answers", [lambda: True, iter([True, False]).__next__])
def test_heartbeats_in_a_thread_end_with_the_work_or_when_there_is_nothing_to_keep(
    answers: Callable[[], bool],
) -> None:
    beaten = threading.Event()

    def beat() -> bool:
        beaten.set()
        return answers()

    end = heartbeats_in_a_thread(beat, 0.001)
    assert beaten.wait(60)
    end()
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat"]
