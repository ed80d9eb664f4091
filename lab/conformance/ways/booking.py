"""The example's effect behind a way: the appointments book that ships, on the tables in memory.

It knows no hazard of its own. What can go wrong with it is what can with DynamoDB, between its two
writes too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import appointments
from actonce_core.effect import Effect
from lab.conformance.clocks import replaced, virtual_datetime
from lab.conformance.stage import APPOINTMENTS_TABLE, Stage, Way
from lab.conformance.world import World


def booking(way: Way) -> Way:
    """The way, with the example's effect."""

    @contextmanager
    def installed(world: World) -> Iterator[None]:
        names = {
            (appointments, "datetime"): virtual_datetime(world),
            (appointments, "uuid"): SimpleNamespace(uuid4=world.new_id),
        }
        with way.installed(world), replaced(names):
            yield

    return replace(
        way,
        name=f"{way.name}-booking",
        title=f"{way.title}, the example's effect",
        effect=_book,
        cannot={},  # it checks the fence
        installed=installed,
    )


def _book(stage: Stage) -> Effect:
    return appointments.AppointmentBook(stage.dynamodb, APPOINTMENTS_TABLE)
