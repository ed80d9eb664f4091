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
    """

    over: int
    silence: int


def horizon_of(request: Request, listing: Listing, counts: Collection[DayCounts] = ()) -> Horizon:
    """As of the moment asked for; else by when files were written.

    A file vouches that nothing more was there when it was written, and a record for itself: files
    that are older than their own records, as of a restored archive, leave their last day open.
    """
    if request.as_of is not None:
        moment = silence = in_ms(request.as_of)
    else:
        moment = max([listing.modified, *(one.newest_at or 0 for one in counts)]) - ARRIVES_MS
        silence = max([listing.modified, *(one.seen_at or 0 for one in counts)])
        silence = min(silence, end_of(max(listing.days())))
    return Horizon(0 if request.present_only else midnight(day_of(moment)), silence)
