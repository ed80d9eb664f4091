"""How long a delivery that failed waits before it comes back."""

FIRST_BACKOFF_SECONDS = 4.0
LONGEST_BACKOFF_SECONDS = 900.0
"""A delivery that failed comes back after between two thirds of it and all of it: after its first
receive, and after many. `maxReceiveCount` is 1,000, which it reaches after more than six days."""

START_BACKOFF_GROWTH = 1.1
"""Growing by a tenth, a wait is about a tenth of how long the message has waited already, and so
much of StartExecution's quota lies idle at most; with doubled waits a quarter did."""

EFFECT_BACKOFF_GROWTH = 2.0
"""Behind a lock each receive is a call of the provider, of which there are `MAX_RETRIES` at most:
they have to last as long as the state machine's do."""


def seconds_until_back(receive_count: int, chance: float, growth: float) -> float:
    """Seconds after which a delivery that failed shall come back; see `FIRST_BACKOFF_SECONDS`.

    The visibility timeout is for a crash and takes minutes; a throttled call passes in seconds.

    Args:
        receive_count: how often it was received, this time included.
        chance: a number from 0 to 1, so that what failed together does not come back together.
        growth: `START_BACKOFF_GROWTH` or `EFFECT_BACKOFF_GROWTH`.
    """
    grown = FIRST_BACKOFF_SECONDS * growth ** min(max(receive_count - 1, 0), 100)
    return min(LONGEST_BACKOFF_SECONDS, grown) * (2 + chance) / 3
