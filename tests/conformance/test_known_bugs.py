"""The explorer finds, by itself, the bugs known of such consumers, and tells their steps."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actonce_core.locking.locks import Lease
from actonce_core.start import Row, Starter
from lab.conformance.hazards import scenario
from lab.conformance.stage import Way
from lab.conformance.trial import Trial, run_trial, told
from lab.conformance.verdict import Kind, Verdict
from lab.conformance.ways import locks
from lab.conformance.ways.locks import LEASE_WAYS, LEDGER_WAYS
from lab.conformance.ways.plain import NONE
from lab.conformance.ways.step_functions import STEP_FUNCTIONS
from tests.conformance.handlers import NAIVE_LEDGER, RELEASES_ANYBODYS, RELEASES_ITS_OWN


def _trial(way: Way, hazard: str, definition: Any = None) -> Trial:
    found = scenario(hazard)
    assert found is not None
    return run_trial(way, found, definition=definition)


def _assert_in_order(story: Sequence[str], *expected: str) -> None:
    """Each expected pattern is in a line of its own, one after another."""
    lines = iter(story)
    for pattern in expected:
        assert any(re.search(pattern, line) for line in lines), (pattern, *story)


def _story(trial: Trial, kind: Kind) -> list[str]:
    assert Verdict(kind) in trial.stories, trial.counts
    return told(trial.stories[Verdict(kind)])


def test_no_deduplication_acts_twice_on_a_duplicate() -> None:
    story = _story(_trial(NONE, "twice-at-once"), Kind.TWICE)

    assert sum("PERFORMS a" in line for line in story) == 2
    assert len(story) == 7


def test_a_naive_ledger_reads_before_it_writes() -> None:
    """The get-then-put race: both read that there is no row, then both write one."""
    story = _story(_trial(NAIVE_LEDGER, "twice-at-once"), Kind.TWICE)

    first, other = ("1.1", "1.2") if "1.1: GetItem" in "".join(story[3]) else ("1.2", "1.1")
    _assert_in_order(
        story,
        f"consumer {first}: GetItem ledger",
        f"consumer {other}: GetItem ledger.*done",
        "PutItem ledger.*IN_PROGRESS",
        "PERFORMS a",
        "PutItem ledger.*IN_PROGRESS",
        "PERFORMS a",
    )


def test_a_naive_ledger_compares_two_machines_clocks() -> None:
    """A consumer whose clock is ahead takes over from one that is at work."""
    story = _story(_trial(NAIVE_LEDGER, "clock-ahead"), Kind.TWICE)

    _assert_in_order(
        story,
        "0 s  consumer 1.1: PutItem ledger.*IN_PROGRESS, updated=1767603600",
        r"0 s  consumer 1.1: PERFORMS a \[effect late\]",
        "1 s  consumer 1.2: GetItem ledger.*IN_PROGRESS, updated=1767603600",
        "1 s  consumer 1.2: PutItem ledger.*IN_PROGRESS, updated=1767603901",
        "1 s  consumer 1.2: PERFORMS a",
        "PERFORMS a, late",
    )


def test_a_naive_ledger_acknowledges_a_duplicate_of_what_is_in_progress() -> None:
    """Then the one that was at work crashes, and nobody has the message any more."""
    story = _story(_trial(NAIVE_LEDGER, "crash"), Kind.LOST)

    _assert_in_order(
        story,
        "PutItem ledger.*IN_PROGRESS",
        "GetItem ledger.*IN_PROGRESS",
    )
    _assert_in_order(story, "consumer 1.. crashes|consumer 1..: crashes")
    _assert_in_order(story, "acknowledges")
    assert not any("PERFORMS" in line for line in story)


def test_an_unconditional_release_frees_what_another_one_holds() -> None:
    """The one that did not get the lock deletes it; the next delivery acts again."""
    story = _story(_trial(RELEASES_ANYBODYS, "resend-5-minutes"), Kind.TWICE)

    _assert_in_order(
        story,
        "consumer [12].1: PutItem ledger.*IN_PROGRESS.*done",
        "consumer [12].1: PutItem ledger.*ConditionalCheckFailedException",
        "consumer [12].1: DeleteItem ledger",
        "consumer .*PERFORMS a",
    )
    assert not any("DeleteItem" in line and " IF " in line for line in story)


def test_the_same_consumer_acts_once_if_it_releases_only_its_own() -> None:
    trial = _trial(RELEASES_ITS_OWN, "resend-5-minutes")

    assert {verdict.kind for verdict in trial.counts} <= {Kind.SURVIVED, Kind.PARKED}


def test_a_lease_without_a_fence_cannot_hold_a_zombie_back_and_with_one_can() -> None:
    lease, fenced, *_ = LEASE_WAYS

    story = _story(_trial(lease, "zombie"), Kind.TWICE)
    _assert_in_order(
        story,
        "consumer 1..: stands still",
        "42 s  consumer 1..: looks the effect of a up",
        "42 s  consumer 1..: PERFORMS a",
        "50 s  consumer 1..: PERFORMS a",
    )
    assert _trial(fenced, "zombie").worst == Verdict(Kind.SURVIVED)


def test_80_days_of_trust_outlive_a_history_of_30(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is young enough, and the name is free again."""
    start = Starter.start_message

    def trusting(self: Starter, delivery: Any) -> Any:
        return start(replace(self, names_remembered=timedelta(days=80)), delivery)

    monkeypatch.setattr(Starter, "start_message", trusting)

    assert _trial(STEP_FUNCTIONS, "resend-91-days").worst == Verdict(Kind.PARKED)
    story = _story(_trial(STEP_FUNCTIONS, "short-history"), Kind.TWICE)
    _assert_in_order(story, "PERFORMS a", "31 d  .*StartExecution a  ->  done", "PERFORMS a")


@pytest.mark.long
def test_a_row_that_does_not_say_whose_it_is_is_believed_by_a_new_state_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fingerprint is known, and the name is not."""
    remember = Starter._remember

    def as_its_own(self: Starter, message: Any, now: Any) -> Row | None:
        known = remember(self, message, now)
        return known and replace(known, memory=self.state_machine)

    monkeypatch.setattr(Starter, "_remember", as_its_own)

    story = _story(_trial(STEP_FUNCTIONS, "another-memory"), Kind.TWICE)
    _assert_in_order(
        story,
        "PERFORMS a",
        "a deployment: replaces the state machine",
        "PutItem fingerprints.*ConditionalCheckFailedException",
        "StartExecution a  ->  done",
        "PERFORMS a",
    )


@pytest.mark.parametrize("way", [LEDGER_WAYS[1], LEASE_WAYS[1]], ids=lambda way: way.name)
def test_a_lock_with_a_table_of_its_own_knows_no_execution(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "MEMORY_TABLE", "ledger")

    story = _story(_trial(way, "another-memory"), Kind.TWICE)
    _assert_in_order(story, "changes the strategy to step-functions", "PERFORMS a")
    assert sum("PERFORMS a" in line for line in story) == 2


def test_a_lease_that_ends_with_its_holder_acts_before_a_straggler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The holder is gone, and what it has called is not."""
    take = Lease.acquire_processing_lock

    def in_a_hurry(self: Lease, *given: Any, **more: Any) -> Any:
        self._takeover_waits = 0.0
        return take(self, *given, **more)

    monkeypatch.setattr(Lease, "acquire_processing_lock", in_a_hurry)

    story = _story(_trial(LEASE_WAYS[0], "margin"), Kind.TWICE)
    _assert_in_order(
        story,
        "consumer 1..: its time is over|effect outlives its caller",
        "12 s  consumer 1..: looks the effect of a up",
        "12 s  consumer 1..: PERFORMS a",
        "29 s  .*PERFORMS a, late",
    )


def test_a_story_is_the_same_each_time() -> None:
    first, second = (_trial(NAIVE_LEDGER, "zombie") for _ in range(2))

    assert first == second
