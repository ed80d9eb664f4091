"""What fails for a time, and what each call meets then: plain decisions over plain data."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

STEP_FUNCTIONS = "Step Functions"
DYNAMODB = "DynamoDB"
SQS = "SQS"
PROVIDER = "provider"
"""What the effect calls: one call for each `perform`."""
FIND = "find"


class Fate(StrEnum):
    """What a call meets."""

    PASSES = "passes"
    THROTTLED = "throttled"
    FAILS = "fails"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Quota:
    """A token bucket: its size, in calls, and what it is refilled with, in calls a second."""

    bucket: float
    refill: float

    def least_seconds(self, calls: int) -> float:
        """How long so many calls take at least, beginning with a full bucket."""
        return max(0.0, calls - self.bucket) / self.refill

    def most_calls(self, seconds: float) -> float:
        """How many calls can pass within some time, beginning with a full bucket."""
        return self.bucket + self.refill * max(0.0, seconds)


@dataclass(slots=True)
class TokenBucket:
    """Full at the beginning; each call takes a token or is throttled, and then takes none.

    Times are seconds of any one clock that does not go back.
    Source: "Quotas related to API action throttling", AWS Step Functions Developer Guide.
    """

    quota: Quota
    at: float
    _tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self.quota.bucket

    def take(self, now: float) -> bool:
        """Take a token; False if there is none."""
        # The sum of many small refills must not be less than the one token that they make up.
        grown = round(self._tokens + max(0.0, now - self.at) * self.quota.refill, 9)
        self._tokens, self.at = min(self.quota.bucket, grown), max(self.at, now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """Throttling, an outage, or answers that are lost.

    Attributes:
        name: as it is asked for.
        says: one sentence for a person.
        quotas: of an API call (`StartExecution`), or of the `PROVIDER`.
        down: what is down from the beginning, for `down_seconds`: services, or the `PROVIDER`.
        is_silent: what is down does not even say so.
        find_fails_seconds: how long `find` fails, for each message from its first `find` on.
        loses_answers: the first effect of each message happens, and its answer is lost.
        messages: how many meet it in a benchmark, all of them sent at once.
    """

    name: str
    says: str
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    down_seconds: float = 0.0
    is_silent: bool = False
    find_fails_seconds: float = 0.0
    loses_answers: bool = False
    messages: int = 300


NO_FAILURE = TransientFailure("none", "Nothing is throttled and nothing is down.")


@dataclass(slots=True)
class Injector:
    """Says what each call meets, by the failure there is now; it may change. Safe for threads.

    Attributes:
        clock: seconds; the machine's, in tests any.
        counts: (what was called, its fate) to how often, in all failures since the first.
        failures: name of each failure to the calls that did not pass in it.
    """

    clock: Callable[[], float] = time.time
    counts: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    failure: TransientFailure = NO_FAILURE
    began: float = 0.0
    _buckets: dict[str, TokenBucket] = field(default_factory=dict)
    _first: dict[str, float] = field(default_factory=dict)
    _last_passed: dict[str, float] = field(default_factory=dict)
    _last_bad_find: float = 0.0
    _finds: dict[str, float] = field(default_factory=dict)
    _lost: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, failure: TransientFailure) -> None:
        """Have another failure from now on; buckets are full and outages begin."""
        with self._lock:
            self.failure, self.began = failure, self.clock()
            self._buckets = {
                what: TokenBucket(quota, self.began) for what, quota in failure.quotas.items()
            }
            for of_former in (self._first, self._last_passed, self._finds):
                of_former.clear()

    def meets(self, service: str, call: str) -> Fate:
        """What a call of a service, or of the `PROVIDER`, meets."""
        with self._lock:
            is_over = self.clock() >= self.began + self.failure.down_seconds
            return self._met(call, down=service in self.failure.down and not is_over)

    def finds(self, message_id: str) -> Fate:
        """What a look at the provider's book meets."""
        with self._lock:
            now = self.clock()
            since = self._finds.setdefault(message_id, now)
            down = now - since < self.failure.find_fails_seconds
            if down:
                self._last_bad_find = now
            return self._met(FIND, down=down)

    def loses_answer(self, message_id: str, effect_id: str) -> bool:
        """Whether the answer of an effect, which happened, is lost, however often it is asked."""
        with self._lock:
            return (
                self.failure.loses_answers
                and self._lost.setdefault(message_id, effect_id) == effect_id
            )

    @property
    def refused(self) -> int:
        """How many calls did not pass."""
        return self.failures.total()

    def over_at(self, calls: Mapping[str, int]) -> float:
        """When the failure ends: the outage, the last failing `find`, or a quota.

        A quota's end is when it has let so many calls pass that never left it idle.

        Args:
            calls: of each thing that has a quota, as many as were needed.
        """
        quotas = [quota.least_seconds(calls[what]) for what, quota in self.failure.quotas.items()]
        ends = self.began + max([self.failure.down_seconds, *quotas])
        return max(ends, self._last_bad_find)

    def share_of_quota(self, calls: Mapping[str, int]) -> float | None:
        """The calls that were needed, over what the quota let pass until the last of them.

        None if the failure has no quota, or nothing passed.

        Args:
            calls: as of `over_at`.
        """
        shares = [
            calls[what] / quota.most_calls(self._last_passed[what] - self._first[what])
            for what, quota in self.failure.quotas.items()
            if what in self._last_passed
        ]
        return min(shares, default=None)

    def _met(self, what: str, *, down: bool) -> Fate:
        if self.failure is NO_FAILURE:
            return Fate.PASSES
        now = self.clock()
        self._first.setdefault(what, now)
        bucket = self._buckets.get(what)
        fate = Fate.PASSES
        if down:
            fate = Fate.UNANSWERED if self.failure.is_silent else Fate.FAILS
        elif bucket is not None and not bucket.take(now):
            fate = Fate.THROTTLED
        self.counts[what, fate] += 1
        if fate is Fate.PASSES:
            self._last_passed[what] = now
        else:
            self.failures[self.failure.name] += 1
        return fate
