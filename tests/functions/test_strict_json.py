"""JSON that every reader reads alike, or a refusal."""

import json
from typing import Any

import pytest
from hypothesis import given

from actonce_core.strict_json import MAX_DEPTH, NotJson, canonical, parse
from tests.support.deliveries import json_values


@pytest.mark.parametrize(
    ("text", "match"),
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
def test_anything_else_is_refused_without_quoting_it(text: str, match: str) -> None:
    with pytest.raises(NotJson, match=match or None) as refused:
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
        (' {\n"b" :[ 1 ,\t2 ] , "a": {} }\r\n', '{"a":{},"b":[1,2]}'),
        (r'"\u00e9\ud83d\ude00\/\u0041"', '"é\U0001f600/A"'),
        # Brackets in strings are no levels.
        (
            json.dumps(["[{" * 1000, '"\\"[' * 1000]),
            '["' + "[{" * 1000 + '","' + r"\"\\\"[" * 1000 + '"]',
        ),
    ],
    ids=lambda text: text[:20],
)
def test_each_notation_of_a_value_has_one_canonical_text(text: str, canonical_text: str) -> None:
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
def test_canonical_text_is_parsed_to_its_value(value: Any) -> None:
    text = canonical(value)
    again = parse(text)
    assert again == value
    assert canonical(again) == text
