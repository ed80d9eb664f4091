"""How long, and how seldom, a consumer tries again."""

import math

import pytest

from actonce_core.locking.patience import is_over, next_wait

HOUR = 3600.0


def waits(patience: float, chance: float) -> list[float]:
    """What is waited, one after the other, with a provider that never comes back."""
    found: list[float] = []
    waited: float | None = None
    while not is_over(waited, patience):
        wait = math.ceil(next_wait(waited, patience, chance))
        found.append(wait)
        waited = (waited or 0) + wait
    return found


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_an_hour_costs_at_most_ten_waits(chance: float) -> None:
    found = waits(HOUR, chance)

    assert len(found) <= 10
    assert HOUR <= sum(found) <= HOUR + 1


def test_many_that_wait_do_not_come_together() -> None:
    for waited in (None, 5, 60, 900):
        at = [next_wait(waited, HOUR, n / 1000) for n in range(1000)]
        assert max(at) - min(at) >= 0.9 * 10


@pytest.mark.parametrize("outage", [1, 10, 60, 90, 300, 3000])
def test_it_is_over_within_two_back_offs_of_the_outage(outage: float) -> None:
    for chance in (0.0, 0.3, 0.7, 0.999):
        at, before = 0.0, 0.0
        for wait in waits(HOUR, chance):
            at, before = at + wait, wait
            if at >= outage:
                break
        assert at - outage <= 2 * max(before, 1)


def test_the_windows_are_the_documented_ones() -> None:
    assert [next_wait(None, HOUR, chance) for chance in (0, 0.5)] == [0, 5]
    assert [next_wait(5, HOUR, chance) for chance in (0, 0.5)] == [5, 15]
    assert [next_wait(300, HOUR, chance) for chance in (0, 0.5)] == [510, 810]
    assert [next_wait(810, HOUR, chance) for chance in (0, 0.5)] == [600, 900]
    assert next_wait(3300, HOUR, 0.0) == 300  # the last try is when the patience ends


def test_no_patience_is_over_at_once() -> None:
    assert is_over(None, 0)
    assert not is_over(None, 1)
