"""The world's clock for a module that reads the clock by itself."""

from datetime import datetime, tzinfo

from lab.conformance.world import World


def virtual_datetime(world: World) -> type[datetime]:
    """A `datetime` whose `now` is the wall clock of the process that asks."""

    class VirtualDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "VirtualDatetime":
            return cls.fromtimestamp(world.wall().timestamp(), tz)

    return VirtualDatetime
