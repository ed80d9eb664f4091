"""What ships, spoiled on purpose in one place: the suite finds each of them out."""

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.locks import (
    Attempt,
    Completed,
    InProgress,
    Lease,
    Ledger,
    LockLost,
    Outcome,
    ProcessingLocks,
    ProcessingTable,
)
from actonce_core.message import Refusal
from actonce_core.start import Start, Starter
from actonce_core.unstarted import UnstartedQueue
from lab.conformance import stage
from lab.conformance.hazards import scenario
from lab.conformance.stage import FUNCTION, MEMORY_TABLE, Way, process_message
from lab.conformance.stepfunctions import Untrue
from lab.conformance.trial import run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.locks import LEASE_WAYS, LEDGER_WAYS
from lab.conformance.ways.step_functions import STEP_FUNCTIONS

LEDGER_FENCED = LEDGER_WAYS[1]
LEASE_FENCED = LEASE_WAYS[1]


def _worst(way: Way, hazard: str, definition: Any = None) -> Kind:
    found = scenario(hazard)
    assert found is not None
    return run_trial(way, found, definition=definition).worst.kind


def _machine(spoil: Callable[[dict[str, Any]], None]) -> Any:
    definition: Any = copy.deepcopy(process_message())
    spoil(definition["States"])
    return definition


def _retry_as_aws_advises(states: dict[str, Any]) -> None:
    states["PerformEffect"]["Retry"][0]["ErrorEquals"] += ["Lambda.ServiceException"]


def _retry_time_outs(states: dict[str, Any]) -> None:
    states["PerformEffect"]["Retry"][0]["ErrorEquals"] += ["Sandbox.Timedout"]


def _await_nobody(states: dict[str, Any]) -> None:
    states["AwaitStraggler"]["Seconds"] = 1


def _await_by_the_definitions_own_time_out(states: dict[str, Any]) -> None:
    waits = (stage.EFFECT_TIMEOUT + stage.STRAGGLER_MARGIN) // 1000
    states["AwaitStraggler"]["Seconds"] = waits


def _look_nothing_up(states: dict[str, Any]) -> None:
    states["AwaitStraggler"]["Next"] = "PerformEffect"


def _perform_when_redriven(states: dict[str, Any]) -> None:
    states["PerformEffect"]["Arguments"]["Payload"]["operation"] = "perform"


def _look_up_at_once_when_redriven(states: dict[str, Any]) -> None:
    redriven = {**states["PerformEffect"]["Catch"][2], "Next": "FindEffect"}
    redriven["ErrorEquals"] = ["States.QueryEvaluationError"]
    states["PerformEffect"]["Catch"].insert(0, redriven)


def _retry_without_a_look(states: dict[str, Any]) -> None:
    states["Decision"]["Choices"][2]["Next"] = "PerformEffect"


def _name_no_version(states: dict[str, Any]) -> None:
    states["PerformEffect"]["Arguments"]["FunctionName"] = FUNCTION


def _give_up_at_once(states: dict[str, Any]) -> None:
    states["PerformEffect"]["Catch"][2]["Next"] = "Done"


@pytest.mark.parametrize(
    ("spoil", "hazard", "expected"),
    [
        (_retry_as_aws_advises, "services-fail", Kind.TWICE),
        (_retry_time_outs, "effect-late", Kind.TWICE),
        (_await_nobody, "effect-late", Kind.TWICE),
        (_look_nothing_up, "crash-after-effect", Kind.TWICE),
        (_perform_when_redriven, "aborted-redriven", Kind.TWICE),
        pytest.param(
            *(_look_up_at_once_when_redriven, "aborted-redriven", Kind.TWICE),
            marks=pytest.mark.long,
        ),
        (_name_no_version, "deployed-between", Kind.TWICE),
        (_name_no_version, "changed-by-hand", Kind.TWICE),
        (_retry_without_a_look, "tried-again", Kind.TWICE),
        (_await_by_the_definitions_own_time_out, "mended-by-deploying", Kind.TWICE),
    ],
)
def test_a_spoiled_state_machine_is_found_out(
    spoil: Callable[[dict[str, Any]], None], hazard: str, expected: Kind
) -> None:
    assert _worst(STEP_FUNCTIONS, hazard) <= Kind.PARKED
    assert _worst(STEP_FUNCTIONS, hazard, _machine(spoil)) == expected


def test_a_state_machine_that_ends_without_saying_what_happened_is_found_out() -> None:
    with pytest.raises(Untrue, match="a is said to be None"):
        _worst(STEP_FUNCTIONS, "crash", _machine(_give_up_at_once))


def test_a_state_machine_that_does_not_perform_on_a_persons_word_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _worst(STEP_FUNCTIONS, "told-by-a-person") <= Kind.PARKED
    blind: Any = copy.deepcopy(process_message(FindFunctionArn=""))
    blind["States"]["Decision"]["Choices"][0]["Next"] = "FindEffect"
    monkeypatch.setattr(stage, "_blind_machine", lambda: blind)

    with pytest.raises(Untrue, match="was to be performed, and asks again"):
        _worst(STEP_FUNCTIONS, "told-by-a-person")


def test_a_starter_that_forgets_the_fingerprint_loses_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Starter, "_remember", lambda *_: None)

    assert _worst(STEP_FUNCTIONS, "conflict") == Kind.LOST


def test_a_starter_that_trusts_the_fingerprint_loses_what_a_crash_left_unstarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The row says that the message was seen, not that its execution was started."""
    start = Starter._start

    def start_what_is_new(self: Starter, message: Any, *, first_seen_now: bool) -> Start | Refusal:
        if not first_seen_now:
            return Start.SUPPRESSED
        return start(self, message, first_seen_now=first_seen_now)

    monkeypatch.setattr(Starter, "_start", start_what_is_new)

    assert _worst(STEP_FUNCTIONS, "crash") == Kind.LOST


def test_a_starter_that_takes_a_failed_start_for_a_start_loses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = Starter._start

    def never_fail(self: Starter, message: Any, *, first_seen_now: bool) -> Any:
        try:
            return start(self, message, first_seen_now=first_seen_now)
        except Exception:  # noqa: BLE001 - what is being spoiled
            return Start.SUPPRESSED

    monkeypatch.setattr(Starter, "_start", never_fail)

    assert _worst(STEP_FUNCTIONS, "services-fail") == Kind.LOST


def test_a_refusal_that_is_not_handed_on_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnstartedQueue, "hand_on", lambda *_: None)

    assert _worst(STEP_FUNCTIONS, "poison") == Kind.LOST


@pytest.mark.parametrize("way", [LEDGER_FENCED, LEASE_FENCED], ids=lambda way: way.name)
def test_a_takeover_that_does_not_look_acts_twice(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Consumer, "_find", lambda *_: None)

    assert _worst(way, "crash-after-effect") == Kind.TWICE


@pytest.mark.parametrize("way", [LEDGER_FENCED, LEASE_FENCED], ids=lambda way: way.name)
def test_a_duplicate_of_what_is_in_progress_that_is_acknowledged_is_lost(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ProcessingLocks._told

    def done(*given: Any) -> Any:
        found = told(*given)
        return Completed(Outcome.PERFORMED, None) if isinstance(found, InProgress) else found

    monkeypatch.setattr(ProcessingLocks, "_told", done)

    assert _worst(way, "crash") == Kind.LOST


def test_a_ledger_without_a_margin_acts_twice_where_clocks_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_over = Ledger._is_over

    def without(self: Ledger, row: Any) -> bool:
        self._clock_skew = timedelta()
        return is_over(self, row)

    monkeypatch.setattr(Ledger, "_is_over", without)

    assert _worst(LEDGER_WAYS[0], "clock-ahead") == Kind.TWICE


def test_a_ledger_that_works_until_its_very_end_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = LEDGER_WAYS[2]
    assert _worst(worker, "late-straggler") == Kind.SURVIVED
    monkeypatch.setattr(Ledger, "_working_seconds", lambda _, lock_seconds: lock_seconds)

    assert _worst(worker, "late-straggler") == Kind.TWICE


def test_a_lease_that_takes_over_without_waiting_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Lease, "_is_over", lambda *_: True)

    # At once it would be found out by nothing: the margin is waited for, and the effect found.
    assert _worst(LEASE_WAYS[0], "effect-late") == Kind.TWICE


def test_a_takeover_that_ignores_the_version_acts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    write = ProcessingTable.write

    def without_the_version(
        self: Any, message_id: str, condition: str, values: Any, *given: Any, **more: Any
    ) -> Any:
        left = {name: value for name, value in values.items() if name != ":seen"}
        as_it_is = condition.removesuffix(" AND version = :seen")
        return write(self, message_id, as_it_is, left, *given, **more)

    monkeypatch.setattr(ProcessingTable, "write", without_the_version)

    assert _worst(LEASE_WAYS[0], "effect-late") == Kind.TWICE


def test_a_fence_that_always_holds_does_not_hold_a_zombie_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_gate = {
        "ConditionCheck": {
            "TableName": MEMORY_TABLE,
            "Key": {"message_id": {"S": "a"}},
            "ConditionExpression": "attribute_exists(message_id)",
        }
    }
    monkeypatch.setattr(ProcessingTable, "fence", lambda *_: open_gate)

    assert _worst(LEASE_FENCED, "zombie") == Kind.TWICE


def test_a_release_after_an_unknown_outcome_acts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    act = Consumer._act

    def release_whatever_happened(self: Any, *given: Any) -> None:
        try:
            act(self, *given)
        except LockLost:
            raise
        except Exception:
            self.locks.release_processing_lock(given[-1])
            raise

    monkeypatch.setattr(Consumer, "_act", release_whatever_happened)

    assert _worst(LEDGER_FENCED, "effect-unheard") == Kind.TWICE


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(LEDGER_FENCED, id="ledger-fenced"),
        pytest.param(LEASE_FENCED, id="lease-fenced", marks=pytest.mark.long),
    ],
)
def test_a_message_that_is_completed_before_its_dead_letter_is_posted_is_lost(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, mark = DeadLetterQueue.post, ProcessingLocks.mark_message_processed
    held: list[Any] = []

    def post_later(_: DeadLetterQueue, letter: Any) -> None:
        held.append(letter)

    def mark_and_post(self: ProcessingLocks, attempt: Any, outcome: Outcome, effect: Any) -> None:
        mark(self, attempt, outcome, effect)
        if outcome == Outcome.DEAD_LETTER:
            post(queues[-1], held.pop())

    queues: list[DeadLetterQueue] = []
    make = DeadLetterQueue.__init__

    def remember(self: DeadLetterQueue, *given: Any) -> None:
        make(self, *given)
        queues.append(self)

    monkeypatch.setattr(DeadLetterQueue, "__init__", remember)
    monkeypatch.setattr(DeadLetterQueue, "post", post_later)
    monkeypatch.setattr(ProcessingLocks, "mark_message_processed", mark_and_post)

    assert _worst(way, "given-up") == Kind.LOST


@pytest.mark.parametrize(
    "way", [LEDGER_WAYS[2], LEASE_WAYS[0], LEASE_WAYS[2]], ids=lambda way: way.name
)
def test_a_step_that_begins_without_a_last_look_acts_twice(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not needed where Lambda ends an attempt before the next may begin, or behind a fence."""
    assert _worst(way, "late-answer") <= Kind.PARKED
    monkeypatch.setattr(ProcessingLocks, "is_lost", lambda *_: False)

    assert _worst(way, "late-answer") == Kind.TWICE


def test_a_heartbeat_that_failed_and_counts_as_heard_acts_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = LEASE_WAYS[0]
    assert _worst(plain, "unheard") <= Kind.PARKED
    beat = Lease._beat

    def heard_whatever_came(self: Lease, attempt: Attempt) -> bool:
        asked_at, before = self.host.monotonic(), attempt.may_begin_until
        goes_on = beat(self, attempt)
        if goes_on and attempt.may_begin_until == before:
            attempt.may_begin_until = asked_at + self._working_seconds(attempt.lock_seconds)
        return goes_on

    monkeypatch.setattr(Lease, "_beat", heard_whatever_came)

    assert _worst(plain, "unheard") == Kind.TWICE


@pytest.mark.parametrize("hazard", ["provider-down", "find-away"])
def test_an_attempt_that_was_given_back_and_counts_as_a_round_asks_for_a_decision(
    hazard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _worst(LEDGER_FENCED, hazard) == Kind.SURVIVED
    monkeypatch.setattr(Attempt, "rounds", property(lambda self: self.consumption_count))

    assert _worst(LEDGER_FENCED, hazard) == Kind.PARKED


def test_a_message_that_is_given_back_and_not_counted_is_left_to_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = ProcessingTable.write

    def uncounted(*given: Any, counted: str = "", **more: Any) -> Any:
        return write(*given, counted="" if counted == "given_back" else counted, **more)

    monkeypatch.setattr(ProcessingTable, "write", uncounted)

    with pytest.raises(Untrue, match="nobody was asked within twelve hours"):
        _worst(LEDGER_WAYS[0], "closed")
