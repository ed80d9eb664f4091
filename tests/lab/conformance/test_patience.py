"""A provider that is down: how soon after its outage the effect happens."""

import pytest

from lab.conformance.hazards import Scenario
from lab.conformance.strategies.known import find_way
from lab.conformance.trial import run_trial


@pytest.mark.parametrize("name", ["step-functions", "lease-idempotent"])
@pytest.mark.parametrize(("outage", "back_off"), [(90, 120), (3000, 690)])
def test_it_is_acted_on_within_two_back_offs_of_the_outage(
    name: str, outage: int, back_off: int
) -> None:
    found = find_way(name)
    down = Scenario("down", "", "", where={"performed.down_until": (outage * 1000,)})

    story = run_trial(found, down).story

    (at,) = (one.at for one in story if one.answer.startswith("effect "))
    assert outage <= at / 1000 <= outage + 2 * back_off
