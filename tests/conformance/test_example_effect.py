"""The example's effect, as it ships: what is in the page is no accident."""

import pytest

from appointments import AppointmentBook
from lab.conformance.hazards import scenario
from lab.conformance.trial import run_trial
from lab.conformance.verdict import Kind
from lab.conformance.ways.example import booking
from lab.conformance.ways.locks import LEASE_WAYS
from lab.conformance.ways.plain import NONE


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
