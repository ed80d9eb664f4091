"""Days, and moments in milliseconds since 1970, by which records are compared."""

from collections.abc import Container, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

Interval = tuple[date, date]
"""Days, both ends included."""

DAY_MS: Final = 86_400_000


def now_ms() -> int:
    """This moment."""
    return in_ms(datetime.now(UTC))


def in_ms(moment: datetime) -> int:
    """A moment in milliseconds."""
    return int(moment.timestamp() * 1000)


def midnight(day: date) -> int:
    """When a day begins, in UTC."""
    return in_ms(datetime.combine(day, time.min, UTC))


def end_of(day: date) -> int:
    """When the next day begins."""
    return midnight(day) + DAY_MS


def day_of(ms: int) -> date:
    """The day of a moment."""
    return datetime.fromtimestamp(ms / 1000, UTC).date()


def as_text(ms: int) -> str:
    """A moment as records write it."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def intervals(days: Iterable[date]) -> list[Interval]:
    """Days in order, neighbours put together."""
    found: list[Interval] = []
    for day in sorted(days):
        if found and found[-1][1] + timedelta(days=1) == day:
            found[-1] = found[-1][0], day
        else:
            found.append((day, day))
    return found


def absent(have: Container[date], since: date, until: date) -> list[Interval]:
    """The days from `since` to `until` that are not there."""
    return intervals(day for day in all_days(since, until) if day not in have)


def all_days(since: date, until: date) -> Iterator[date]:
    """The days from `since` to `until`."""
    return map(date.fromordinal, range(since.toordinal(), until.toordinal() + 1))
