"""The example's effect, as it ships, behind each way."""

import pytest

from appointments import AppointmentBook
from lab.conformance import suite
from lab.conformance.hazards import SCENARIOS, scenario
from lab.conformance.stage import Way
from lab.conformance.trial import run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.example import booking
from lab.conformance.ways.locks import LEASE_WAYS, LEDGER_WAYS
from lab.conformance.ways.plain import NONE
from lab.conformance.ways.step_functions import STEP_FUNCTIONS


@pytest.mark.table
@pytest.mark.parametrize(
    "way", [STEP_FUNCTIONS, LEDGER_WAYS[0], LEASE_WAYS[0]], ids=lambda way: way.name
)
def test_it_is_booked_once_whatever_goes_wrong(way: Way) -> None:
    behind = booking(way)
    for hazard in SCENARIOS:
        if hazard.ways is None and suite.is_published(behind, hazard):
            assert run_trial(behind, hazard).is_promise_kept, hazard.name


def test_it_is_booked_once_though_a_process_dies() -> None:
    found = scenario("crash")
    assert found is not None

    assert run_trial(booking(STEP_FUNCTIONS), found).worst.kind == Kind.SURVIVED


def test_without_a_way_it_is_booked_twice() -> None:
    found = scenario("twice-at-once")
    assert found is not None

    assert run_trial(booking(NONE), found).worst.kind == Kind.TWICE


def test_a_book_that_does_not_check_the_fence_lets_a_zombie_book(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = scenario("zombie")
    assert found is not None
    monkeypatch.setattr(
        AppointmentBook, "perform_fenced", lambda self, request, _: self.perform(request)
    )

    assert run_trial(booking(LEASE_WAYS[0]), found).worst.kind == Kind.TWICE
