"""Where a run's time goes: what it says it is doing is what the time is put down to."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Say = Callable[[str], None]


@dataclass(slots=True)
class Timings:
    """A stopwatch that stands between a run and whoever it tells what it does.

    Invariant: the seconds of all phases add up to the time since the first was begun.

    Attributes:
        phases: (what was said, seconds), in order; the last is still growing.
    """

    tell: Say
    clock: Callable[[], float] = time.monotonic
    phases: list[tuple[str, float]] = field(default_factory=list)
    _since: float = 0.0

    def say(self, text: str) -> None:
        """Pass it on, and begin a phase of that name."""
        self._end_phase()
        self.phases.append((text, 0.0))
        self.tell(text)

    def done(self) -> list[tuple[str, float]]:
        """The phases, the last one ended now."""
        self._end_phase()
        return self.phases

    def _end_phase(self) -> None:
        now = self.clock()
        if self.phases:
            text, seconds = self.phases[-1]
            self.phases[-1] = (text, seconds + now - self._since)
        self._since = now
