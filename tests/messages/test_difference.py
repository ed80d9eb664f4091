"""Two contents side by side: what differs is marked, and nothing is lost, whatever was sent."""

import json
from collections.abc import Callable
from functools import reduce

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.messages.difference import CONTEXT, MAX_LINES, difference
from tests.support.hostile import ACT_HIDE_OR_REORDER, HOSTILE, forbidden, texts

LARGE = 1 << 16
"""Characters: far more than can be compared with each other."""


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


def test_of_long_contents_what_differs_is_shown_with_what_is_around_it() -> None:
    first = list(range(9_000))
    second = [*first[:500], -1, *first[501:507], -2, *first[508:600], -3, *first[601:]]
    found = difference(json.dumps(first), json.dumps(second))
    left_out = [row.left_out for row in found.rows if row.left_out]
    assert left_out == [501 - CONTEXT, 92 - 2 * CONTEXT, 9_002 - 602 - CONTEXT]
    assert len(found.rows) == 3 + 2 * CONTEXT + 6 + 2 * CONTEXT + 3
    assert len(found.notes) == 1


ONE, TWO = "[0,1" + ",0,1" * (LARGE // 4), "[1,0,0" + ",1,0,0" * (LARGE // 6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{ONE}]", f"{TWO}]"),
        ("[" * LARGE, "{" * LARGE),
        ("a" * LARGE, "b" + "a" * LARGE),
        ("\n" * LARGE, "\n" * (LARGE // 2) + "x"),
        ("\n".join(map(str, range(9_999))), "\n".join(map(str, range(9_999, 0, -1)))),
    ],
    ids=["values", "open", "line", "empty", "backwards"],
)
def test_large_hostile_contents_end_and_what_is_not_compared_is_counted(
    first: str, second: str
) -> None:
    found = difference(first, second)
    assert len(found.rows) <= 2 * MAX_LINES + 2
    assert any(row.left != row.right for row in found.rows)
    lines = sum(row.left is not None for row in found.rows)
    assert any("not compared" in note for note in found.notes) or lines < MAX_LINES


leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=12,
)
contents = values.map(json.dumps) | values.map(lambda v: json.dumps(v, indent=1)) | texts

DIFFER = [
    ("1", "1.0"),
    ("0", "-0"),
    ("0.1", "0.10000000000000001"),
    ("1" * 5_000, "1" * 4_999 + "2"),
    ("NaN", "null"),
    ('{"a": 1, "a": 2}', '{"a": 2}'),
    ('"\\ud800"', '"\\\\ud800"'),
    ('"\ud800"', "\ud800"),
    ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
    ('"\\u00e9"', '"é"'),
    ("a\tb", "a\\tb"),
    ("0\r\n1", "0\n1"),
    ("", " "),
    (HOSTILE, json.dumps(ACT_HIDE_OR_REORDER)),
]


def also(pairs: list[tuple[str, str]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a property tried on these as well."""
    return lambda tried: reduce(lambda test, pair: example(*pair)(test), pairs, tried)


@given(contents, contents)
@also([("", ""), *DIFFER])
def test_what_differs_is_told_from_what_is_the_same_and_nothing_acts(
    first: str, second: str
) -> None:
    for one, other in ((first, second), (second, first), (first, first)):
        found = difference(one, other)
        assert not forbidden("".join(found.lines()))
        assert (one == other) == all(row.left == row.right for row in found.rows)
        assert (one == other) == ("They are the same." in found.notes)
