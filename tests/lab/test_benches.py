"""What is asked of the benchmarks of transient failures, and of the soak."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from actonce.demo.outcome import Outcome
from actonce.demo.run import Result
from actonce.demo.second_count import SecondCount
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed, WrongUse
from lab.bench.soak import Trouble, ended_after, report
from lab.bench.transient_failures import chosen
from lab.faults import kinds
from lab.faults.transient import NO_FAILURE, Injector

GOOD = Outcome(
    sent=12,
    distinct=10,
    deliveries=12,
    started=10,
    came_back={},
    suppressed=2,
    refused={},
    effects=10,
    acted_on_twice=0,
    out_of_order=None,
    awaiting_decision=0,
    lost=0,
    exactly_once=True,
    seconds=1.0,
)


def test_all_failures_are_measured_unless_some_are_named() -> None:
    sizes = {"messages": 9, "down_seconds": 3.0, "bucket": None, "refill": None}
    shown = chosen([], **sizes)  # type: ignore[arg-type]
    assert [one.failure.name for one in shown] == list(kinds.MEASURED)
    assert {one.messages for one in shown} == {9}
    (one,) = chosen(["provider-down"], **sizes)  # type: ignore[arg-type]
    assert one.failure.down_seconds == 3
    with pytest.raises(WrongUse, match="no failure 'rain'; there are throttled"):
        chosen(["rain"], **sizes)  # type: ignore[arg-type]


def test_what_does_not_end_in_time_has_failed() -> None:
    with pytest.raises(Failed, match="not ended in 0 s"), ended_after(0.01):
        signal.pause()


def _soaked(
    outcome: Outcome = GOOD,
    *,
    kills: int = 2,
    differences: list[str] | None = None,
    had: str = "throttled",
) -> bool:
    trouble = Trouble(
        Injector(), Paths(Path("nowhere")), 10, 2, [kinds.MEASURED["throttled"].failure], 1.0
    )
    trouble.killed = [3] * kills
    trouble.had = {had}
    second = None
    if differences is not None:
        second = SecondCount(Path("page"), differences)
    good = report(Result(outcome, Counter(), second), trouble)["good"]
    assert isinstance(good, bool)
    return good


def test_a_soak_is_good_only_if_everything_was_met_and_counted_twice() -> None:
    assert _soaked(differences=[])
    assert not _soaked(differences=["lost: 0 counted, 2 in the audit"])
    assert not _soaked(differences=None), "not audited"
    assert not _soaked(kills=1, differences=[])
    assert not _soaked(had="find-down", differences=[])


def test_the_soak_s_trouble_ends_with_the_run() -> None:
    injector = Injector()
    failures = [kinds.MEASURED["throttled"].failure]
    trouble = Trouble(injector, Paths(Path("/nonexistent")), 10, 1, failures, spell_seconds=3600.0)
    with trouble.made():
        injector.change(failures[0])
    assert injector.failure is NO_FAILURE
    assert trouble.error is None
    assert trouble.killed == []
