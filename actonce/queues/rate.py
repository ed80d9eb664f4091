"""Not faster than so many messages a second."""

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Lets messages through evenly, from several threads.

    Invariant: in any span of `s` seconds no more than `rate * s` messages plus one batch.

    Args:
        rate: messages a second; None: as many as possible.
        sleep: waits so many seconds; true if everything is being stopped.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        rate: float | None,
        sleep: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._between = 1 / rate if rate else 0.0
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = clock()

    def wait(self, messages: int = 1) -> bool:
        """Wait until these messages may go; False: they may not, everything is being stopped."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free_at)
            self._free_at = turn + messages * self._between
        return not self._sleep(turn - now)
