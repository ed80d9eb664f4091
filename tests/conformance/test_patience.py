"""Weather, walked: what passes by itself asks nobody."""

from collections.abc import Callable

import pytest

from lab.conformance.hazards import MINUTE, Scenario
from lab.conformance.process import Hazard
from lab.conformance.stage import Stage
from lab.conformance.trial import Trial, run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.known import way

HOUR = 60 * MINUTE
WAYS = ("step-functions", "ledger-fenced", "lease-fenced", "ledger-worker", "lease-fenced-fifo")


def walked(name: str, set_up: Callable[[Stage], None], *hazards: Hazard) -> Trial:
    """What came of every schedule; each of the hazards may come once."""
    found = way(name)
    assert found is not None
    trial = run_trial(found, Scenario("weather", "", "", set_up, hazards, min(len(hazards), 1)))
    assert trial.is_complete
    return trial


def asked(trial: Trial) -> bool:
    """Whether anything waits for a person in any run."""
    return any(verdict.kind is not Kind.SURVIVED for verdict in trial.counts)


def provider_down(milliseconds: int) -> Callable[[Stage], None]:
    def set_up(stage: Stage) -> None:
        stage.performed.down_until = milliseconds
        stage.send("a")

    return set_up


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("outage", [90_000, 59 * MINUTE])
def test_a_provider_that_is_down_within_the_patience_costs_no_decision(
    name: str, outage: int
) -> None:
    trial = walked(name, provider_down(outage))

    assert not asked(trial)


@pytest.mark.parametrize("name", WAYS)
def test_a_provider_that_is_down_for_longer_is_a_persons_business(name: str) -> None:
    trial = walked(name, provider_down(24 * HOUR))

    assert {verdict.kind for verdict in trial.counts} == {Kind.PARKED}


def acted_at(trial: Trial) -> float:
    """Seconds after which the effect happened in the shortest story."""
    (at,) = (one.at for one in trial.story if one.answer.startswith("effect "))
    return at / 1000


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(("outage", "back_off"), [(90, 120), (3000, 690)])
def test_it_is_acted_on_within_two_back_offs_of_the_outage(
    name: str, outage: int, back_off: int
) -> None:
    trial = walked(name, provider_down(outage * 1000))

    assert outage <= acted_at(trial) <= outage + 2 * back_off


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("blind", [10_000, 50 * MINUTE])
def test_a_look_up_that_fails_within_the_patience_costs_no_decision(name: str, blind: int) -> None:
    def set_up(stage: Stage) -> None:
        stage.performed.blind_until = blind
        stage.send("a")

    trial = walked(name, set_up, Hazard.EFFECT_ANSWER_LOST)

    assert not asked(trial)
