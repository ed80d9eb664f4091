"""docs/conformance.md is what the suite finds today, and this project's ways keep their promises.

All the schedules of the published table take some six minutes of a core. The long tests walk the
ways without a lease; `make test-table` walks the others, and compares the whole page.
"""

from functools import cache

import pytest

from lab.conformance import page, stepfunctions, suite
from lab.conformance.hazards import scenario
from lab.conformance.stage import Way
from lab.conformance.trial import Trial, run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.known import WAYS
from lab.conformance.ways.step_functions import STEP_FUNCTIONS

AS_IT_SHIPS = (
    "step-functions",
    "ledger-fenced",
    "ledger-worker-fenced",
    "lease-fenced",
    "lease-worker-fenced",
)


@cache
def _trials(way: Way) -> list[Trial]:
    return [run_trial(way, hazard) for one, hazard in suite.published() if one is way]


QUICK = ("ledger", "naive-ledger")
"""Ways whose schedules are few."""

LONG = (
    "step-functions",
    "step-functions-fifo",
    "ledger-fenced",
    "ledger-fenced-fifo",
    "ledger-worker-fenced",
    "powertools",
    "powertools-best",
)
"""Ways that the long tests walk; the others, `make test-table`."""


def _marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    if name in QUICK:
        return ()
    return (pytest.mark.long if name in LONG else pytest.mark.table,)


@pytest.mark.parametrize(
    "way", [pytest.param(way, id=way.name, marks=_marks(way.name)) for way in WAYS]
)
def test_a_ways_section_is_what_the_suite_finds(way: Way) -> None:
    trials = _trials(way)

    assert all(trial.is_complete for trial in trials)
    assert page.section(way, trials) in page.PAGE.read_text(), "run: actonce conformance --write"


@pytest.mark.table
def test_the_whole_page_is_what_the_suite_finds() -> None:
    trials = [trial for way in WAYS for trial in _trials(way)]

    assert page.render(trials) == page.PAGE.read_text(), "run: actonce conformance --write"


@pytest.mark.table
def test_a_cell_is_read_from_the_page_as_the_suite_found_it() -> None:
    cells = page.cells(page.PAGE.read_text())

    assert set(cells) == {(way.name, hazard.name) for way, hazard in suite.published()}
    for way in WAYS:
        for trial in _trials(way):
            cell = cells[trial.way, trial.scenario]
            assert cell.ends == {verdict.kind for verdict in trial.counts}
            assert cell.worst.kind == trial.worst.kind
            if trial.worst.kind == Kind.SURVIVED:
                assert cell.worst == trial.worst


def test_a_page_that_is_not_ours_is_not_read() -> None:
    with pytest.raises(ValueError, match="no row of a way's table"):
        page.cells("`--way none`\n| something else | survived | | | | 1 | 1 |")


@pytest.mark.table
def test_no_way_of_ours_does_worse_than_its_page_says_nor_better() -> None:
    assert suite.surprises(trial for way in WAYS for trial in _trials(way)) == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in AS_IT_SHIPS])
def test_what_ships_never_acts_twice_and_loses_nothing(name: str) -> None:
    (way,) = (one for one in WAYS if one.name == name)

    assert not way.cannot
    assert {trial.worst.kind for trial in _trials(way)} <= {Kind.SURVIVED, Kind.PARKED}


@pytest.mark.table
def test_only_what_a_person_must_decide_is_kept_for_a_person() -> None:
    needs_a_person = {
        trial.scenario
        for way in WAYS
        if way.is_ours and way.name != "ledger-idempotent-blind"  # it asks whenever it is unsure
        for trial in _trials(way)
        if trial.worst.kind == Kind.PARKED
    }

    assert needs_a_person == {
        "another-memory",
        "conflict",
        "poison",
        "given-up",
        "closed",
        "unclear",  # and nothing could be looked up, either
        "not-looked-up",  # likewise: no function is named for it
        "no-clear-yes",  # that it never will perform
        "cold-start",  # no invocation begins in its time
        "resend-91-days",
        "short-history",
        "deployed-between",  # two rounds, as what is deployed allows, each with a crash
        "provider-gone",  # for longer than the patience
        "find-down",  # likewise
        "unheard",  # three attempts of which nobody knows
        "aborted-redriven",  # or nobody redrives it
        "any-two",  # likewise
        "any-and-memory",
        "texts",
        "row-of-before",  # where a ledger has taken the place of what wrote it
    }


def test_what_was_aborted_waits_for_a_person_only_until_it_is_redriven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stepfunctions, "REDRIVEN_AFTER", (0, 60_000))
    aborted = scenario("aborted-redriven")
    assert aborted is not None

    assert run_trial(STEP_FUNCTIONS, aborted).worst.kind == Kind.SURVIVED


def test_a_way_that_breaks_its_promise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    (naive,) = (one for one in WAYS if one.name == "naive-ledger")
    trial = next(one for one in _trials(naive) if one.worst.kind == Kind.TWICE)
    monkeypatch.setattr(suite, "WAYS", (_as_ours(naive),))

    assert suite.surprises([trial]) == [
        "naive-ledger against twice-at-once: twice, and its page promises better."
    ]


def _as_ours(way: Way) -> Way:
    return Way(way.name, way.title, way.build, is_ours=True)


def test_only_what_ships_is_tried_against_any_two_hazards_in_the_page() -> None:
    tried = {way.name for way, hazard in suite.published() if hazard.name == "any-two"}

    assert tried == set(AS_IT_SHIPS)
