"""Starting no more than so many messages a second, without asking anybody.

Every starter keeps to its share, StartsPerSecond / MaximumConcurrency: the event source mapping
has no more of them at work than that. An invocation waits *before* each start, the first one
included, so that whichever process it runs in, however long that slept, so many starts take their
whole time. What lies between two invocations (to answer, to be called) would be lost; a process
makes up for it by waiting less, a twentieth less at most.

    invocation   │── wait ──S── wait ──S── wait ──S│ answer │─ wait ─S─ wait ─S── wait ──S│
                 └─────────  3 intervals ──────────┘        └ made up for, bit by bit ┘
"""

import threading
import time
from collections.abc import Callable

from actonce_core.patience import ANSWER_SECONDS, CALL_SECONDS

CREDIT = 0.05
"""Share of each interval that may be left out to make up for the pause before the invocation.

Another process may have been at work in that pause, so this is what the pace may be exceeded by.
"""

_AFTER_THE_WAIT = CALL_SECONDS + ANSWER_SECONDS + 1


class NotItsTurn(Exception):
    """Its turn comes after this invocation's end; `comes_back_after` says when, in seconds."""

    def __init__(self, comes_back_after: float) -> None:
        super().__init__(f"its turn comes in {comes_back_after:.1f} s")
        self.comes_back_after = comes_back_after


class Pace:
    """One starter's share, kept by its own clock.

    Args:
        per_second: starts of this starter.
        seconds_left: of the invocation; None where nobody says.
        monotonic: seconds.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        per_second: float,
        seconds_left: Callable[[], float | None],
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1 / per_second
        self._seconds_left = seconds_left
        self._monotonic = monotonic
        self._sleep = sleep
        self._turns = threading.Lock()
        self._last = monotonic()
        self._behind = 0.0

    def begin(self, deliveries: int) -> None:
        """An invocation begins with so many deliveries.

        Raises:
            ValueError: it is too short for even one turn, and so is every other one.
        """
        left = self._seconds_left()
        if left is not None and self._interval > left - _AFTER_THE_WAIT:
            raise ValueError(
                f"StartsPerSecond leaves each starter one start in {self._interval:g} s, and it "
                f"has {max(left - _AFTER_THE_WAIT, 0):.0f} s: lower MaximumConcurrency, or raise "
                "StarterTimeoutSeconds."
            )
        with self._turns:
            now = self._monotonic()
            pause = max(now - self._last, 0.0)
            self._behind = min(pause, CREDIT * self._interval * deliveries)
            self._last = max(self._last, now)

    def hold(self) -> None:
        """Wait for one's turn.

        Raises:
            NotItsTurn: it comes too late for this invocation; nothing was waited for.
        """
        with self._turns:
            now = self._monotonic()
            made_up = min(self._behind, CREDIT * self._interval)
            turn = max(self._last + self._interval - made_up, now)
            left = self._seconds_left()
            if left is not None and turn - now > left - _AFTER_THE_WAIT:
                raise NotItsTurn(turn - now)
            self._behind -= made_up
            self._last = turn
        if turn > now:
            self._sleep(turn - now)
