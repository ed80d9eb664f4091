"""What is asked of AWS for however many tabs, and not too often."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from actonce.stack.aws_errors import error_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cached(Generic[T]):
    """What was found last.

    Attributes:
        value: None: nothing was found yet.
        at: when it was last asked for (UTC).
        error: why that failed; the value is of the time before. None: it did not.
    """

    value: T | None
    at: datetime
    error: str | None


class Cache(Generic[T]):
    """Something that is asked for once in `seconds` at most, and only while somebody wants it.

    Args:
        ask: asks for it.
        seconds: for which it is kept.
        clock: seconds, as of `time.monotonic`.
    """

    def __init__(
        self, ask: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: float | None = None
        self._cached: Cached[T] = Cached(None, datetime.now(UTC), None)

    def get(self) -> Cached[T]:
        """What is known, after asking where it is too old; who comes meanwhile waits for that."""
        with self._lock:
            now = self._clock()
            if self._asked_at is None or now - self._asked_at >= self._seconds:
                self._asked_at = now
                at = datetime.now(UTC)
                try:
                    self._cached = Cached(self._ask(), at, None)
                except Exception as error:  # noqa: BLE001 - told in the page; the rest goes on
                    self._cached = Cached(self._cached.value, at, error_text(error))
            return self._cached

    def expire(self) -> None:
        """Have the next who wants it ask: something was changed."""
        with self._lock:
            self._asked_at = None
