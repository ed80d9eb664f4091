from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.cli.collect import _days, collect
from actonce.terminal.errors import WrongUse


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Name the days"),
        ({"day": "today", "first": "today"}, "Name the days"),
        ({"day": "today", "last": "today"}, "Name the days"),
        ({"first": "yesterday"}, "Name the days"),
        ({"last": "yesterday"}, "Name the days"),
        ({"first": "today", "last": "yesterday"}, "--until yesterday is before --from today"),
        ({"first": "2024-01-01", "last": "today"}, "at most 366"),
        ({"day": "31.1.2026"}, "'31.1.2026' is no day"),
        ({"day": "2026-02-30"}, "is no day"),
        ({"day": "9999-01-01"}, "has not begun"),
        ({"day": "today", "stream": ["effects", "posts"]}, "no stream 'posts'"),
    ],
)
def test_wrong_use_is_said_before_aws_is_asked(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(WrongUse, match=sentence):
        collect(to=tmp_path, **options)


def test_a_day_may_be_named_by_where_it_lies() -> None:
    today = datetime.now(UTC).date()

    assert _days("yesterday", None, None) == [today - timedelta(days=1)]
    assert _days(None, "yesterday", "today") == [today - timedelta(days=1), today]
    assert _days(None, "2026-02-27", "2026-03-01") == [
        date(2026, 2, 27),
        date(2026, 2, 28),
        date(2026, 3, 1),
    ]
