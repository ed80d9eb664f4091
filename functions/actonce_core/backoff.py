"""How long a failed delivery waits before it comes back."""

FIRST_BACKOFF_SECONDS = 4.0
LONGEST_BACKOFF_SECONDS = 900.0
"""Longest waits after the first receive, and after many; the shortest are two thirds of that. A
delivery reaches `maxReceiveCount`, 1,000, after more than six days."""

START_BACKOFF_GROWTH = 1.1
"""A wait that grows by a tenth is about a tenth of the message's age, so at most that share of
StartExecution's quota lies idle; with doubled waits a quarter did."""

EFFECT_BACKOFF_GROWTH = 2.0
"""Where each receive calls the provider: 24 of them last three hours, as the state machine's own
retries do."""


def redelivery_delay(receive_count: int, chance: float, growth: float) -> float:
    """Seconds until a delivery comes back that failed after so many receives, this one included.

    `chance`: a number from 0 to 1, so that deliveries that fail together come back apart.
    """
    grown = FIRST_BACKOFF_SECONDS * growth ** min(max(receive_count - 1, 0), 100)
    return min(LONGEST_BACKOFF_SECONDS, grown) * (2 + chance) / 3
