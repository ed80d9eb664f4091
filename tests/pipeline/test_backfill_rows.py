import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actonce_core.delivery import Delivery
from actonce_core.execution import MAX_INPUT_BYTES, execution_input
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.strict_json import canonical
from actonce_pipeline.backfill.archive import fields_of
from actonce_pipeline.backfill.rows import BadRow, Selection, WrongRequest

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ids = text.filter(lambda one: one not in ("", "NA", "NULL", "NaN", "\\N"))


def starter_reads(body: str) -> Any:
    return MessageReader().read(Delivery("sqs", body, {}, {}))


numbers = st.from_regex(
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
words = st.sampled_from(["true", "null", "NaN", "1e999", "9" * 5000, '"\\ud800"', "{", "[1,]", ""])
names = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"\uffff"'])
deep = st.tuples(numbers, st.integers(90, 160)).map(lambda of: "[" * of[1] + of[0] + "]" * of[1])
json_texts = st.recursive(
    numbers | text.map(json.dumps) | words | deep,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda of: f"[{', '.join(of)}]")
        | st.lists(st.tuples(names, inner), max_size=3).map(
            lambda of: "{" + ",".join(f"{name}: {value}" for name, value in of) + "}"
        )
    ),
)


@given(json_texts, ids)
@example("0.1000000000000000012", "m")
@example("12345678901234567.5", "m")
@example("12345678901234567", "m")
@example("[" * 150 + "]" * 150, "m")
def test_what_is_sent_is_what_the_starter_reads_and_what_one_refuses_the_other_does(
    value: str, message_id: str
) -> None:
    line = f'{{"message_id": {json.dumps(message_id)}, "x": {value}}}'
    by_starter = starter_reads(line)
    try:
        row = fields_of(line.encode(), None) or {}
        planned_id, body = Selection.of_options("message_id").message(row)
    except BadRow:
        assert isinstance(by_starter, Refusal)
    else:
        read = starter_reads(body)
        assert planned_id == read.message_id == by_starter.message_id
        assert read.fingerprint == by_starter.fingerprint


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_largest_row_is_the_largest_message(beyond: int) -> None:
    overhead = len(execution_input("m", canonical({"message_id": "m", "x": ""})))
    size = MAX_INPUT_BYTES - overhead + beyond
    selection = Selection.of_options("message_id")
    row = {"message_id": "m", "x": "é" * (size // 2) + "x" * (size % 2)}
    if beyond:
        with pytest.raises(BadRow, match="261,121 bytes"):
            selection.message(row)
    else:
        assert isinstance(starter_reads(selection.message(row)[1]), Message)


def test_an_id_that_sqs_does_not_carry_is_no_id() -> None:
    assert isinstance(starter_reads('{"message_id": "a\uffff"}'), Refusal)
    with pytest.raises(BadRow, match="U\\+FFFF"):
        Selection.of_options("message_id").message({"message_id": "a\uffff"})


pairs = st.lists(st.text("ab/%2F", min_size=1), min_size=2, max_size=2)


@given(pairs, pairs)
@example(["a/", "b"], ["a", "/b"])
@example(["/", "a"], ["%2F", "a"])
def test_two_pairs_of_values_never_make_one_id(pair: list[str], other: list[str]) -> None:
    selection = Selection.of_options("a,b")
    made = [selection.message(dict(zip("ab", values, strict=True)))[0] for values in (pair, other)]
    assert (made[0] == made[1]) == (pair == other)


def test_several_fields_are_joined_and_nested_ones_found() -> None:
    row = {"order": {"id": 7, "note": "x"}, "a.b": "dotted", "a": {"b": "nested"}, "c": "x/y%"}
    planned, body = Selection.of_options("order.id, a.b", leave_out="order.note,c").message(row)
    assert planned == "7/dotted"
    assert json.loads(body) == {
        "order": {"id": 7},
        "a.b": "dotted",
        "a": {"b": "nested"},
        "message_id": "7/dotted",
    }
    again = row | {"order": {"id": 7, "note": "y"}}
    assert Selection.of_options("order.id,a.b", leave_out="order.note,c").message(again)[1] == body
    assert Selection.of_options("c").message(row)[0] == "x/y%"  # one is the id as it is


@pytest.mark.parametrize(
    "row",
    [
        {"id": None},
        {"id": True},
        {"id": ""},
        {"id": {"b": 1}},
        {},
        {"id": "NA"},
        {"id": "NULL"},
        {"id": "NaN"},
        {"id": "\\N"},
    ],
)
def test_what_is_no_id_is_said(row: dict[str, Any]) -> None:
    with pytest.raises(BadRow, match="has no message id: "):
        Selection.of_options("id").message(row)


def test_a_message_id_of_the_rows_own_is_never_written_over() -> None:
    selection = Selection.of_options("id")
    with pytest.raises(BadRow, match="another than the id"):
        selection.message({"id": "1", "message_id": "2"})
    assert selection.message({"id": "1", "message_id": "1"})[0] == "1"
    left_out = Selection.of_options("id", leave_out="message_id")
    assert left_out.message({"id": "1", "message_id": "2"})[0] == "1"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"message_id": ""}, "names no field"),
        ({"message_id": "a,,b"}, "without a name"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(WrongRequest, match=problem):
        Selection.of_options(**options)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (["id", "y"], "has the columns 'id', 'y': .* 'id', 'x' to be among them"),
        (["id", "x", "x"], "a name of its own"),
    ],
)
def test_columns_are_checked_before_anything_is_read(columns: list[str], problem: str) -> None:
    with pytest.raises(WrongRequest, match=problem):
        Selection.of_options("id", leave_out="x").check_columns("a.csv", columns)
