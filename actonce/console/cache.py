"""Asks AWS for something for however many tabs, and not too often."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from actonce.stack.aws_errors import error_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cached(Generic[T]):
    """The last answer.

    Attributes:
        value: None: there is none yet.
        at: when AWS was asked for it (UTC).
        error: why that failed; the value is then the answer before. None: it did not.
    """

    value: T | None
    at: datetime
    error: str | None


class Cache(Generic[T]):
    """A value that is asked for once in `seconds` at most, and only when a page needs it.

    Args:
        ask: asks for it.
        seconds: for which it is kept.
        clock: seconds, like `time.monotonic`.
    """

    def __init__(
        self, ask: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._refreshed_at: float | None = None
        self._cached: Cached[T] = Cached(None, datetime.now(UTC), None)

    def get(self) -> Cached[T]:
        """The value, asked for again if it is too old; other callers wait meanwhile."""
        with self._lock:
            now = self._clock()
            if self._refreshed_at is None or now - self._refreshed_at >= self._seconds:
                self._refreshed_at = now
                at = datetime.now(UTC)
                try:
                    self._cached = Cached(self._ask(), at, None)
                except Exception as error:  # noqa: BLE001 - the page shows it
                    self._cached = replace(self._cached, error=error_text(error))
            return self._cached

    def expire(self) -> None:
        """Have the next `get` ask: something was changed."""
        with self._lock:
            self._refreshed_at = None
