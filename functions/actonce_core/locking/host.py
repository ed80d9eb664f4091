"""What a consumer's own machine gives it."""

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Host:
    """A machine's clocks and ids.

    Attributes:
        clock: the wall clock, which differs from machine to machine.
        monotonic: seconds, for durations on this machine.
        sleep: waits so many seconds.
        new_id: an id that nobody else has.
        chance: a number from 0 to 1, for jitter.
    """

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    chance: Callable[[], float] = random.random
