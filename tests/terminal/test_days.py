"""Days mean one thing in every command."""

from datetime import UTC, date, datetime, timedelta

import pytest

from actonce.terminal.days import parse_day, parse_span
from actonce.terminal.errors import UsageError


def test_a_day_is_named_by_its_date_or_by_where_it_lies() -> None:
    today = datetime.now(UTC).date()
    assert parse_span(None, None, None) is None
    assert parse_span("today", None, None) == (today, today)
    assert parse_span(None, "yesterday", "today") == (today - timedelta(days=1), today)
    assert parse_day("2026-01-31") == date(2026, 1, 31)


@pytest.mark.parametrize(
    ("days", "message"),
    [
        (("today", "today", None), "either --day DAY, or --from DAY and --until DAY"),
        ((None, "today", None), "either --day DAY"),
        ((None, None, "today"), "either --day DAY"),
        ((None, "today", "yesterday"), "--until yesterday is before --from today: exchange them"),
        (("31.1.2026", None, None), "'31.1.2026' is no day; write it as 2026-11-21"),
        (("9999-01-01", None, None), "has not begun"),
    ],
)
def test_what_is_no_day_is_told(days: tuple[str | None, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_span(*days)


def test_an_audit_may_judge_days_ahead() -> None:
    assert parse_span("9999-01-01", None, None, ahead=True) is not None
