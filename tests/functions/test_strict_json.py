"""JSON that every reader reads alike, or a refusal."""

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
    ("text", "said"),
    [
        *((text, "") for text in ("", "NaN", '{"a": [Infinity]}', "-Infinity", '{"a": 1,}')),
        *((text, "") for text in ('{"a": "b', "{} {}", "{'a': 1}", "01", "True", "1e400")),
        ("\ufeff{}", ""),
        ('{"a": "b\nc"}', ""),
        ('{"a": 1, "a": 1}', ""),
        ('[{"b": {"a": 1, "\\u0061": 2}}]', ""),
        (r'{"a": "\ud800"}', ""),
        (r'{"\udfff": 1}', ""),
        ("[-1e400]", ""),
        ("1" + "0" * 309, ""),  # an integer beyond a double
        ("-" + "9" * 5000, ""),  # more than Python's 4,300 digits
        ("[" * 100_000 + "]" * 100_000, ""),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, ""),
        ("[[1]," * 90 + "[0]", "Expecting"),  # never closed
        # Digits that no double keeps.
        ("[0.1000000000000000012]", "digits"),
        ("[9007199254740992.5]", "digits"),
        ("[1e-400]", "digits"),
        ("[0e99999999999999999999]", "digits"),
        ("[0." + "1" * 400 + "]", "digits"),
        # None of these is quoted.
        ('{"secret": 1, "secret": 2}', ""),
        (r'{"secret": "\ud800"}', ""),
        ('{"a": "secret', ""),
        (r'{"a": "\secret"}', ""),
        ('{"a": 7355608' + "0" * 400 + "}", ""),
        ('{"a": 7355608e400}', ""),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_strict_json_is_refused_in_one_sentence_that_never_quotes_it(
    text: str, said: str
) -> None:
    with pytest.raises(NotJson, match=said or None) as refused:
        parse(text)
    assert str(refused.value)
    for never in ("\n", "secret", "7355608"):
        assert never not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "canonical_text"),
    [
        ("0.10000000000000001", "0.1"),
        ("0.1000000000000000055511151231257827021181583404541015625", "0.1"),
        ("5e-324", "5e-324"),
        ("1E+2", "100.0"),
        ("-0.0", "-0.0"),
        ("-0", "0"),
        ("1", "1"),
        ("1.0", "1.0"),  # another value
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("1" + "0" * 308, "1" + "0" * 308),
        # Brackets in strings are no levels.
        (
            json.dumps(["[{" * 1000, '"\\"[' * 1000]),
            '["' + "[{" * 1000 + '","' + r"\"\\\"[" * 1000 + '"]',
        ),
    ],
    ids=lambda text: text[:20],
)
def test_a_value_is_read_in_each_notation_that_writers_use(text: str, canonical_text: str) -> None:
    assert canonical(parse(text)) == canonical_text


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":[', "]}")])
def test_100_levels_are_read_and_one_more_is_not(opened: str, closed: str) -> None:
    times = MAX_DEPTH // len(closed)
    deep = opened * times + closed * times
    assert canonical(parse(deep)) == deep
    for deeper in (f"[{deep}]", f"[0,{deep},[]]"):
        with pytest.raises(NotJson):
            parse(deeper)


@given(json_values)
def test_canonical_text_means_the_value_that_it_was_made_of_without_a_needless_byte(
    value: Any,
) -> None:
    text = canonical(value)
    again = parse(text)
    assert again == value
    assert canonical(again) == text
    assert len(text) <= len(json.dumps(value))
    assert "\n" not in text


@given(json_values, st.data())
def test_order_of_names_blanks_and_escapes_never_matter(value: Any, data: st.DataObject) -> None:
    assert canonical(parse(_written_anew(value, data))) == canonical(value)


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
