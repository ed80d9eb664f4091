"""What waits and tries again inside an invocation, and how long there is for it.

Throttling, a service's failure and a lost answer are weather: they pass by themselves, and each
call of the starter may be repeated (the row is written once, the execution's name is taken once).
So a call is tried again, with full jitter, for as long as the invocation lasts; and no call is
begun that could outlast it, so that one slow delivery does not take its neighbours' answer along.

The SDK's own repeats are switched off where this is used: they count attempts, and know no
deadline. Its time-outs are what bounds a single call (`CALL_SECONDS`).
"""

import itertools
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnection

T = TypeVar("T")

CONNECT_SECONDS = 1
READ_SECONDS = 3
"""The SDK's time-outs."""

CALL_SECONDS = float(CONNECT_SECONDS + READ_SECONDS)
"""The longest that one attempt of a call takes."""

ANSWER_SECONDS = CALL_SECONDS + 1
"""Kept at an invocation's end, for one call that returns what failed, and for the answer."""

SHORTEST_WAIT = 0.2
LONGEST_WAIT = 4.0
"""Seconds before a call is repeated, at most: after its first failure, and after many. Above it a
quota of few calls a second would lie idle between the tries of those that wait for it."""

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "KmsThrottled",
        "KmsThrottlingException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""AWS's codes for "later, please", as botocore's standard retries know them, and SQS's for KMS."""

_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500


def is_weather(error: BaseException) -> bool:
    """Whether an error passes by itself, so that the call is worth repeating at once.

    Source: "Retry behavior", AWS SDKs and Tools Reference Guide (standard mode).
    """
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = re.split("[.#]", error.response.get("Error", {}).get("Code", ""))[-1]
        return status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS or code in _THROTTLED
    return isinstance(error, NoConnection | HTTPClientError)


class OutOfTime(Exception):
    """There was no time left to begin; nothing was done."""


class Invocation:
    """How long the running invocation may go on, by this process's own clock.

    A process of a function runs one invocation at a time.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._ends_at: float | None = None
        self.length: float | None = None
        """Seconds that it had when it began; None where nobody says."""

    def begin(self, context: Any) -> None:
        """An invocation begins; `context` is Lambda's, or None where nothing ends it."""
        self.ends_in(context and context.get_remaining_time_in_millis() / 1000)

    def ends_in(self, seconds: float | None) -> None:
        """It ends in so many seconds; None: nobody says."""
        self.length = seconds
        self._ends_at = None if seconds is None else self._monotonic() + seconds

    def seconds_left(self) -> float | None:
        """Until it ends; None where nobody says."""
        return None if self._ends_at is None else self._ends_at - self._monotonic()


THIS_INVOCATION = Invocation()
"""Of this process."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Repeats calls that fail like weather, as long as there is time.

    Where nobody says how long there is (`seconds_left` gives None), each is tried once.

    Invariant: a call that is begun is over, by its own time-outs, `ANSWER_SECONDS` before the end.

    Attributes:
        seconds_left: of the invocation.
        sleep: waits so many seconds.
        chance: a number from 0 to 1.
    """

    seconds_left: Callable[[], float | None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def __call__(self, call: Callable[[], T]) -> T:
        """Make the call, until it succeeds, fails for good, or the time is over.

        Raises:
            OutOfTime: it was not even begun.
            Exception: what the call raised last.
        """
        if not self._is_time_for_a_call(0):
            raise OutOfTime("no time is left in this invocation")
        for number in itertools.count():
            try:
                return call()
            except Exception as error:
                most = min(LONGEST_WAIT, SHORTEST_WAIT * 2 ** min(number, 10))
                wait = self.chance() * most
                if (
                    self.seconds_left() is None
                    or not is_weather(error)
                    or not self._is_time_for_a_call(wait)
                ):
                    raise
            self.sleep(wait)
        raise AssertionError  # not reached: the count has no end

    def _is_time_for_a_call(self, after: float) -> bool:
        left = self.seconds_left()
        return left is None or left - after >= CALL_SECONDS + ANSWER_SECONDS


ONCE = Patience()
"""Tries every call once."""
