"""How long what proves that nothing happened, or only reads, is tried again; and how seldom.

Each try comes at a random moment of the next window, counted from the first time that it failed:

    0 ── 10 ── 30 ──── 90 ──────── 270 ──────────────── 810 ── and every 600 s after that

So many that wait do not come back together, an hour costs ten tries, and what comes back within a
minute is not kept waiting for ten. Where the patience is less than an hour the windows are shorter
in proportion. The last try is when the patience ends.
"""

import itertools
from typing import Final

PATIENCE_SECONDS: Final = 3600.0
"""How long a consumer keeps trying before it posts a dead letter."""
_UNIT = 10.0
_SHARE = 360
"""The first window is so much of the patience, at most `_UNIT`; the others are multiples of it."""
_GROWING = (1, 3, 9, 27, 81)
_WIDEST = 60


class TriedLater(Exception):
    """Nothing happened, or nobody could look; the delivery comes back by itself.

    Attributes:
        comes_back_after: seconds after which the queue is to deliver it again.
    """

    def __init__(self, error: Exception, comes_back_after: float) -> None:
        super().__init__(f"{type(error).__name__}: {error}; again in {comes_back_after:.0f} s")
        self.comes_back_after = comes_back_after


def is_over(waited: float | None, patience: float) -> bool:
    """Whether it was tried for long enough; `waited` as in `next_wait`."""
    return (waited or 0.0) >= patience


def next_wait(waited: float | None, patience: float, chance: float) -> float:
    """Seconds until the next try.

    Args:
        waited: seconds since it failed for the first time; None: it has just done so.
        patience: seconds after which it is tried for the last time.
        chance: from 0 to 1, for the jitter.
    """
    since = waited or 0.0
    left = max(patience - since, 0.0)
    unit = max(0.001, min(_UNIT, patience / _SHARE))
    begins, ends = (unit * edge for edge in _window(None if waited is None else waited / unit))
    soonest, latest = (left, left) if ends >= patience else (begins - since, ends - since)
    return soonest + chance * (latest - soonest)


def _window(waited: float | None) -> tuple[float, float]:
    """Where the next window begins and ends, in units since the first failure."""
    if waited is None:
        return 0, _GROWING[0]
    for begins, ends in itertools.pairwise(_GROWING):
        if waited < begins:
            return begins, ends
    last = float(_GROWING[-1])
    if waited >= last:
        last += _WIDEST * ((waited - last) // _WIDEST + 1)
    return last, last + _WIDEST
