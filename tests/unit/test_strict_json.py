import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deduplication.strict_json import NotJson, canonical, parse
from tests.unit.samples import json_values, texts


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "Expecting value at line 1, column 1", id="empty"),
        pytest.param("   ", "Expecting value", id="blank"),
        pytest.param("\ufeff{}", "BOM", id="byte order mark"),
        pytest.param("NaN", "NaN is not JSON", id="NaN"),
        pytest.param('{"a": [Infinity]}', "Infinity is not JSON", id="Infinity"),
        pytest.param("-Infinity", "-Infinity is not JSON", id="-Infinity"),
        pytest.param('{"a": 1,}', "at line 1, column", id="trailing comma in an object"),
        pytest.param("[1,]", "at line 1, column", id="trailing comma in an array"),
        pytest.param('{"a": {"b": 1}', "at line 1, column", id="truncated object"),
        pytest.param('{"a": "b', "Unterminated string", id="truncated string"),
        pytest.param("{} {}", "Extra data", id="two values"),
        pytest.param("{'a': 1}", "double quotes", id="single quotes"),
        pytest.param('{"a": "b\nc"}', "control character", id="line break in a string"),
        pytest.param("01", "Extra data", id="leading zero"),
        pytest.param("+1", "Expecting value", id="leading plus"),
        pytest.param(".5", "Expecting value", id="fraction without a whole"),
        pytest.param("True", "Expecting value", id="Python's True"),
        pytest.param('{"a": 1, "a": 1}', "a name stands twice in one object", id="name twice"),
        pytest.param(
            '[{"b": {"a": 1, "\\u0061": 2}}]', "a name stands twice", id="name twice, once escaped"
        ),
        pytest.param(r'{"a": "\ud800"}', "lone surrogate U+D800", id="lone surrogate"),
        pytest.param(r'{"\udfff": 1}', "lone surrogate U+DFFF", id="lone surrogate in a name"),
        pytest.param("1e400", "too large for an IEEE 754 double", id="float beyond a double"),
        pytest.param("[-1e400]", "too large for an IEEE 754 double", id="and below"),
        pytest.param("1" + "0" * 309, "too large for an IEEE 754", id="integer beyond a double"),
        pytest.param("9" * 5000, "too large for an IEEE 754", id="more than 4,300 digits"),
        pytest.param("-" + "9" * 5000, "too large for an IEEE 754", id="and negative"),
        pytest.param("[" * 100_000 + "]" * 100_000, "nested too deeply", id="deep arrays"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too", id="deep objects"),
    ],
)
def test_what_is_not_strict_json_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(NotJson) as refused:
        parse(text)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"secret": 1, "secret": 2}',
        r'{"secret": "\ud800"}',
        '{"a": "secret',
        '{"a": secret}',
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


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse(r'"\ud83d\ude00"') == "\U0001f600"


def test_the_largest_numbers_of_a_double_are_read_exactly() -> None:
    assert parse("1.7976931348623157e308") == 1.7976931348623157e308
    assert parse(str(10**308)) == 10**308


def test_integers_beyond_2_to_the_53_stay_exact() -> None:
    assert canonical(parse("9007199254740993")) == "9007199254740993"


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
        return data.draw(st.sampled_from([repr(value), f"{value:.17e}", f"{value:.20E}"]))
    return json.dumps(value)


def _character_anew(character: str, data: st.DataObject) -> str:
    utf_16 = character.encode("utf-16-be")
    units = [utf_16[i : i + 2].hex() for i in range(0, len(utf_16), 2)]
    escaped = "".join(f"\\u{unit}" for unit in units)
    shorter = json.dumps(character, ensure_ascii=False)[1:-1]
    return data.draw(st.sampled_from([shorter, escaped, escaped.upper().replace("\\U", "\\u")]))
