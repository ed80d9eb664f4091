"""How long an invocation may act: as long as the execution that asked for it has assumed.

An execution keeps the definition that it was started with, and with it the wait for a straggler.
The function is whatever is deployed now. So the definition says in each request what it assumes
(`allowed_seconds`), and an invocation to which Lambda would give more ends its process in time.

    invocation  ├─ cold start ─┼─ allowed ─┤ ends itself
    Lambda      ├─ cold start ─┼──────────────────── time-out by now ─┤ would end it
    execution   ├─ waits: allowed, and the margin ─┤ looks it up

Durations are compared, no moments of two machines. Lambda's runtime works the remaining time out
from Lambda's clock and its own; were they apart, an invocation could only get less.
"""

import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_STANDARD_ERROR = 2


class Context(Protocol):
    """What is needed of Lambda's context object."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""


class TimeNotKnown(Exception):
    """What the function lacks to know how long it may act, in words for who writes it."""


EndProcessIn = Callable[[float | None], None]
"""Has the process ended in so many seconds; None: not any more."""


def seconds_left(allowed: float, configured: float | None, remaining: float | None) -> float | None:
    """Seconds after which the process has to end by itself; None where Lambda ends it soon enough.

    Args:
        allowed: seconds that the execution assumes an invocation to take at most.
        configured: seconds of the function's time-out; None: not known.
        remaining: seconds until Lambda ends this invocation; None: not known.

    Returns:
        Zero or less: the time was over before it began. Lambda repeats a cold start that took more
        than 10 s within the invocation's own time.

    Raises:
        TimeNotKnown: Lambda may give more than is allowed, and how long the invocation has been at
            work cannot be told.
    """
    if configured is None:
        raise TimeNotKnown("EFFECT_TIMEOUT_SECONDS is not set to the function's time-out")
    if remaining is None:
        if configured <= allowed:
            return None
        raise TimeNotKnown("the handler does not hand Lambda's context on to `answer`")
    if remaining > configured:
        # Raised by hand. It began a cold start of at most 10 s ago, for which the straggler's
        # margin has room.
        return allowed
    if configured <= allowed:
        return None
    return allowed - (configured - remaining)


def seconds_left_of(event: dict[str, Any], context: Context | None) -> float | None:
    """See `seconds_left`; None, too, for an execution that does not say what it assumes.

    Raises:
        ValueError: what it says is no number.
        TimeNotKnown: see `seconds_left`.
    """
    allowed = event.get("allowed_seconds")
    if allowed is None:
        return None
    if isinstance(allowed, bool) or not isinstance(allowed, int | float):
        raise ValueError(f"event: 'allowed_seconds' is {allowed!r}, expected a number")
    # The function's time-out as the template has it; Lambda changes the two together.
    configured = os.environ.get("EFFECT_TIMEOUT_SECONDS")
    return seconds_left(
        allowed,
        float(configured) if configured else None,
        context.get_remaining_time_in_millis() / 1000 if context is not None else None,
    )


@contextmanager
def ends_in(seconds: float | None, end_process_in: EndProcessIn) -> Iterator[None]:
    """Let what is inside go on for so long at most, or as long as it wants with None."""
    if seconds is None:
        yield
        return
    end_process_in(seconds)
    try:
        yield
    finally:
        end_process_in(None)


def end_process_in(seconds: float | None) -> None:
    """See `EndProcessIn`; ends the process whatever its threads do, C code included.

    Two timers, for each has a case in which it does nothing. The kernel's alarm ends the process
    without any code of it, and one that stood still before it goes on; but an effect may use the
    alarm itself, and to a container's first process it means nothing. The watchdog is a thread
    without the interpreter's lock; but a process that stood still may be quicker than it.
    """
    if seconds is None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        return
    # Ends it with status 1, and a traceback of where it was, without values.
    faulthandler.dump_traceback_later(seconds, exit=True, file=_STANDARD_ERROR)
    signal.setitimer(signal.ITIMER_REAL, seconds)
