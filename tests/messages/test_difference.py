"""Two contents side by side: what differs is marked, and nothing is lost, whatever was sent."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.messages.difference import CONTEXT, MAX_LINES, difference
from tests.support.hostile import ACT_HIDE_OR_REORDER, HOSTILE, forbidden, texts


def test_names_are_sorted_and_lines_that_differ_stand_side_by_side() -> None:
    first = '{"message_id": "m-1", "slot": "2026-01-31 09:30", "note": "call before", "a": 1}'
    second = '{"slot": "2026-01-31 10:30", "message_id": "m-1", "note": "call after"}'
    assert list(difference(first, second).lines()) == [
        "  {",
        '-   "a": 1',
        '    "message_id": "m-1"',
        '-   "note": "call before"',
        '+   "note": "call after"',
        '-   "slot": "2026-01-31 09:30"',
        '+   "slot": "2026-01-31 10:30"',
        "  }",
    ]


def test_of_long_contents_what_differs_is_shown_with_its_context() -> None:
    first = list(range(900))
    second = [*first[:500], -1, *first[501:507], -2, *first[508:600], -3, *first[601:]]
    found = difference(json.dumps(first), json.dumps(second))
    left_out = [row.left_out for row in found.rows if row.left_out]
    assert left_out == [501 - CONTEXT, 92 - 2 * CONTEXT, 902 - 602 - CONTEXT]
    assert len(found.rows) == 3 + 2 * CONTEXT + 6 + 2 * CONTEXT + 3
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (json.dumps([0] * MAX_LINES), json.dumps([1] * MAX_LINES)),
        ("\n" * MAX_LINES, "x"),
    ],
)
def test_contents_of_too_many_lines_are_not_compared(first: str, second: str) -> None:
    found = difference(first, second)
    assert (found.rows, "too many lines" in found.notes[0]) == ([], True)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=12,
)
contents = values.map(json.dumps) | values.map(lambda v: json.dumps(v, indent=1)) | texts


@given(contents, contents)
@example("", "")
def test_only_the_same_contents_are_called_the_same(first: str, second: str) -> None:
    compare(first, second)


def compare(first: str, second: str) -> None:
    """Two contents are compared both ways, and with themselves; nothing shown acts."""
    for one, other in ((first, second), (second, first), (first, first)):
        found = difference(one, other)
        assert not forbidden("".join(found.lines()))
        assert (one == other) == all(row.left == row.right for row in found.rows)
        assert (one == other) == ("They are the same." in found.notes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1", "1.0"),
        ("0.1", "0.10000000000000001"),
        ("1" * 5_000, "1" * 4_999 + "2"),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('"\\ud800"', '"\\\\ud800"'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ("a\tb", "a\\tb"),
        ("0\r\n1", "0\n1"),
        ("", " "),
        (HOSTILE, json.dumps(ACT_HIDE_OR_REORDER)),
    ],
)
def test_contents_that_differ_are_never_called_the_same(first: str, second: str) -> None:
    compare(first, second)
