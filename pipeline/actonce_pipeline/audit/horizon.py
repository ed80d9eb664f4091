"""Up to when the records tell what is missing: the one place where that is decided.

What is there is told by whatever look sees it. That something is missing is told of days only that
are over, and whose records had an hour to arrive.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from actonce_pipeline.audit.cache import DayCounts
from actonce_pipeline.audit.reading.listing import Listing
from actonce_pipeline.audit.request import Request
from actonce_pipeline.audit.times import day_of, end_of, in_ms, midnight

ARRIVES_MS: Final = 3_600_000
"""How long after the end of a day its last records are there."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """Moments in ms.

    Attributes:
        over: the end of the last day that is over; 0: none is. A message with a record from then on
            may still be in work, so nothing of it is called missing.
        silence: what has no record before it did not happen before it.
        latest: the same, unless the files were restored and say nothing of the time since.
    """

    over: int
    silence: int
    latest: int


def horizon_of(
    request: Request, listing: Listing, now: int, counts: Collection[DayCounts] = ()
) -> Horizon:
    """As of the moment asked for; else by when files were written.

    A file vouches that nothing more was there when it was written, but not if that is before its
    own records: then nothing may have come until the last day ended. A record vouches for itself.
    """
    if request.as_of is not None:
        as_of = in_ms(request.as_of)
        return Horizon(_over(request, as_of), as_of, as_of)
    written, last = listing.modified, end_of(max(listing.days()))
    silence = min(last, max([written, *(one.seen_at or 0 for one in counts)]))
    if any((one.newest_at or 0) > written for one in counts):
        return Horizon(_over(request, now), silence, last)
    return Horizon(_over(request, written - ARRIVES_MS), silence, silence)


def _over(request: Request, moment: int) -> int:
    return 0 if request.present_only else midnight(day_of(moment))
