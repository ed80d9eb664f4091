"""How an audit ends, by what it has found."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from actonce_pipeline.audit.horizon import Horizon
from actonce_pipeline.audit.job import _span
from actonce_pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from actonce_pipeline.audit.reading.listing import File, Listing
from actonce_pipeline.audit.reading.streams import STREAMS
from actonce_pipeline.audit.request import Request, Status
from actonce_pipeline.audit.results.summary import Findings, uncovered
from actonce_pipeline.audit.times import midnight
from actonce_pipeline.errors import CannotAudit


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ({}, Status.CLEAN),
        ({"not_yet_judged": 1}, Status.CLEAN),
        ({"trusted": ["Its word."]}, Status.ON_TRUST),
        ({"trusted": ["Its word."], "unread": 1}, Status.NOT_WHOLE),
        ({"unjudged": 1}, Status.NOT_WHOLE),
        ({"unseen": ["A day."]}, Status.NOT_WHOLE),
        ({"unseen": ["A day."], "late_alarms": ["2026-01-31"]}, Status.ALARMS),
        *(({"verdicts": {name: 1}, "unread": 1}, Status.ALARMS) for name in ALARMS),
        *(({"verdicts": {name: 1}}, Status.CLEAN) for name in VERDICTS if name not in ALARMS),
    ],
)
def test_the_worst_that_was_found_is_how_it_ends(found: dict[str, Any], status: Status) -> None:
    verdicts = dict.fromkeys(VERDICTS, 0) | {"performed_once": 2} | found.pop("verdicts", {})
    findings = Findings(verdicts, **found)
    assert findings.status is status
    accounted = "accounted for" in findings.sentence()
    assert accounted == (status is Status.CLEAN)


def test_of_days_after_the_moment_that_was_asked_for_nothing_is_known() -> None:
    days = date(2026, 1, 31), date(2026, 2, 1)
    files = tuple(File(f"{stream}/{day}", stream, day) for stream in STREAMS for day in days)
    listing, moment = Listing(files, (), 0), midnight(days[1])

    (sentence,) = [one for _, one in uncovered(listing, days, Horizon(0, moment, moment, moment))]
    assert sentence.startswith("2026-02-01: is after 2026-02-01T00:00:00.000Z")
    assert "nothing was looked at" in sentence
    for as_of, last in ((days[0], None), (days[1], days[0])):
        request = Request("records", as_of=datetime.combine(as_of, time(), UTC))
        if last is None:
            with pytest.raises(CannotAudit, match="is before 2026-01-31, the first day to judge"):
                _span(request, listing)
        else:
            assert _span(request, listing) == (days[0], last)
