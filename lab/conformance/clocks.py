"""Gives a module that reads the clock by itself the world's clock instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Any

from lab.conformance.world import World


def virtual_datetime(world: World) -> type[datetime]:
    """A `datetime` whose `now` is the wall clock of the process that asks."""

    class VirtualDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "VirtualDatetime":
            return cls.fromtimestamp(world.wall().timestamp(), tz)

    return VirtualDatetime


@contextmanager
def replaced(replacements: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Replace names in modules, and put back what was there."""
    before = {(place, name): getattr(place, name) for place, name in replacements}
    for (place, name), value in replacements.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for (place, name), value in before.items():
            setattr(place, name, value)
