"""How far the audit knows what happened: the one place where that is decided."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from pipeline.audit.cache import DayCounts
from pipeline.audit.reading.listing import Listing
from pipeline.audit.request import Request
from pipeline.audit.times import Interval, day_of, end_of, in_ms
from pipeline.audit.watermarks import Watermarks


@dataclass(frozen=True, slots=True)
class Horizon:
    """Moments up to which the records tell everything, in ms.

    Attributes:
        silence: what has no record before it did not happen before it.
        latest: the same, unless the files were restored and say nothing of the time since
            `silence`. A message that is lost by this moment only is not judged.
        complete: by the heartbeats, every stream is complete until then; None: nothing says so. A
            message with a record from then on is judged only by alarms that stand by themselves.
        margin: what is missing counts only for messages that were delivered, and whose last record
            is so much older than `complete`; 0: the days that are judged were over by then.
        as_of: the moment that the request names: later records are left out. None: it names none.
    """

    silence: int
    latest: int
    complete: int | None = None
    margin: int = 0
    as_of: int | None = None

    @property
    def limit(self) -> int | None:
        """Nothing of later days is missed; None: there is no such moment."""
        return self.complete if self.as_of is None else self.as_of


def horizon_of(
    request: Request,
    listing: Listing,
    span: Interval,
    counts: Collection[DayCounts] = (),
    complete_until: int | None = None,
) -> Horizon:
    """As of the moment asked for; else by the heartbeats; else by when files were written.

    A file vouches that nothing more was there when it was written, but not if that is before its
    own records: then nothing may have come until the last day ended. A record vouches for itself.
    """
    if request.as_of is not None:
        as_of = in_ms(request.as_of)
        return Horizon(as_of, as_of, as_of=as_of)
    written = listing.modified
    if complete_until is not None:
        complete = min(complete_until, written)
        margin = 0 if end_of(span[1]) <= complete else request.grace_ms
        return Horizon(complete, complete, complete, margin)
    last = end_of(max(listing.days()))
    silence = min(last, max([written, *(one.seen_at or 0 for one in counts)]))
    is_older = any((one.newest_at or 0) > written for one in counts)
    return Horizon(silence, last if is_older else silence)


def standing_still(
    request: Request, listing: Listing, span: Interval, marks: Watermarks, horizon: Horizon
) -> list[str]:
    """A sentence for each stream that stands still; see `Request.complete_by`."""
    if request.complete_by is not None:
        return marks.standing(in_ms(request.complete_by))
    last = min(span[1], day_of(listing.modified) - timedelta(days=1))
    is_due = horizon.complete is not None and last >= span[0]
    return marks.standing(end_of(last)) if is_due else []
