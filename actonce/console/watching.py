"""How the stack is, for however many tabs: looked at while somebody looks, and not too often.

Invariant: however many pages ask, the queues' counts are asked for once in `COUNTS_EVERY` seconds
at most, and all else once in `STATUS_EVERY`. Where nobody asks, nothing is called.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

from actonce.console.rates import Rates
from actonce.operate.status import Status
from actonce.stack import aws_errors
from actonce.terminal.errors import Failed

T = TypeVar("T")

COUNTS_EVERY: Final = 15.0
"""Seconds. Three calls of GetQueueAttributes."""

STATUS_EVERY: Final = 60.0
"""Seconds. About a dozen calls."""


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """What was seen last.

    Attributes:
        value: None: nothing was seen yet.
        at: when (UTC); of the last try.
        error: why the last try failed; the value is of the one before.
    """

    value: T | None
    at: datetime
    error: str | None


class Seldom(Generic[T]):
    """Something that is looked at once in `every` seconds at most, whoever asks.

    Args:
        look: looks at it.
        every: seconds.
        clock: seconds, as of `time.monotonic`.
    """

    def __init__(
        self,
        look: Callable[[], T],
        every: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._every = every
        self._clock = clock
        self._looking = threading.Lock()
        self._looked: float | None = None
        self._seen: Seen[T] = Seen(None, datetime.now(UTC), None)

    def seen(self) -> Seen[T]:
        """What there is, after a look where one is due; who asks meanwhile waits for that one."""
        with self._looking:
            now = self._clock()
            if self._looked is None or now - self._looked >= self._every:
                self._seen = self._now()
                self._looked = now
            return self._seen

    def forget(self) -> None:
        """Have the next who asks look: something was changed."""
        with self._looking:
            self._looked = None

    def _now(self) -> Seen[T]:
        at = datetime.now(UTC)
        try:
            return Seen(self._look(), at, None)
        except Exception as error:  # noqa: BLE001 - told in the page; the rest of it goes on
            return Seen(self._seen.value, at, told(error))


def told(error: Exception) -> str:
    """An error in one sentence, for a page."""
    if isinstance(error, Failed):
        return str(error)
    return aws_errors.told_of(error) or f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched: the queues' numbers, the whole stack, and the rates.

    Attributes:
        counts: messages in RequestsQueue, UnstartedQueue and DeadLetterQueue, in flight or not.
    """

    counts: Seldom[dict[str, int]]
    status: Seldom[Status]
    rates: Seldom[Rates]
