from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import EntryFilter, age, group_entries, read_moment
from actonce.messages.unstarted import unstarted
from actonce.terminal.errors import UsageError
from actonce_core.message import MessageReader
from tests.support.queues import handed_on, letter, queued

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def waits(name: str, minutes: int, reason: str = "rejected", error: str = "Rejected") -> DeadLetter:
    """A letter that waits for so many minutes."""
    return letter(name, NOW - timedelta(minutes=minutes), reason=reason, error=error)


LETTERS = [
    waits("a", 5),
    waits("b", 50, error="Closed"),
    waits("c", 500, reason="outcome_unknown"),
]


@pytest.mark.parametrize(
    ("entry_filter", "names"),
    [
        (EntryFilter({}), "cba"),
        (EntryFilter({"reason": "rejected"}), "ba"),
        (EntryFilter({"reason": "rejected", "error": "Closed"}), "b"),
        (EntryFilter({}, before=NOW - timedelta(minutes=50)), "c"),
        (EntryFilter({}, limit=2), "cb"),
        (EntryFilter({"error": "closed"}), ""),
    ],
)
def test_what_is_meant_is_chosen_the_longest_waiting_first(
    entry_filter: EntryFilter, names: str
) -> None:
    assert "".join(one.display_name for one in entry_filter.of(LETTERS)) == names


def test_a_text_is_looked_for_in_each_of_the_texts_as_it_is() -> None:
    assert EntryFilter({}).matches([])
    assert EntryFilter({}, match="x.").matches(["", "ax.b"])
    assert not EntryFilter({}, match="x.").matches(["xyb", "X."])


def test_a_group_names_a_message_by_the_id_of_its_producer() -> None:
    lying = handed_on('{"message_id": "m-1"}', {}), queued("{", {})
    groups = group_entries([unstarted(one, MessageReader()) for one in lying])
    assert {one.example for one in groups} == {"m-1", lying[1].sqs_message_id}


def test_groups_tell_how_many_of_a_kind_and_for_how_long() -> None:
    first, second = group_entries([waits("a", 5), waits("b", 50), waits("c", 7, error="Closed")])
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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h")],
)
def test_an_age_is_said_as_a_person_says_it(seconds: int, text: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("2026-01-31T09:00", 30),
        ("2026-01-31T10:00+01:00", 30),
        ("2026-01-31", 570),
        ("90s", 1.5),
        ("2h", 120),
        ("3d", 4320),
    ],
)
def test_a_time_or_an_age_is_read(text: str, minutes: float) -> None:
    assert read_moment(text, NOW) == NOW - timedelta(minutes=minutes)


@given(st.text())
@example("2 h")
@example("999999999d")
@example("0001-01-01T00:00+23:00")
@example("²h")
def test_what_is_neither_is_wrong_use(text: str) -> None:
    try:
        at = read_moment(text, NOW)
    except UsageError:
        return
    assert at.tzinfo is UTC
