"""How long what proves that nothing happened, or only reads, is tried again; and how seldom.

The state machine's own windows, see AwaitProvider in process_message.asl.json. Each try comes at a
random moment of the next window, counted from the first time that it failed:

    0 ── 10 ── 30 ──── 90 ──────── 270 ──────────────── 810 ── and every 600 s after that

So many that wait do not come back together, an hour costs ten tries, and what comes back within a
minute is not kept waiting for ten. Where the patience is less than an hour the windows are shorter
in proportion. The last try is when the patience ends, or when the provider says.
"""

import itertools

from effect import LONGEST_RETRY_AFTER_SECONDS

_UNIT = 10.0
_SHARE = 360
"""The first window is so much of the patience, at most `_UNIT`; the others are multiples of it."""
_GROWING = (1, 3, 9, 27, 81)
_WIDEST = 60
_JITTER = 0.1
"""Above what a provider says, where that is later than the window's end."""


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


def next_wait(
    waited: float | None, patience: float, chance: float, retry_after: float | None = None
) -> float:
    """Seconds until the next try.

    Args:
        waited: seconds since it failed for the first time; None: it has just done so.
        patience: seconds after which it is tried for the last time.
        chance: from 0 to 1, for the jitter.
        retry_after: what the provider says, see `NotPerformed`. Believed up to 15 minutes, or the
            patience if that is less: it is not asked before then, even if the patience ends.
    """
    since = waited or 0.0
    left = max(patience - since, 0.0)
    unit = max(0.001, min(_UNIT, patience / _SHARE))
    begins, ends = (unit * edge for edge in _window(None if waited is None else waited / unit))
    soonest, latest = (left, left) if ends >= patience else (begins - since, ends - since)
    if retry_after is not None and left > 0:
        said = min(retry_after, LONGEST_RETRY_AFTER_SECONDS, patience)
        soonest, latest = max(soonest, said), max(latest, said * (1 + _JITTER))
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
