"""What fails for a time, and what each call meets then: plain decisions over plain data."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lab.faults.token_bucket import Quota, TokenBucket

STEP_FUNCTIONS = "Step Functions"
DYNAMODB = "DynamoDB"
SQS = "SQS"
PROVIDER = "provider"
"""What the effect calls: one call for each `perform`."""
LAMBDA = "Lambda"
"""The state machine's calls of the effect's function."""
FIND = "find"


class Fate(StrEnum):
    """What a call meets."""

    PASSES = "passes"
    THROTTLED = "throttled"
    FAILS = "fails"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """Throttling, an outage, or answers that are lost.

    Attributes:
        name: as it is asked for.
        says: one sentence for a person.
        quotas: token bucket of an API call (`StartExecution`), of `LAMBDA` or of the `PROVIDER`.
        down: what is down from the beginning, for `down_seconds`: services, or the `PROVIDER`.
        is_silent: what is down does not even say so.
        find_fails_seconds: how long `find` fails, for each message from its first `find` on.
        loses_answers: the first `perform` of each message happens, and its answer is lost.
    """

    name: str
    says: str
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    down_seconds: float = 0.0
    is_silent: bool = False
    find_fails_seconds: float = 0.0
    loses_answers: bool = False


NO_FAILURE = TransientFailure("none", "Nothing is throttled and nothing is down.")


@dataclass(frozen=True, slots=True)
class Met:
    """What a call met."""

    fate: Fate


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
    _lost: set[str] = field(default_factory=set)
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

    def meets(self, service: str, call: str) -> Met:
        """What an API call of a service meets."""
        with self._lock:
            return self._met(call, down=service in self.failure.down)

    def performs(self) -> Met:
        """What a call of the provider meets."""
        with self._lock:
            return self._met(PROVIDER, down=PROVIDER in self.failure.down)

    def finds(self, message_id: str) -> Met:
        """What a look at the provider's book meets."""
        with self._lock:
            now = self.clock()
            since = self._finds.setdefault(message_id, now)
            down = now - since < self.failure.find_fails_seconds
            if down:
                self._last_bad_find = now
            return self._met(FIND, down=down)

    def loses_answer(self, message_id: str) -> bool:
        """Whether this `perform`, which happened, is not answered."""
        with self._lock:
            if not self.failure.loses_answers or message_id in self._lost:
                return False
            self._lost.add(message_id)
            return True

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

    def _met(self, what: str, *, down: bool) -> Met:
        if self.failure is NO_FAILURE:
            return Met(Fate.PASSES)
        now = self.clock()
        self._first.setdefault(what, now)
        met = self._fate(what, now, down=down)
        self.counts[what, met.fate] += 1
        if met.fate is Fate.PASSES:
            self._last_passed[what] = now
        else:
            self.failures[self.failure.name] += 1
        return met

    def _fate(self, what: str, now: float, *, down: bool) -> Met:
        if down and (what == FIND or now < self.began + self.failure.down_seconds):
            return Met(Fate.UNANSWERED if self.failure.is_silent else Fate.FAILS)
        bucket = self._buckets.get(what)
        if bucket is None or bucket.take(now):
            return Met(Fate.PASSES)
        return Met(Fate.THROTTLED)
