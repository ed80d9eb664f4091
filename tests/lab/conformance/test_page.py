"""What docs/conformance.md says is what the suite finds today, and our ways keep their promises.

All the schedules take some ten minutes of a core. `make test` walks what ships, but for the hazards
that take longest; the long tests, the ways without a lease; `make test-table`, the others.
"""

from collections.abc import Set as AbstractSet

import pytest

from lab.conformance import found, page, stepfunctions, suite
from lab.conformance.hazards import find_scenario
from lab.conformance.simulated_stack import StrategyUnderTest
from lab.conformance.strategies.known import WAYS, find_way
from lab.conformance.strategies.plain import NONE
from lab.conformance.strategies.step_functions import STEP_FUNCTIONS
from lab.conformance.trial import run_trial
from lab.conformance.verdict import Kind

AS_IT_SHIPS = {"step-functions", "on-trouble", "lease-fenced"}

SLOW = {
    *("any-two", "any-and-memory", "another-memory", "down-and-twice", "earlier-starter"),
    *("find-down", "given-up", "long-effect", "mended-by-deploying", "provider-gone"),
    *("aborted-redriven", "retimed", "switched", "told-by-a-person", "unclear", "deployed-between"),
}
"""Hazards that take seconds of what ships: the long tests have them."""

LONG = (
    "step-functions",
    "step-functions-fifo",
    "on-trouble",
    "on-trouble-fifo",
    "ledger",
    "powertools",
    "powertools-best",
)
"""Ways that the long tests walk; the others, `make test-table`."""


def _found_anew(way: StrategyUnderTest, left_out: AbstractSet[str] = frozenset()) -> None:
    trials = [
        run_trial(way, hazard)
        for one, hazard in suite.published()
        if one is way and hazard.name not in left_out
    ]
    expected = found.read()
    assert suite.surprises(trials) == []
    for trial in trials:
        name = trial.way, trial.scenario
        assert trial == expected[name], "run: python -m lab.conformance --write"


@pytest.mark.parametrize("name", sorted(AS_IT_SHIPS))
def test_what_ships_ends_as_the_page_says(name: str) -> None:
    _found_anew(find_way(name), SLOW)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(
            way, id=way.name, marks=pytest.mark.long if way.name in LONG else pytest.mark.table
        )
        for way in WAYS
    ],
)
def test_each_cell_is_what_the_suite_finds_and_no_worse_than_is_promised(
    way: StrategyUnderTest,
) -> None:
    _found_anew(way)


def test_the_page_is_made_of_what_the_suite_found() -> None:
    cells = found.read()
    text = page.PAGE.read_text()
    columns = {name for _, ways in (*page.RIVALS, *page.OURS) for name in ways}

    assert set(cells) == {(way.name, hazard.name) for way, hazard in suite.published()}
    assert columns == {way.name for way in WAYS}
    assert page.render(cells) == text, "run: python -m lab.conformance --write"


def test_what_ships_never_acts_twice_and_loses_nothing() -> None:
    cells = found.read()
    cannot = {(name, hazard) for name in AS_IT_SHIPS for hazard in find_way(name).cannot}
    promised = [pair for pair in cells if pair[0] in AS_IT_SHIPS and pair not in cannot]

    assert cannot == {("on-trouble", "restored")}
    assert {cells[pair].worst.kind for pair in promised} == {Kind.SURVIVED, Kind.PARKED}
    assert {way for way, hazard in cells if hazard == "any-two"} == AS_IT_SHIPS


def test_only_what_a_person_must_decide_is_kept_for_a_person() -> None:
    is_ours = {way.name for way in WAYS if way.is_ours}
    needs_a_person = {
        hazard
        for (way, hazard), cell in found.read().items()
        if way in is_ours and cell.worst.kind == Kind.PARKED
    }

    assert needs_a_person == {
        "another-memory",
        "conflict",
        "poison",
        "given-up",
        "closed",
        "unclear",  # and nothing could be looked up, either
        "not-looked-up",  # likewise: no function is named for it
        "resend-91-days",
        "short-history",
        "deployed-between",  # two rounds, as what is deployed allows, each with a crash
        "provider-gone",  # for longer than the retries
        "find-down",  # likewise
        "aborted-redriven",  # or nobody redrives it
        "mended-by-deploying",  # likewise
        "told-by-a-person",  # likewise
        "any-two",  # likewise
        "any-and-memory",
        "earlier-starter",  # which cannot know what a row of a first attempt says
    }


def test_what_was_aborted_waits_for_a_person_only_until_it_is_redriven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stepfunctions, "REDRIVEN_AFTER", (0, 60_000))

    assert run_trial(STEP_FUNCTIONS, find_scenario("aborted-redriven")).worst.kind == Kind.SURVIVED


def test_a_way_that_breaks_its_promise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    duplicate = find_scenario("twice-at-once")
    promising = StrategyUnderTest(NONE.name, NONE.title, NONE.build, is_ours=True)
    monkeypatch.setattr(suite, "WAYS", (promising,))

    assert suite.surprises([run_trial(promising, duplicate)]) == [
        "none against twice-at-once: twice, and its page promises better."
    ]
