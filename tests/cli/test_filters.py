import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce.messages.filters import Narrowing, age, grouped, read_moment
from actonce.terminal.errors import WrongUse

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


@dataclasses.dataclass(frozen=True)
class Entry:
    called: str
    since: datetime
    kind: dict[str, str]


def entry(name: str, minutes: int, reason: str = "rejected", error: str = "Rejected") -> Entry:
    return Entry(name, NOW - timedelta(minutes=minutes), {"reason": reason, "error": error})


ENTRIES = [entry("a", 5), entry("b", 50, error="Closed"), entry("c", 500, reason="outcome_unknown")]


@pytest.mark.parametrize(
    ("narrowing", "names"),
    [
        (Narrowing({}), "cba"),
        (Narrowing({"reason": "rejected"}), "ba"),
        (Narrowing({"reason": "rejected", "error": "Closed"}), "b"),
        (Narrowing({}, before=NOW - timedelta(minutes=50)), "c"),
        (Narrowing({}, limit=2), "cb"),
        (Narrowing({"error": "closed"}), ""),
    ],
)
def test_what_is_meant_is_taken_the_longest_waiting_first(narrowing: Narrowing, names: str) -> None:
    assert "".join(one.called for one in narrowing.of(ENTRIES)) == names


def test_a_text_is_looked_for_in_each_of_the_texts_as_it_is() -> None:
    assert Narrowing({}).matches([])
    assert Narrowing({}, match="x.").matches(["", "ax.b"])
    assert not Narrowing({}, match="x.").matches(["xyb", "X."])


def test_groups_tell_how_many_of_a_kind_and_for_how_long() -> None:
    first, second = grouped([entry("a", 5), entry("b", 50), entry("c", 7, error="Closed")])
    assert (first.count, first.kind["error"], first.example) == (2, "Rejected", "b")
    assert (first.oldest, first.newest) == (NOW - timedelta(minutes=50), NOW - timedelta(minutes=5))
    assert second.as_json() == {
        "reason": "rejected",
        "error": "Closed",
        "count": 1,
        "oldest": "2026-01-31T09:23:00.000Z",
        "newest": "2026-01-31T09:23:00.000Z",
        "example": "c",
    }
    assert grouped([]) == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h")],
)
def test_an_age_is_said_as_a_person_says_it(seconds: int, said: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == said


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-31T09:00", NOW - timedelta(minutes=30)),
        ("2026-01-31T10:00+01:00", NOW - timedelta(minutes=30)),
        ("2026-01-31", NOW - timedelta(hours=9, minutes=30)),
        ("90s", NOW - timedelta(seconds=90)),
        ("30m", NOW - timedelta(minutes=30)),
        ("2h", NOW - timedelta(hours=2)),
        ("3d", NOW - timedelta(days=3)),
    ],
)
def test_a_time_or_an_age_is_read(text: str, at: datetime) -> None:
    assert read_moment(text, NOW) == at


@pytest.mark.parametrize("text", ["", "2", "2 h", "999999999d", "0001-01-01T00:00+23:00", "²h"])
def test_what_is_no_time_is_wrong_use(text: str) -> None:
    with pytest.raises(WrongUse, match="is no time"):
        read_moment(text, NOW)


@given(st.text())
def test_what_is_neither_is_wrong_use(text: str) -> None:
    try:
        at = read_moment(text, NOW)
    except WrongUse:
        return
    assert at.tzinfo is UTC
