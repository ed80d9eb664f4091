"""Stands between a client and the embedded AWS, and fails as a service or a network does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from lab.faults.proxy import Answered, Forwarded, Request, proxy_before

_THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
LATE_SECONDS = 2.0
"""Less than the functions' SDK waits for an answer."""


@dataclass(slots=True)
class Disturbance:
    """What goes wrong with the requests that come from now on.

    Attributes:
        how: `refused`, nothing is done; `lost`, it is done, and the connection closes unanswered;
            `late`, it is done, and the answer comes `LATE_SECONDS` later.
        number: of the request, from 1, that it begins with.
        times: requests, one after the other, that it befalls; the SDK's repeats count.
        requests: how many there were.
    """

    how: Literal["refused", "lost", "late"]
    number: int
    times: int
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def befalls_next(self) -> bool:
        """Count a request, and say whether it is disturbed."""
        with self._lock:
            self.requests += 1
            return 0 <= self.requests - self.number < self.times

    def meet(self, _: Request) -> Forwarded | Answered:
        """What the next request meets."""
        if not self.befalls_next():
            return Forwarded()
        if self.how == "refused":
            return Answered(400, _THROTTLED)
        if self.how == "lost":
            return Forwarded(is_lost=True)
        return Forwarded(late_seconds=LATE_SECONDS)


@dataclass(slots=True)
class LossyProxy:
    """Forwards requests; `disturbance` says which of them go wrong."""

    disturbance: Disturbance = field(default_factory=lambda: Disturbance("refused", 0, 0))
    url: str = ""


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """A proxy on loopback in front of an endpoint URL, while the context is open."""
    proxy = LossyProxy()

    def meet(request: Request) -> Forwarded | Answered:
        return proxy.disturbance.meet(request)  # whichever it is by then

    with proxy_before(target, meet) as proxy.url:
        yield proxy
