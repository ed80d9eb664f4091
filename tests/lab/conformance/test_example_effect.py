"""The example's effect, as it ships, behind each way, on the tables in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import pytest

import appointments
from appointments import AppointmentBook
from lab.conformance.clocks import virtual_datetime
from lab.conformance.hazards import find_scenario
from lab.conformance.simulated_stack import APPOINTMENTS_TABLE, StrategyUnderTest
from lab.conformance.strategies.lease import LEASE_FENCED, LEASE_WAY
from lab.conformance.strategies.plain import NONE
from lab.conformance.strategies.step_functions import STEP_FUNCTIONS
from lab.conformance.trial import run_trial
from lab.conformance.verdict import Kind
from lab.conformance.world import World

# Those that ask nothing of the effect: it knows no hazard of its own.
HAZARDS = (
    *("twice-at-once", "again-later", "resend-5-minutes", "resend-later", "resend-91-days"),
    *("short-history", "crash", "zombie", "clock-behind", "conflict", "services-fail"),
    "group-order",
)


def _worst(way: StrategyUnderTest, hazard: str) -> Kind:
    """Of the way with that effect: what can go wrong with it is what can with DynamoDB."""

    @contextmanager
    def installed(world: World) -> Iterator[None]:
        clock, ids = virtual_datetime(world), SimpleNamespace(uuid4=world.new_id)
        with way.installed(world), patch.multiple(appointments, datetime=clock, uuid=ids):
            yield

    booking = replace(
        way,
        effect=lambda dynamodb: AppointmentBook(dynamodb, APPOINTMENTS_TABLE),
        installed=installed,
    )
    return run_trial(booking, find_scenario(hazard)).worst.kind


@pytest.mark.table
@pytest.mark.parametrize("way", [STEP_FUNCTIONS, LEASE_FENCED], ids=lambda way: way.name)
def test_it_is_booked_once_whatever_goes_wrong(way: StrategyUnderTest) -> None:
    for hazard in HAZARDS:
        assert _worst(way, hazard) in (Kind.SURVIVED, Kind.PARKED), hazard


def test_it_is_booked_once_though_a_process_dies_and_twice_without_a_way() -> None:
    assert _worst(STEP_FUNCTIONS, "crash") == Kind.SURVIVED
    assert _worst(NONE, "twice-at-once") == Kind.TWICE


@pytest.mark.long
def test_a_book_that_does_not_check_the_fence_lets_a_zombie_book() -> None:
    assert _worst(LEASE_WAY, "zombie") == Kind.TWICE
