"""What is asked of the benchmarks."""

from collections import Counter
from pathlib import Path

import pytest

from actonce.demo.outcome import Outcome
from actonce.demo.run import Result
from actonce.demo.second_count import SecondCount
from actonce.stack.embedded_folder import Paths
from lab.bench.soak import Trouble, report
from lab.faults.kinds import MEASURED
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


@pytest.mark.parametrize(
    ("differences", "kills", "had", "good"),
    [
        ([], 2, "throttled", True),
        (["lost: 0 counted, 2 in the audit"], 2, "throttled", False),
        (None, 2, "throttled", False),  # not audited
        ([], 1, "throttled", False),
        ([], 2, "find-down", False),
    ],
)
def test_a_soak_is_good_only_if_everything_was_met_and_counted_twice(
    differences: list[str] | None, kills: int, had: str, good: bool
) -> None:
    trouble = Trouble(Injector(), Paths(Path("nowhere")), 10, 2, [MEASURED["throttled"]], 1.0)
    trouble.killed = [3] * kills
    trouble.had = {had}
    second = None if differences is None else SecondCount(Path("page"), differences)

    assert report(Result(GOOD, Counter(), second), trouble)["good"] is good


def test_the_soak_s_trouble_ends_with_the_run() -> None:
    injector = Injector()
    failures = [MEASURED["throttled"]]
    trouble = Trouble(injector, Paths(Path("/nonexistent")), 10, 1, failures, spell_seconds=3600.0)
    with trouble.made():
        injector.change(failures[0])
    assert injector.failure is NO_FAILURE
    assert trouble.error is None
    assert trouble.killed == []
