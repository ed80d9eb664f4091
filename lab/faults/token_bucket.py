"""The token bucket by which AWS throttles most of its API calls."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Quota:
    """A bucket's size, in calls, and what it is refilled with, in calls a second."""

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
    began: float
    _tokens: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens, self._at = self.quota.bucket, self.began

    def take(self, now: float) -> bool:
        """Take a token; False if there is none."""
        self._refill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self, now: float) -> None:
        # The sum of many small refills must not be less than the one token that they make up.
        grown = self._tokens + max(0.0, now - self._at) * self.quota.refill
        self._tokens = min(self.quota.bucket, round(grown, 9))
        self._at = max(self._at, now)
