"""Two contents side by side: what differs is marked, and nothing is lost, whatever was sent."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce.console import difference as module
from actonce.console.difference import Kind, Part, Row, difference
from tests.hostile import ACT_HIDE_OR_REORDER, HOSTILE, forbidden, texts

LARGE = 1 << 16
"""Characters: far more than can be compared with each other."""

SORTED = "The names of each object are sorted; in which order they were sent is not shown."


def line(parts: Iterable[Part]) -> str:
    return "".join(f"[{part.text}]" if part.differs else part.text for part in parts)


def shown(first: str, second: str) -> list[tuple[str, str, str]]:
    return [(row.kind, line(row.left), line(row.right)) for row in difference(first, second).rows]


def changed(first: str, second: str) -> list[tuple[str, str, str]]:
    return [row for row in shown(first, second) if row[0] != Kind.SAME]


def test_what_differs_is_marked_within_its_line() -> None:
    first = '{"message_id": "m-1", "slot": "2026-01-31 09:30", "note": "call before"}'
    second = '{"slot": "2026-01-31 10:30", "message_id": "m-1", "note": "call after"}'
    assert shown(first, second) == [
        ("same", "{", "{"),
        ("same", '  "message_id": "m-1"', '  "message_id": "m-1"'),
        ("changed", '  "note": "call [before]"', '  "note": "call [after]"'),
        ("changed", '  "slot": "2026-01-31 [09]:30"', '  "slot": "2026-01-31 [10]:30"'),
        ("same", "}", "}"),
    ]
    assert difference(first, second).notes == [SORTED]


def test_what_only_one_has_stands_alone_and_names_stay_with_their_values() -> None:
    assert shown('{"a": 1, "c": 3, "e": [5]}', '{"b": 2, "c": 4, "e": [5, 6]}') == [
        ("same", "{", "{"),
        ("first_only", '[  "a": 1]', ""),
        ("second_only", "", '[  "b": 2]'),
        ("changed", '  "c": [3]', '  "c": [4]'),
        ("same", '  "e": [', '  "e": ['),
        ("same", "    5", "    5"),
        ("second_only", "", "[    6]"),
        ("same", "  ]", "  ]"),
        ("same", "}", "}"),
    ]


def test_lines_are_numbered_on_both_sides() -> None:
    rows = difference('{"a": 1, "c": 3}', '{"b": 2, "c": 3}').rows
    assert [(row.left_number, row.right_number) for row in rows] == [
        *((1, 1), (2, None), (None, 2), (3, 3), (4, 4)),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1", "1.0"),
        ("1.0", "1e0"),
        ("1e0", "1E0"),
        ("0", "-0"),
        ("0.1", "0.10000000000000001"),
        ("12345678901234567890", "12345678901234567891"),
        ("1" * 5_000, "1" * 4_999 + "2"),
        ("NaN", "null"),
        ('"1"', "1"),
        ('"null"', "null"),
        ("[]", "{}"),
        ("[[]]", "[]"),
        ('{"a": 1, "a": 2}', '{"a": 2, "a": 1}'),
        ('{"a": 1, "a": 1}', '{"a": 1}'),
        ('"a\\u0000"', '"a\\\\u0000"'),
        ('"\\ud800"', '"\\\\ud800"'),
    ],
)
def test_values_that_differ_are_shown_to_differ(first: str, second: str) -> None:
    found = difference(first, second)
    assert not found.is_same
    assert shown(first, second) != shown(first, first)
    assert any(row.kind is not Kind.SAME for row in found.rows)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"a": 1, "b": [2]}', '{ "b":[2] ,\n"a":1}'),
        ('"\\u00e9\\/"', '"é/"'),
        ('"\\ud83d\\ude00"', '"\U0001f600"'),
    ],
)
def test_what_differs_only_in_how_it_is_written_is_the_same_and_that_is_said(
    first: str, second: str
) -> None:
    found = difference(first, second)
    assert (found.is_identical, found.is_same) == (False, True)
    assert {row.kind for row in found.rows} == {Kind.SAME}
    assert found.notes[-1] == (
        "They are the same but for how they are written: blanks, escapes, the order of names."
    )


def test_the_same_content_is_said_to_be_the_same() -> None:
    found = difference('{"a": 1}', '{"a": 1}')
    assert (found.is_identical, found.is_same, found.notes) == (True, True, [SORTED])


def test_a_name_that_stands_twice_is_shown_twice_and_said() -> None:
    found = difference('{"b": {"a": 1, "a": 2}}', '{"b": {"a": 2}}')
    assert changed('{"b": {"a": 1, "a": 2}}', '{"b": {"a": 2}}') == [
        ("first_only", '[    "a": 1]', "")
    ]
    assert found.notes == [
        SORTED,
        (
            'In the first a name stands more than once in one object, such as "a": which one is '
            "meant depends on who reads it."
        ),
    ]


def test_what_is_no_json_is_compared_as_it_was_sent() -> None:
    first, second = '{"a": 1,\n"b": 2}', '{"a": 1,\n"b": 2'
    assert changed(first, second) == [("changed", '"b": 2[}]', '"b": 2')]
    assert difference(first, second).notes == [
        "The second is not JSON: Expecting ',' delimiter at line 2, column 7.",
        "Both are compared as they were sent.",
    ]


def test_texts_of_lines_are_compared_line_by_line() -> None:
    assert shown("one\ntwo\nthree", "one\nthree\nfour") == [
        ("same", "one", "one"),
        ("first_only", "[two]", ""),
        ("same", "three", "three"),
        ("second_only", "", "[four]"),
    ]


def test_what_cannot_be_seen_is_shown_as_a_code_and_told_from_the_code_written_out() -> None:
    assert changed("a\tb", "a\\tb") == [("changed", "[a\\tb]", "[a\\\\tb]")]
    assert difference("a\tb", "a\\tb").notes[-1] == (
        "Backslashes are doubled, to be told from the codes of characters that cannot be seen."
    )
    assert changed('"a\u202eb"', '"ab"') == [("changed", '"[a\\u202eb]"', '"[ab]"')]


@pytest.mark.parametrize("hostile", [HOSTILE, ACT_HIDE_OR_REORDER, json.dumps(HOSTILE)])
@pytest.mark.parametrize("other", ['{"a": 1}', "[", json.dumps(ACT_HIDE_OR_REORDER)])
def test_nothing_that_acts_is_in_a_part(hostile: str, other: str) -> None:
    for row in difference(hostile, other).rows:
        for part in (*row.left, *row.right):
            assert forbidden(part.text) == set()


def test_a_content_that_is_nested_too_deeply_is_compared_as_it_was_sent() -> None:
    found = difference("[" * 100_000 + "]" * 100_000, "[]")
    assert found.notes[0] == "The first is nested too deeply to be laid out."
    assert len(found.rows) == 1


def test_of_long_contents_what_differs_is_shown_with_what_is_around_it() -> None:
    first = list(range(1_000))
    second = [*first[:500], -1, *first[501:]]
    rows = difference(json.dumps(first), json.dumps(second)).rows
    assert [row.kind for row in rows] == [
        *(*["same"] * 3, "left_out", *["same"] * 3, "changed"),
        *(*["same"] * 3, "left_out", *["same"] * 3),
    ]
    assert [row.left_out for row in rows if row.left_out] == [501 - 6, 500 - 6]
    assert len(difference(json.dumps(first[:150]), json.dumps(second[:150])).rows) == 152


def test_rows_that_are_not_shown_are_counted() -> None:
    first, second = ["a"] * 1_500, ["b"] * 1_500
    found = difference("\n".join(first), "\n".join([*second, *["c"] * 4]))
    assert len(found.rows) == module.MAX_ROWS
    assert found.notes[-1] == "504 more rows are not shown; in 504 of them the two differ."


def test_a_long_part_is_cut_in_its_middle_and_that_is_counted() -> None:
    (row,) = difference("x" * 9_000, "y " + "x" * 9_000).rows
    assert [(len(part.text), part.differs, part.left_out) for part in row.left] == [
        *((1_000, False, 7_000), (1_000, False, 0)),
    ]
    assert row.right[0] == Part("y ", differs=True)


ONE, TWO = "[0,1" + ",0,1" * (LARGE // 4), "[1,0,0" + ",1,0,0" * (LARGE // 6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{ONE}]", f"{TWO}]"),
        (ONE.replace(",", "\n"), TWO.replace(",", "\n")),
        (json.dumps(ONE.replace(",", " ")), json.dumps(TWO.replace(",", " "))),
        ("[" * LARGE, "{" * LARGE),
        ("a" * LARGE, "b" + "a" * LARGE),
        ('"' * LARGE, "\\" * LARGE),
        ("1" * LARGE, "1" * (LARGE - 1) + "2"),
        ("\n" * LARGE, "\n" * (LARGE // 2) + "x"),
        ("[" * 900 + "0," * (LARGE // 4) + "0" + "]" * 900, "[" + "0," * 9 + "0]"),
    ],
    ids=["values", "lines", "words", "open", "line", "quotes", "digits", "empty", "nested"],
)
def test_large_hostile_contents_end_and_are_not_shown_whole(first: str, second: str) -> None:
    found = difference(first, second)
    assert len(found.rows) <= module.MAX_ROWS
    shown = sum(len(part.text) for row in found.rows for part in (*row.left, *row.right))
    assert shown < 100_000
    assert not found.is_same


def test_that_too_much_differs_is_said() -> None:
    assert difference(f"{ONE}]", f"{TWO}]").notes[1].startswith("They differ in too much to be")
    assert len(difference("[0, 1]", "[1, 0, 0]").notes) == 1


def test_steps_bound_what_a_difference_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = module._Budget.take

    def count(self: module._Budget, steps: int) -> None:
        take(self, steps)
        taken.append(steps)

    monkeypatch.setattr(module._Budget, "take", count)
    difference(f"{ONE}]", f"{TWO}]")
    assert 0 < sum(taken) <= module.STEPS


# ------------------------------------------------------------ whatever is sent

leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=12,
)
contents = values.map(json.dumps) | values.map(lambda v: json.dumps(v, indent=1)) | texts


def side(rows: list[Row], *, left: bool) -> list[str]:
    """The lines of one side; none is left out of contents as small as these."""
    return [
        "".join(part.text for part in (row.left if left else row.right))
        for row in rows
        if (row.left_number if left else row.right_number) is not None
    ]


@given(contents, contents)
@example("", "")
@example('"\ud800"', "\ud800")
@example("0\r\n1", "0\n1")
def test_each_side_is_its_content_whole(first: str, second: str) -> None:
    found = difference(first, second)
    alone = difference(first, first).rows, difference(second, second).rows
    if any("doubled" in note or "as they were sent" in note for note in found.notes):
        # One decides how both are laid out.
        assert found.is_identical == found.is_same
    else:
        assert side(found.rows, left=True) == side(alone[0], left=True)
        assert side(found.rows, left=False) == side(alone[1], left=False)
    numbers = [row.left_number for row in found.rows if row.left_number is not None]
    assert numbers == list(range(1, len(numbers) + 1))


@given(contents, contents)
@example("a\tb", "a\\tb")
def test_what_is_the_same_is_unmarked_and_what_differs_is_not(first: str, second: str) -> None:
    found = difference(first, second)
    for row in found.rows:
        left, right = ("".join(part.text for part in parts) for parts in (row.left, row.right))
        if row.kind is Kind.SAME:
            assert left == right
        elif row.kind is Kind.CHANGED:
            assert left != right
            assert any(part.differs for part in (*row.left, *row.right))
            unmarked = [
                "".join(part.text for part in parts if not part.differs)
                for parts in (row.left, row.right)
            ]
            assert unmarked[0] == unmarked[1]
    assert found.is_same == all(row.kind is Kind.SAME for row in found.rows)
    backwards = difference(second, first)
    assert backwards.is_same == found.is_same


@given(texts, texts)
def test_plain_texts_that_differ_never_look_the_same(first: str, second: str) -> None:
    rows = difference(f"no JSON {first}", f"no JSON {second}").rows
    assert (side(rows, left=True) == side(rows, left=False)) == (first == second)
