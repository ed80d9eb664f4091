"""Up to when the records tell what is missing."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from actonce_pipeline.audit.cache import DayCounts
from actonce_pipeline.audit.horizon import Horizon, horizon_of
from actonce_pipeline.audit.job import _over
from actonce_pipeline.audit.reading.listing import File, Listing
from actonce_pipeline.audit.results.summary import uncovered, unrecorded
from tests.pipeline.nights import requested
from tests.pipeline.streams_on_disk import DAY, STREAMS

DATE = date.fromisoformat(DAY)
NEXT = DATE + timedelta(days=1)
HOUR = 3_600_000
FILES = tuple(File(f"/{s}{n}", s, DATE + timedelta(days=n)) for s in STREAMS for n in (0, 1))


def ms(hours: float, day: date = DATE) -> int:
    return round(
        (datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000 + hours * HOUR
    )


@pytest.mark.parametrize(
    ("written", "options", "over"),
    [
        (ms(14), {}, ms(0)),
        (ms(24.9), {}, ms(0)),
        (ms(25), {}, ms(24)),
        (ms(27), {}, ms(24)),
        (ms(300), {}, ms(288)),
        (ms(27), {"as_of": datetime(2026, 1, 31, 23, tzinfo=UTC)}, ms(0)),
        (ms(14), {"as_of": datetime(2026, 2, 1, tzinfo=UTC)}, ms(24)),
        (ms(300), {"present_only": True}, 0),
    ],
)
def test_a_day_is_over_an_hour_after_its_end(
    written: int, options: dict[str, Any], over: int
) -> None:
    request = requested("records", **options)
    assert horizon_of(request, Listing(FILES, (), written)).over == over


def test_files_that_are_older_than_their_records_leave_the_last_day_open() -> None:
    counts = [DayCounts(seen_at=ms(20, NEXT), newest_at=ms(21, NEXT))]
    listing = Listing(FILES, (), modified=0)
    found = horizon_of(requested("records"), listing, counts)
    assert found == Horizon(ms(24), silence=ms(44))


def test_effects_are_missed_on_days_that_are_over() -> None:
    """On them, an effect may have been repeated."""
    files = tuple(one for one in FILES if one.stream != "effects" or one.day == DATE)
    listing = Listing(files, (), ms(0))

    def caveats(over: int) -> list[str]:
        return [caveat for _, caveat in uncovered(listing, (DATE, DATE), Horizon(over, over))]

    assert caveats(0) == caveats(ms(24)) == []
    (said,) = caveats(ms(48))
    assert said.startswith("2026-02-01: effects is missing")


def test_it_is_told_of_each_day_that_nobody_recorded_what_is_sent() -> None:
    files = tuple(one for one in FILES if one.stream != "sent" or one.day == DATE)
    ((days, said),) = unrecorded(Listing(files, (), 0), (DATE, NEXT))
    assert days == (NEXT, NEXT)
    assert said.startswith("2026-02-01: sent is missing")


def test_a_day_that_has_not_begun_is_not_looked_at() -> None:
    later = DATE + timedelta(days=4)

    def caveats(over: int) -> list[str]:
        found = uncovered(Listing(FILES, (), ms(0)), (later, later), Horizon(over, over))
        return [caveat for _, caveat in found]

    assert caveats(ms(72)) == caveats(ms(96)) == []
    for over in (0, ms(48), ms(120)):
        assert caveats(over) == ["2026-02-04: no stream has a file, so nothing was looked at."]


@pytest.mark.parametrize(
    ("over", "days"),
    [(0, []), (ms(24), []), (ms(48), [DATE, NEXT]), (ms(72), [DATE, NEXT])],
)
def test_beside_a_day_that_is_not_over_another_is_closed_a_day_later(
    over: int, days: list[date]
) -> None:
    assert list(_over((DATE, NEXT), Horizon(over, over))) == days
