"""Weather, walked: what passes by itself asks nobody."""

from collections.abc import Callable

import pytest

from actonce.conformance.hazards import MINUTE, Scenario
from actonce.conformance.process import Hazard
from actonce.conformance.stage import Stage
from actonce.conformance.trial import Trial, run_trial
from actonce.conformance.verdict import Kind
from actonce.conformance.ways.known import way

HOUR = 60 * MINUTE
WAYS = ("step-functions", "ledger-fenced", "lease-fenced", "ledger-worker", "lease-fenced-fifo")


def walked(name: str, set_up: Callable[[Stage], None], *hazards: Hazard) -> tuple[Trial, set[int]]:
    """What came of it, and after how many milliseconds every run was over."""
    found = way(name)
    assert found is not None
    moments: set[int] = set()
    weather = Scenario("weather", "weather", "", set_up, hazards, len(hazards))
    trial = run_trial(found, weather, look=lambda _verdict, world: moments.add(world.now))
    assert trial.is_complete
    return trial, moments


def asked(trial: Trial) -> bool:
    """Whether anything waits for a person in any run."""
    return any(verdict.kind is not Kind.SURVIVED for verdict in trial.counts)


def provider_down(milliseconds: int, back_after: float | None = None) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        stage.performed.down_until, stage.performed.back_after = milliseconds, back_after
        stage.send("a")

    return set_up


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("outage", [90_000, 59 * MINUTE])
def test_a_provider_that_is_down_within_the_patience_costs_no_decision(
    name: str, outage: int
) -> None:
    trial, _ = walked(name, provider_down(outage))

    assert not asked(trial)


@pytest.mark.parametrize("name", WAYS)
def test_a_provider_that_is_down_for_longer_is_a_persons_business(name: str) -> None:
    trial, _ = walked(name, provider_down(24 * HOUR))

    assert {verdict.kind for verdict in trial.counts} == {Kind.PARKED}
