"""What a lease writes into the row.

Who may act when, and what crashes, pauses and clocks change of that, tests/lab/conformance walks.
"""

import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from botocore.stub import Stubber

from actonce_core.locking.lease import Lease, heartbeats_in_a_thread
from actonce_core.locking.lease_table import (
    Attempt,
    Completed,
    ConflictingContent,
    KnownElsewhere,
    Outcome,
    StillInProgress,
)
from tests.support.lease_machine import LOCK_TIMEOUT, Machine
from tests.support.moto_aws import MotoAws


def _ask(lease: Lease, fingerprint: str = "a") -> Attempt | Completed:
    return lease.acquire_processing_lock("m", LOCK_TIMEOUT, fingerprint=fingerprint)


def _acquired(lease: Lease) -> Attempt:
    attempt = _ask(lease)
    assert isinstance(attempt, Attempt), attempt
    return attempt


def test_a_message_is_held_then_free_without_a_look_then_complete_for_good(aws: MotoAws) -> None:
    machine = Machine()
    lease = machine.lease(aws)

    first = _acquired(lease)
    assert (first.consumption_count, first.outcome_unknown, first.straggler_seconds) == (
        1,
        False,
        0,
    )
    held = aws.lease_row("m")
    assert (held["status"], held["consumption_count"]) == ("IN_PROGRESS", "1")
    assert (held["attempt_id"], held["updated"]) == (first.attempt_id, "2026-01-31T09:30:00.000Z")

    lease.release_processing_lock(first)
    again = _acquired(lease)
    assert (again.consumption_count, again.outcome_unknown) == (2, False)
    assert machine.slept == []

    lease.mark_message_processed(again, Outcome.PERFORMED, {"slot": 1})
    much_later = Machine(now=100 * 86_400).lease(aws)
    assert _ask(much_later) == Completed(Outcome.PERFORMED, {"slot": 1})
    assert aws.lease_row("m")["consumption_count"] == "2"


def test_another_content_or_memory_is_told_whatever_state_the_message_is_in(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    another, late = Machine().lease(aws), Machine(now=86_400)
    monkeypatch.setattr(another, "WAY", "another")

    def is_refused() -> None:
        with pytest.raises(ConflictingContent) as conflict:
            _ask(another, "b")
        with pytest.raises(KnownElsewhere) as other:
            _ask(late.lease(aws))
        assert (conflict.value.fingerprint, other.value.memory) == ("a", "another")

    attempt = _acquired(another)
    is_refused()
    assert aws.lease_row("m")["attempt_id"] == attempt.attempt_id
    another.release_processing_lock(attempt)
    is_refused()
    another.mark_message_processed(_acquired(another), Outcome.PERFORMED, None)
    is_refused()
    assert late.slept == []


def test_only_a_heartbeat_that_was_written_gives_the_holder_more_time(aws: MotoAws) -> None:
    machine = Machine()
    lease = machine.lease(aws)
    attempt = _acquired(lease)
    until = attempt.may_begin_until
    machine.now = 1.0
    with Stubber(aws.dynamodb) as stubber:
        stubber.add_client_error("update_item", "InternalServerError")
        assert lease._beat(attempt)
    assert attempt.may_begin_until == until
    assert lease._beat(attempt)
    assert attempt.may_begin_until == until + 1


def test_only_a_holder_that_wrote_nothing_meanwhile_is_taken_over(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, other = Machine().lease(aws), Machine(now=86_400)
    held = _acquired(holder)
    with monkeypatch.context() as beating:
        sleep = other._sleep
        beating.setattr(other, "_sleep", lambda seconds: holder._beat(held) and sleep(seconds))
        with pytest.raises(StillInProgress):
            _ask(other.lease(aws))
    assert _acquired(other.lease(aws)).outcome_unknown
    assert other.slept == [LOCK_TIMEOUT, LOCK_TIMEOUT]


def test_a_write_that_the_sdk_repeats_is_its_own(aws: MotoAws) -> None:
    """Taken for another's, the message would wait for the lease of a holder that is at work."""
    machine = Machine()
    lease, write = machine.lease(aws), aws.dynamodb.update_item

    def repeat(**request: Any) -> Any:
        write(**request)  # whose answer is lost
        return write(**request)

    with mock.patch.object(aws.dynamodb, "update_item", side_effect=repeat):
        attempt = _acquired(lease)
        lease.mark_message_processed(attempt, Outcome.PERFORMED, None)
    assert (attempt.consumption_count, attempt.outcome_unknown, machine.slept) == (1, False, [])
    assert aws.lease_row("m")["status"] == "COMPLETE"


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
