"""How far the streams are complete, by their heartbeats.

A stream's watermark is its newest heartbeat: it was handed everything up to then, by AWS's clock.
Records are complete up to the lowest watermark of the streams on which an alarm hangs. Where one of
them has none, nothing is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pipeline.audit.cache import DayCounts
from pipeline.audit.reading.listing import Listing
from pipeline.audit.reading.streams import HANDED, STANDS_FOR, WITNESSES
from pipeline.audit.times import as_text
from pipeline.errors import CannotAudit

_CLOCKS_DIFFER_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Watermarks:
    """What the heartbeats say.

    Attributes:
        of: by each stream of `HANDED`, its watermark (ms); None: it has no heartbeat on the last
            two days of which it has files, so that none of long ago speaks for what came since.
        sources: what the heartbeats say they are of; one stack's name one source.
        by_executions: nobody misses the effects.
    """

    of: Mapping[str, int | None]
    sources: frozenset[str] = frozenset()
    by_executions: bool = False

    @classmethod
    def read(
        cls, listing: Listing, counts: Mapping[date, DayCounts], *, by_executions: bool
    ) -> "Watermarks":
        """From what is cached of the days that are listed."""
        of: dict[str, int | None] = {}
        sources: set[str] = set()
        for stream in HANDED:
            days = [counts[day] for day in sorted(listing.days_of(stream))[-2:]]
            with_one = [day for day in days if stream in day.handed]
            of[stream] = max((day.handed[stream] for day in with_one), default=None)
            sources.update(*(day.sources for day in with_one))
        return cls(of, frozenset(sources), by_executions)

    @property
    def complete_until(self) -> int | None:
        """The moment (ms) before which every stream is complete; None: not known."""
        moments = [at for _, at in self._needed()]
        return None if None in moments else min(at for at in moments if at is not None)

    def standing(self, until: int) -> list[str]:
        """A sentence for each stream that is not complete until a moment (ms)."""
        return [
            f"{stream} stands still since {as_text(at)}: what came later was not judged."
            if at is not None
            else f"{stream} has no heartbeat, so it cannot be told how far it is complete."
            for stream, at in self._needed()
            if at is None or at < until
        ]

    def as_json(self) -> dict[str, str | None]:
        """For the summary: times by stream, null where none is known."""
        return {stream: None if at is None else as_text(at) for stream, at in self.of.items()}

    def check(self, before: Mapping[str, Any], written: int) -> None:
        """Check that they can be believed.

        Args:
            before: what `as_json` gave to the last audit of these records.
            written: when the newest file was (ms).

        Raises:
            CannotAudit: they cannot.
        """
        if len(self.sources) > 1:
            stacks = " and ".join(sorted(self.sources))
            raise CannotAudit(
                f"The records are of two stacks, {stacks}: keep those of each in a folder of its "
                "own."
            )
        for stream, at in self.of.items():
            if at is not None and at > written + _CLOCKS_DIFFER_MS:
                raise CannotAudit(
                    f"A heartbeat of {stream} is of {as_text(at)}, and the newest file was written "
                    f"at {as_text(written)}: a clock is wrong, or the files were restored. Give "
                    "--as-of."
                )
        for stream, now in self.as_json().items():
            then = before.get(stream)
            if now is not None and isinstance(then, str) and now < then:
                raise CannotAudit(
                    f"{stream} was complete until {then} by the last audit, and is until {now} "
                    "now: records were removed, or cannot be read. Put them back; or name another "
                    "folder with --out, and they are judged as they are."
                )

    def _needed(self) -> Iterator[tuple[str, int | None]]:
        """The streams on which an alarm hangs, and dead letters if they have a heartbeat."""
        for stream in (*WITNESSES, "dead_letters"):
            either = (stream, *STANDS_FOR.get(stream, ()))
            known = [(one, self.of[one]) for one in either if self.of[one] is not None]
            optional = stream == "dead_letters" or (self.by_executions and stream == "effects")
            if known or not optional:
                yield from known or [(stream, None)]
