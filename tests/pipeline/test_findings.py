"""How an audit ends, by what it has found."""

from typing import Any

import pytest

from actonce_pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from actonce_pipeline.audit.request import Status
from actonce_pipeline.audit.results.summary import Findings


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ({}, Status.CLEAN),
        ({"not_yet_judged": 1}, Status.CLEAN),
        ({"unrepeatable": 1}, Status.ON_TRUST),
        ({"unrepeatable": 1, "unread": 1}, Status.NOT_WHOLE),
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
