"""Two contents side by side: what differs is marked, and nothing is lost, whatever was sent."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.console.difference import CONTEXT, MAX_LINES, Line, difference
from tests.hostile import ACT_HIDE_OR_REORDER, HOSTILE, forbidden, texts

LARGE = 1 << 16
"""Characters: far more than can be compared with each other."""


def side(line: Line | None) -> str | None:
    if line is None:
        return None
    return line.before + (f"[{line.differs}]" if line.differs else "") + line.after


def shown(first: str, second: str) -> list[tuple[str | None, str | None]]:
    return [(side(row.left), side(row.right)) for row in difference(first, second).rows]


def changed(first: str, second: str) -> list[tuple[str | None, str | None]]:
    return [row for row in shown(first, second) if row[0] != row[1]]


def test_names_are_sorted_and_what_differs_is_marked_within_its_line() -> None:
    first = '{"message_id": "m-1", "slot": "2026-01-31 09:30", "note": "call before"}'
    second = '{"slot": "2026-01-31 10:30", "message_id": "m-1", "note": "call after"}'
    assert shown(first, second) == [
        ("{", "{"),
        ('  "message_id": "m-1"', '  "message_id": "m-1"'),
        ('  "note": "call [before]"', '  "note": "call [after]"'),
        ('  "slot": "2026-01-31 [09]:30"', '  "slot": "2026-01-31 [10]:30"'),
        ("}", "}"),
    ]


def test_what_only_one_has_stands_alone() -> None:
    assert changed('{"a": 1, "c": [5]}', '{"c": [5]}') == [('[  "a": 1]', None)]
    assert changed("one\ntwo\nthree", "one\nthree\nfour") == [("[two]", None), (None, "[four]")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1", "1.0"),
        ("1.0", "1e0"),
        ("0", "-0"),
        ("0.1", "0.10000000000000001"),
        ("12345678901234567890", "12345678901234567891"),
        ("1" * 5_000, "1" * 4_999 + "2"),
        ("NaN", "null"),
        ('"1"', "1"),
        ("[]", "{}"),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('"\\ud800"', '"\\\\ud800"'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ('"\\u00e9"', '"é"'),
        ("a\tb", "a\\tb"),
        ("0\r\n1", "0\n1"),
        ("", " "),
    ],
)
def test_what_differs_is_shown_to_differ_and_the_same_is_said_to_be_the_same(
    first: str, second: str
) -> None:
    assert any(row.left != row.right for row in difference(first, second).rows)
    assert "They are the same." not in difference(first, second).notes
    assert "They are the same." in difference(first, first).notes
    assert changed(first, first) == []


@pytest.mark.parametrize("hostile", [HOSTILE, ACT_HIDE_OR_REORDER, json.dumps(HOSTILE)])
@pytest.mark.parametrize("other", ['{"a": 1}', "[", json.dumps(ACT_HIDE_OR_REORDER)])
def test_nothing_that_acts_is_in_a_line(hostile: str, other: str) -> None:
    for row in difference(hostile, other).rows:
        for line in (row.left, row.right):
            assert line is None or forbidden("".join(line)) == set()


def test_of_long_contents_what_differs_is_shown_with_what_is_around_it() -> None:
    first = list(range(9_000))
    second = [*first[:500], -1, *first[501:508], -2, *first[509:]]
    found = difference(json.dumps(first), json.dumps(second))
    assert [row.left_out for row in found.rows if row.left_out] == [
        501 - CONTEXT,
        9_002 - 510 - CONTEXT,
    ]
    assert len(found.rows) == 1 + CONTEXT + 1 + 7 + 1 + CONTEXT + 1
    assert len(found.notes) == 1


ONE, TWO = "[0,1" + ",0,1" * (LARGE // 4), "[1,0,0" + ",1,0,0" * (LARGE // 6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{ONE}]", f"{TWO}]"),
        (ONE.replace(",", "\n"), TWO.replace(",", "\n")),
        ("[" * LARGE, "{" * LARGE),
        ("a" * LARGE, "b" + "a" * LARGE),
        ("\n" * LARGE, "\n" * (LARGE // 2) + "x"),
        ("[" * 900 + "0," * (LARGE // 4) + "0" + "]" * 900, "[" + "0," * 9 + "0]"),
        ("\n".join(map(str, range(9_999))), "\n".join(map(str, range(9_999, 0, -1)))),
    ],
    ids=["values", "lines", "open", "line", "empty", "nested", "backwards"],
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


@given(contents, contents)
@example("", "")
@example('"\ud800"', "\ud800")
def test_what_is_the_same_is_unmarked_and_what_differs_is_not(first: str, second: str) -> None:
    rows = difference(first, second).rows
    for row in rows:
        if row.left and row.right:
            assert (row.left.before, row.left.after) == (row.right.before, row.right.after)
    assert (first == second) == all(row.left == row.right for row in rows)
    backwards = difference(second, first).rows
    assert (first == second) == all(row.left == row.right for row in backwards)
