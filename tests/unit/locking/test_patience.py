"""How long, and how seldom, it is tried again; the state machine and the consumer alike."""

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonata import Jsonata

from locking.patience import is_over, next_wait
from tests import asl

HOUR = 3600.0
BEGIN = 1_767_603_600_000


def waits(patience: float, chance: float, retry_after: float | None = None) -> list[float]:
    """What is waited, one after the other, with a provider that never comes back."""
    found: list[float] = []
    waited: float | None = None
    while not is_over(waited, patience):
        wait = math.ceil(next_wait(waited, patience, chance, retry_after))
        found.append(wait)
        waited = (waited or 0) + wait
    return found


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("retry_after", [None, 0, 1, 60, 899, 10**6])
def test_an_hour_costs_at_most_ten_waits_whatever_the_provider_says(
    chance: float, retry_after: float | None
) -> None:
    found = waits(HOUR, chance, retry_after)

    assert len(found) <= 10  # a transition each, and one for the try that follows
    longer = 0 if retry_after is None or retry_after < 899 else 990
    assert HOUR <= sum(found) <= HOUR + longer + 1


def test_twelve_hours_stay_far_from_the_most_events_of_a_history() -> None:
    events_of_a_wait = 8  # a Wait's two, and at most six of a task that fails

    assert len(waits(12 * HOUR, 0.0)) * events_of_a_wait < 1_000


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


def test_a_provider_that_says_when_is_believed_within_bounds() -> None:
    assert [next_wait(None, HOUR, chance, 8) for chance in (0, 1)] == [8, 10]
    assert [next_wait(None, HOUR, chance, 60) for chance in (0, 1)] == [60, 66]
    assert next_wait(None, HOUR, 0.0, 86_400) == 900
    assert next_wait(None, 60, 0.0, 600) == 60  # nor longer than the patience is long
    assert next_wait(900, HOUR, 0.0, 2) == 510  # not before the next window
    assert next_wait(3300, HOUR, 0.0, 2) == 300  # the last try is when the patience ends
    assert next_wait(3500, HOUR, 0.0, 900) == 900  # or when the provider says
    assert next_wait(HOUR, HOUR, 1.0, 900) == 0  # after that there is none


@given(
    waited=st.none() | st.floats(0, 43_200),
    patience=st.integers(1, 43_200),
    chance=st.floats(0, 1),
    said=st.floats(0, 2_000),
)
def test_a_provider_is_not_asked_before_it_said_and_what_waits_comes_apart(
    waited: float | None, patience: int, chance: float, said: float
) -> None:
    left = patience - (waited or 0)
    assume(left > 0)
    believed = min(said, 900, patience)

    wait = next_wait(waited, patience, chance, said)

    assert wait >= believed
    assert wait >= next_wait(waited, patience, chance)  # what it says makes nothing sooner
    assert wait <= max(1.1 * believed, next_wait(waited, patience, 1)) + 1e-6


def test_many_that_are_told_the_same_do_not_come_together() -> None:
    # A provider of ten a second tells each of a thousand the same: in a tenth of a second.
    for waited in (None, 5, 60, 900):
        at = [next_wait(waited, HOUR, n / 1000, 0.1) for n in range(1000)]
        assert max(at) - min(at) >= 0.9 * 10


def test_no_patience_is_over_at_once() -> None:
    assert is_over(None, 0)
    assert not is_over(None, 1)


@pytest.mark.parametrize("name", ["AwaitProvider", "AwaitFind"])
@given(
    waited=st.none() | st.integers(0, 50_000_000),
    patience=st.integers(0, 43_200),
    chance=st.sampled_from([0.0, 0.25, 0.999]),
    said=st.none() | st.floats(0, 2_000).map(lambda value: round(value, 3)),
)
def test_the_state_machine_waits_as_the_consumer_does(
    name: str, waited: int | None, patience: int, chance: float, said: float | None
) -> None:
    state = asl.definition(asl.EXAMPLE_SUBSTITUTIONS | {"PatienceSeconds": str(patience)})
    wait = state["States"][name]
    known: dict[str, Any] = {
        "input": {
            "since": "" if waited is None else _iso(0),
            "retry_after": -1 if said is None else said,
            "rounds": 1,
            "redrives": 0,
            "failure": {},
            "unseen": "",
        },
        "context": {"State": {"EnteredTime": _iso(waited or 0)}},
    }
    seconds = None if waited is None else waited / 1000

    expected = next_wait(seconds, patience, chance, said)
    assert _evaluated(wait["Seconds"], known, chance) in (
        math.ceil(round(expected, 6)),
        math.ceil(expected),
        math.ceil(expected + 1e-6),
    )
    assert asl.evaluate(wait["Output"], **known)["over"] == is_over(seconds, patience)


def _evaluated(expression: str, states: dict[str, Any], chance: float) -> Any:
    match = asl.EXPRESSION.fullmatch(expression)
    assert match is not None
    parsed = Jsonata.jsonata(match[1].strip())
    parsed.register_lambda("random", lambda: chance)
    return parsed.evaluate(None, {"states": states})


def _iso(milliseconds: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    at = datetime.fromtimestamp((BEGIN + milliseconds) / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{(BEGIN + milliseconds) % 1000:03}Z"
