"""The world's clock, for a module that reads `datetime`."""

from datetime import datetime, tzinfo

from lab.conformance.world import World


def virtual_datetime(world: World) -> type[datetime]:
    """A `datetime` whose `now` is the calling process's wall clock."""

    class VirtualDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "VirtualDatetime":
            return cls.fromtimestamp(world.wall().timestamp(), tz)

    return VirtualDatetime
