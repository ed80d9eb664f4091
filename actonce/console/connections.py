"""The connections to the console: few, and none on which nobody comes to the end of asking.

Whoever can open a connection could otherwise hold all the files that the process may have open, and
lock everybody out, calls of AWS too.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST: Final = 16
"""Of all browsers together; one of them opens six at most."""

SLOWEST_SECONDS = 10.0
"""For a whole request, and for reading on in the answer. An answer may take any time to come."""


class Connection(H11Protocol):
    """One of `MOST`: a new one takes the place of what has waited longest for its client."""

    waits_since = 0.0
    """Seconds, by the loop's clock."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._wait()
        others = [one for one in self.connections if isinstance(one, Connection)]
        still_open = [one for one in others if not one.transport.is_closing()]
        if len(still_open) > MOST:
            waiting = [one for one in still_open if one.waits]
            min(waiting, key=lambda one: one.waits_since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().pause_writing()
        self._wait()

    def on_response_complete(self) -> None:
        """Called after each answer."""
        super().on_response_complete()
        self._wait()

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: to ask, or to read."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self.flow.write_paused:
            return True
        return cycle.more_body

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.waits_since = self.loop.time()
        self._timer = self.loop.call_later(SLOWEST_SECONDS, self._end_if_it_waits)

    def _end_if_it_waits(self) -> None:
        if self.waits:
            self.transport.abort()
