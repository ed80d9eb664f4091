import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.strict_json import MAX_DEPTH, NotJson, canonical, parse
from tests.support.deliveries import json_values, texts


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\ufeff{}", id="byte order mark"),
        "NaN",
        '{"a": [Infinity]}',
        "-Infinity",
        '{"a": 1,}',
        '{"a": "b',
        "{} {}",
        "{'a': 1}",
        pytest.param('{"a": "b\nc"}', id="line break in a string"),
        "01",
        "True",
        '{"a": 1, "a": 1}',
        '[{"b": {"a": 1, "\\u0061": 2}}]',
        r'{"a": "\ud800"}',
        r'{"\udfff": 1}',
        "1e400",
        "[-1e400]",
        pytest.param("1" + "0" * 309, id="integer beyond a double"),
        pytest.param("-" + "9" * 5000, id="more than 4,300 digits"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="deep arrays"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="deep objects"),
    ],
)
def test_what_is_not_strict_json_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(NotJson) as refused:
        parse(text)
    assert str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "number",
    [
        "0.1000000000000000012",
        "9007199254740992.5",
        "1e-400",
        "0e99999999999999999999",
        "0." + "1" * 400,
    ],
)
def test_digits_that_no_double_keeps_are_refused(number: str) -> None:
    with pytest.raises(NotJson, match="digits"):
        parse(f'{{"a": [{number}]}}')


@pytest.mark.parametrize(
    ("number", "canonical_text"),
    [
        ("0.10000000000000001", "0.1"),
        ("0.1000000000000000055511151231257827021181583404541015625", "0.1"),
        ("5e-324", "5e-324"),
        ("1E+2", "100.0"),
        ("-0.0", "-0.0"),
        ("-0", "0"),
    ],
)
def test_a_double_is_read_in_each_notation_that_writers_use(
    number: str, canonical_text: str
) -> None:
    assert canonical(parse(number)) == canonical_text


def test_100_levels_are_read_and_one_more_is_not() -> None:
    for opened, closed in (("[", "]"), ('{"a":[', "]}")):
        levels = len(opened.replace('"a":', ""))
        deep = opened * (MAX_DEPTH // levels) + closed * (MAX_DEPTH // levels)
        assert canonical(parse(deep)) == deep
        for deeper in (f"[{deep}]", f"[0,{deep},[]]"):
            with pytest.raises(NotJson):
                parse(deeper)


def test_brackets_in_strings_are_no_levels() -> None:
    text = json.dumps(["[{" * 1000, '"\\"[' * 1000, "\\"])
    assert canonical(parse(text)) == text.replace(", ", ",")


def test_what_is_never_closed_is_called_that() -> None:
    with pytest.raises(NotJson, match="Expecting"):
        parse("[[1]," * 90 + "[0]")


@pytest.mark.parametrize(
    "text",
    [
        '{"secret": 1, "secret": 2}',
        r'{"secret": "\ud800"}',
        '{"a": "secret',
        r'{"a": "\secret"}',
        '{"a": 7355608' + "0" * 400 + "}",
        '{"a": 7355608e400}',
    ],
)
def test_a_refusal_never_quotes_the_text(text: str) -> None:
    with pytest.raises(NotJson) as refused:
        parse(text)
    assert "secret" not in str(refused.value)
    assert "7355608" not in str(refused.value)


def test_the_largest_numbers_of_a_double_are_read_exactly() -> None:
    assert parse("1.7976931348623157e308") == 1.7976931348623157e308
    assert parse(str(10**308)) == 10**308


def test_an_integer_and_a_float_of_its_value_are_two_values() -> None:
    assert canonical(parse("1")) != canonical(parse("1.0"))


@given(json_values)
def test_canonical_text_means_the_value_that_it_was_made_of(value: Any) -> None:
    again = parse(canonical(value))
    assert again == value
    assert canonical(again) == canonical(value)


@given(json_values, st.data())
def test_order_of_names_blanks_and_escapes_never_matter(value: Any, data: st.DataObject) -> None:
    assert canonical(parse(_written_anew(value, data))) == canonical(value)


@given(json_values)
def test_canonical_text_has_no_line_breaks_and_no_needless_bytes(value: Any) -> None:
    assert len(canonical(value)) <= len(json.dumps(value))
    assert "\n" not in canonical(value)


@given(texts)
def test_characters_beyond_ascii_are_not_escaped(text: str) -> None:
    beyond = "".join(character for character in text if ord(character) > 0x9F)
    assert canonical(beyond) == f'"{beyond}"'


def _written_anew(value: Any, data: st.DataObject) -> str:
    """The same value in another of its many forms."""
    blank = data.draw(st.sampled_from(["", " ", "\n", "\t ", "\r\n"]))
    if isinstance(value, dict):
        names = data.draw(st.permutations(list(value)))
        members = (
            f"{_written_anew(name, data)}{blank}:{blank}{_written_anew(value[name], data)}"
            for name in names
        )
        return f"{blank}{{{blank}{f'{blank},'.join(members)}}}{blank}"
    if isinstance(value, list):
        return f"[{f',{blank}'.join(_written_anew(element, data) for element in value)}{blank}]"
    if isinstance(value, str):
        return f'"{"".join(_character_anew(character, data) for character in value)}"'
    if isinstance(value, float) and not math.isinf(value):
        return data.draw(st.sampled_from([repr(value), f"{value:.16E}", f"{Decimal(value):e}"]))
    return json.dumps(value)


def _character_anew(character: str, data: st.DataObject) -> str:
    utf_16 = character.encode("utf-16-be")
    units = [utf_16[i : i + 2].hex() for i in range(0, len(utf_16), 2)]
    escaped = "".join(f"\\u{unit}" for unit in units)
    shorter = json.dumps(character, ensure_ascii=False)[1:-1]
    return data.draw(st.sampled_from([shorter, escaped, escaped.upper().replace("\\U", "\\u")]))
