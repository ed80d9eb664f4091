"""How far the records are complete: what the streams' heartbeats say, and what follows from them.

A stream's watermark is its newest heartbeat: it was handed everything up to then, by AWS's clock.
Records are complete up to the lowest of those on which an alarm hangs. Where one of them has none,
nothing is known, and silence is measured by when files were written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from pipeline.audit.cache import Counted
from pipeline.audit.reading.listing import Listing
from pipeline.audit.reading.streams import HANDED, STANDS_FOR, WITNESSES
from pipeline.errors import CannotAudit

_CLOCKS_DIFFER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Watermarks:
    """What the heartbeats say.

    Attributes:
        of: by each stream of `HANDED`, its watermark (ms); None: it has no heartbeat on the last
            two days of which it has files, so that none of long ago speaks for what came since.
        sources: what those heartbeats say to be of; one stack's name one.
        by_executions: nobody misses the effects.
    """

    of: Mapping[str, int | None]
    sources: frozenset[str] = frozenset()
    by_executions: bool = False

    @classmethod
    def read(
        cls, listing: Listing, counted: Mapping[date, Counted], *, by_executions: bool
    ) -> "Watermarks":
        """From what is cached of the days that are listed."""
        of: dict[str, int | None] = {}
        sources: set[str] = set()
        for stream in HANDED:
            days = [counted[day] for day in sorted(listing.days_of(stream))[-2:]]
            told = [day for day in days if stream in day.handed]
            of[stream] = max((day.handed[stream] for day in told), default=None)
            sources.update(*(day.sources for day in told))
        return cls(of, frozenset(sources), by_executions)

    @property
    def complete_until(self) -> int | None:
        """The moment (ms) before which every stream tells everything; None: not known."""
        told = [at for _, at in self._needed()]
        return None if None in told else min(at for at in told if at is not None)

    def standing(self, until: int) -> list[str]:
        """The streams that are not complete until a moment (ms), a sentence each."""
        return [
            f"{stream} stands still since {moment(at)}: what came later was not judged."
            if at is not None
            else f"{stream} has no heartbeat, so it cannot be told how far it is complete."
            for stream, at in self._needed()
            if at is None or at < until
        ]

    def told(self) -> dict[str, str | None]:
        """For the summary: times by stream, null where none is known."""
        return {stream: None if at is None else moment(at) for stream, at in self.of.items()}

    def check(self, before: Mapping[str, Any], written: datetime) -> None:
        """Whether they can be believed.

        Args:
            before: what `told` gave to the last audit of these records.
            written: when the newest file was.

        Raises:
            CannotAudit: they cannot.
        """
        if len(self.sources) > 1:
            told = " and ".join(sorted(self.sources))
            raise CannotAudit(
                f"The records are of two stacks, {told}: keep each stack's in a folder of its own."
            )
        latest = int((written + _CLOCKS_DIFFER).timestamp() * 1000)
        for stream, at in self.of.items():
            if at is not None and at > latest:
                raise CannotAudit(
                    f"A heartbeat of {stream} is of {moment(at)}, and the newest file was written "
                    f"at {moment(int(written.timestamp() * 1000))}: a clock is wrong, or the files "
                    "were restored. Give --as-of."
                )
        for stream, now in self.told().items():
            then = before.get(stream)
            if now is not None and isinstance(then, str) and now < then:
                raise CannotAudit(
                    f"{stream} was complete until {then} by the last audit, and is until {now} "
                    "now: records were removed, or cannot be read. Put them back; or name another "
                    "folder with --out, and they are judged as they are."
                )

    def _needed(self) -> Iterator[tuple[str, int | None]]:
        """The streams on which an alarm hangs, and dead letters if they tell."""
        for stream in (*WITNESSES, "dead_letters"):
            either = (stream, *STANDS_FOR.get(stream, ()))
            told = [(one, self.of[one]) for one in either if self.of[one] is not None]
            optional = stream == "dead_letters" or (self.by_executions and stream == "effects")
            if told or not optional:
                yield from told or [(stream, None)]


def moment(ms: int) -> str:
    """As records write a time."""
    told = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")
