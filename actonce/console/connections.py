"""The connections to the console: few, and idle ones make room for new ones.

Otherwise whoever can open connections could use up the files that the process may have open, and
lock everybody out, calls to AWS included.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST: Final = 16
"""Of all browsers together; each opens six at most."""


class Connection(H11Protocol):
    """One of `MOST`: a new one takes the place of what has waited longest for its client."""

    waits_since = 0.0
    """Seconds, by the loop's clock."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self.waits_since = self.loop.time()
        others = [one for one in self.connections if isinstance(one, Connection)]
        still_open = [one for one in others if not one.transport.is_closing()]
        if len(still_open) > MOST:
            waiting = [one for one in still_open if one.waits]
            min(waiting, key=lambda one: one.waits_since).transport.abort()

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().pause_writing()
        self.waits_since = self.loop.time()

    def on_response_complete(self) -> None:
        """Called after each answer."""
        super().on_response_complete()
        self.waits_since = self.loop.time()

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: to send a request, or the rest of it, or to read."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self.flow.write_paused:
            return True
        return cycle.more_body
