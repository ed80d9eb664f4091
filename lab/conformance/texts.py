"""What producers write: bodies, ids and attributes that a reader has to tell apart, or refuse.

Each case is a few messages, a minute apart, for a reader that was set up in one way.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.conformance.queues import Attributes

MOST_INPUT_BYTES = 256 * 1024 - 1024
"""Of an execution's input; see `actonce_core.message`."""


@dataclass(frozen=True, slots=True)
class Written:
    """A message as it is sent.

    Attributes:
        known_by: its id; None: it is no message.
        text: the body.
        acted_on_as: the text that is acted on in its place, because it says the same; None: itself.
        attributes: the producer's.
        deduplication_id: on a FIFO queue.
    """

    known_by: str | None
    text: str
    acted_on_as: str | None = None
    attributes: Attributes = field(default_factory=dict)
    deduplication_id: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """Messages, and how their reader is set up.

    `is_refused_start`: Step Functions refuses a start that it should not.
    """

    messages: tuple[Written, ...]
    message_id_from: str = "body:message_id"
    content_from: str = ""
    is_refused_start: bool = False


def _text(value: str) -> Mapping[str, Any]:
    return {"dataType": "String", "stringValue": value}


def _one(known_by: str | None, text: str) -> Case:
    return Case((Written(known_by, text),))


def _none(*texts: str) -> tuple[Case, ...]:
    return tuple(_one(None, text) for text in texts)


def _of_id(message_id: str) -> Written:
    return Written(message_id, json.dumps({"message_id": message_id}))


def _number(written: str) -> Case:
    return _one("a", f'{{"message_id":"a","n":{written}}}')


def _no_number(written: str) -> Case:
    return _one(None, f'{{"message_id":"a","n":{written}}}')


def _sized(size: int, filling: str = "x", *, blanks: int = 0) -> str:
    """A body whose message, as an execution's input, has so many bytes."""
    beside = len('{"body":{"message_id":"a","x":""},"message_id":"a"}')
    filled = filling * ((size - beside) // len(filling.encode()))
    return f'{{"message_id":"a",{" " * blanks}"x":"{filled}"}}'


def _deep(levels: int) -> str:
    return f'{{"message_id":"a","n":{"[" * (levels - 1)}{"]" * (levels - 1)}}}'


_LONG_ID = "x" * 2049
_HASHED = f"sha256-{hashlib.sha256(_LONG_ID.encode()).hexdigest()}"
_EXACTLY_A_TENTH = "0.1000000000000000055511151231257827021181583404541015625"

_SAME = (
    # Blanks, the order of names and needless escapes say nothing.
    Case(
        (
            Written("a", '{"message_id":"a","n":[1,"é"]}'),
            Written("a", ' {"n" : [1, "\\u00e9"],\t"message_id" : "a" } '),
        )
    ),
    # 1 and the text 1 are one id.
    Case(
        (
            Written("7", '{"message_id":7,"n":1}'),
            Written("7", '{"message_id":"7","n":1}', '{"message_id":7,"n":1}'),
        )
    ),
    Case(
        (
            Written("7", '{"a":{"b":7,"c":1}}'),
            Written("7", '{"a":{"c":1,"b":"7"}}', '{"a":{"b":7,"c":1}}'),
        ),
        "body:a.b",
    ),
    Case(
        (
            Written("7", '{"a":[{"b":"7"}],"n":1}'),
            Written("7", '{"n":1,"a":[{"b":"7"}]}'),
        ),
        "body:a[0].b",
    ),
)
_OTHER = (
    # Two contents under one id.
    Case((Written("7", '{"message_id":7,"n":1}'), Written("7", '{"message_id":"7","n":1.0}'))),
    Case((Written("7", '{"a":{"b":7}}'), Written("7", '{"a":{"b":"7","c":0}}')), "body:a.b"),
    Case((Written("7", '{"a":[{"b":7}]}'), Written("7", '{"a":[{"b":"7"}]}')), "body:a[0].b"),
    Case((Written("a", '{"message_id":"a","n":1}'), Written("a", '{"message_id":"a","n":-1}'))),
)
_BY_CONTENT = (
    Case(
        (
            Written("a", '{"message_id":"a","content":1,"tries":1}'),
            Written(
                "a",
                '{"message_id":"a","content":1,"tries":2}',
                '{"message_id":"a","content":1,"tries":1}',
            ),
        ),
        content_from="content",
    ),
    Case(
        (
            Written("a", '{"message_id":"a","content":1,"tries":1}'),
            Written("a", '{"message_id":"a","content":2,"tries":1}'),
        ),
        content_from="content",
    ),
    # Without such a content the whole body is; also where it cannot be worked out.
    Case(
        (
            Written("a", '{"message_id":"a","tries":1}'),
            Written("a", '{"message_id":"a","tries":2}'),
        ),
        content_from="content",
    ),
    Case(
        (
            Written("a", '{"message_id":"a","content":1,"tries":1}'),
            Written("a", '{"message_id":"a","content":1,"tries":2}'),
        ),
        content_from="length(content)",
    ),
)
_IDS = (
    *(Case((_of_id("x" * length),)) for length in (1, 80, 81, 2048)),
    # No two ids share a name, nor a row.
    Case((_of_id(_LONG_ID), _of_id(_HASHED))),
    Case((_of_id("é b"), _of_id("e b"))),
    Case((_of_id("x" * 81), _of_id("x" * 82))),
    *_none(
        '{"n":1}',
        '{"message_id":null}',
        '{"message_id":""}',
        '{"message_id":true}',
        '{"message_id":1.5}',
        '{"message_id":["a"]}',
        '{"message_id":{"a":1}}',
        '{"message_id":"a\\ufffe"}',
        '"text"',
        "[1]",
    ),
    Case((Written("y", '{"x":["x","y"]}'),), "body:x[1:][0]"),
    Case((Written("x-y", '{"x":"x","y":"y"}'),), "body:join('-', [x, y])"),
    Case((Written(None, '{"x":"x","y":1}'),), "body:join('-', [x, y])"),
)
_ELSEWHERE = (
    Case((Written("b", '{"n":1}', attributes={"id": _text("b")}),), "attribute:id"),
    Case((Written(None, '{"n":1}', attributes={"other": _text("b")}),), "attribute:id"),
    Case(
        (Written(None, '{"n":1}', attributes={"id": {"dataType": "Binary", "binaryValue": "YQ"}}),),
        "attribute:id",
    ),
    Case(
        (Written(None, f'"{"x" * MOST_INPUT_BYTES}"', attributes={"id": _text(f"{_LONG_ID} b")}),),
        "attribute:id",
    ),
    # Sent back by an operator, it has the id that it had.
    Case(
        (
            Written("sqs-1", '{"n":1}'),
            Written("sqs-1", '{"n":1}', attributes={"source_message_id": _text("sqs-1")}),
        ),
        "sqs-message-id",
    ),
)
_ON_FIFO = (
    Case((Written("b", '{"n":1}', deduplication_id="b"),), "deduplication-id"),
    Case(
        (
            Written("b", '{"n":1}', deduplication_id="b"),
            Written(
                "b",
                '{"n":1}',
                attributes={"source_deduplication_id": _text("b")},
                deduplication_id="sent back",
            ),
        ),
        "deduplication-id",
    ),
    Case(
        (
            Written(None, '{"n":1}', deduplication_id="b"),
            Written(None, "no message", deduplication_id="c"),
        )
    ),
)
_ON_STANDARD = (Case((Written(None, '{"n":1}'),), "deduplication-id"),)
_NUMBERS = (
    *map(
        _number,
        (
            *("0", "-1", "1.5", "1.0", "-0.0", "-0", "1e2", "1e22", "1e300", "1e-300", "5e-324"),
            *("0.1", "0.10000000000000001", _EXACTLY_A_TENTH, "0.30000000000000004", "1.50"),
            *("999999999999999", "9007199254740993", "12345678901234567890", "123456789.123456789"),
            *("9" * 308, "1" + "0" * 308, '"1234567890123456"', "1.7976931348623157e308"),
        ),
    ),
    *map(
        _no_number,
        (
            *("1e400", "-1e400", "1e-400", "9" * 309, "1" + "0" * 309, "1" * 400),
            *("0.1234567890123456789", "12345678901234567.5", "1E+999999999999999999999"),
            "1E-999999999999999999999",
            *("NaN", "Infinity", "-Infinity", "01", "1."),
        ),
    ),
)
_FORMS = (
    *_none(
        '{"message_id":"a","message_id":"a"}',
        '{"message_id":"a","n":{"x":1,"x":2}}',
        '{"message_id":"a","n":"\\ud800"}',
        '{"message_id":"a",}',
        '{"message_id":"a"} {}',
        "",
        _deep(101),
        "[" * 101 + "]" * 101,
        '{"n":' * 101 + "1" + "}" * 101,
    ),
    _one("a", '{"message_id":"a","n":{"x:1":":","y":{"x":1}}}'),
    _one("a", _deep(100)),
    _one("a", _deep(100).replace('"n"', '"m":[],"n"')),
    _one("a", '{"message_id":"a","n":[' + ",".join(["[]"] * 200) + "]}"),
    _one("a", '{"message_id":"a","n":"\\ufffe\\uffff\\u0000\\u0007 ok"}'),
    _one("a", '{"message_id":"a","n":"\\ud83d\\ude00\\/"}'),
)
_SIZES = (
    _one("a", _sized(MOST_INPUT_BYTES)),
    _one("a", _sized(MOST_INPUT_BYTES, blanks=400_000)),
    _one("a", _sized(MOST_INPUT_BYTES, "é")),
    _one(None, _sized(MOST_INPUT_BYTES + 1)),
    _one(None, _sized(MOST_INPUT_BYTES + 30_000)),
    _one(None, _sized(MOST_INPUT_BYTES + 2, "é")),
    _one("a", f'{{"message_id":"a","n":[{"1.0e1, " * 40_000}1]}}'),
    _one("a", f'{{"message_id":"a","n":"{chr(92)}u00e9{"x" * 10}{f"{chr(92)}u0041" * 50_000}"}}'),
    _one("a", f'{{"message_id":"a","n":"{f"{chr(92)}/" * 140_000}"}}'),
)
_ATTRIBUTES: Attributes = {
    "trace": _text("1"),
    "seal": {"dataType": "Binary", "binaryValue": "YQ==", "stringValue": None},
}
_REFUSED_BEFORE: Attributes = {
    "reason": _text("not_json"),
    "detail": _text("The body is not strict JSON."),
    "source_message_id": _text("first"),
    "receive_count": {"dataType": "Number", "stringValue": "1"},
}
_HANDED_ON = (
    Case((Written(None, "no message", attributes=_ATTRIBUTES),)),
    Case((Written(None, "no message", attributes=_REFUSED_BEFORE),)),
    Case(
        (
            Written(
                None,
                "no message",
                attributes={**_REFUSED_BEFORE, "source_attributes": _text('{"trace": 1}')},
            ),
        )
    ),
    Case(
        (
            Written(
                None,
                "no message",
                attributes={
                    "source_message_id": _text("first"),
                    "source_deduplication_id": _text("second"),
                },
            ),
        )
    ),
)

_WORDY = tuple(
    _one("a", json.dumps({"message_id": "a", "wordy": characters}))
    for characters in (32 * 1024 - 28, 40 * 1024, 300 * 1024)
)


def _rejected(blanks: int, more: str = "", quotes: int = 120_000) -> Case:
    """A large message that the effect rejects: its dead letter would have the body twice."""
    text = '\\"' * quotes
    return _one("a", f'{{"message_id":"a","poison":true,{more}{" " * blanks}"x":"{text}"}}')


_GIVEN_UP = (
    _rejected(0),
    _rejected(350_000),  # without what was read it has room
    _rejected(700_000),
    _rejected(900_000, '"n":12345678901234567890,', 50_000),
    _one("a", '{"message_id":"a","poison":true,"n":"\\ufffe"}'),
    _one("a", '{"message_id":"a","poison":true,"n":12345678901234567890}'),
    Case((Written("a", '{"message_id":"a","poison":true}', attributes=_ATTRIBUTES),)),
)
_STARTED = (Case((Written(None, '{"message_id":"a"}'),), is_refused_start=True),)

_CASES = (
    *_SAME,
    *_OTHER,
    *_BY_CONTENT,
    *_IDS,
    *_ELSEWHERE,
    *_NUMBERS,
    *_FORMS,
    *_SIZES,
    *_HANDED_ON,
    *_GIVEN_UP,
    *_WORDY,
)


# A parameter that cannot be understood: nothing is acted on, and SQS keeps it in the end.
_NOWHERE = (
    *(
        Case((Written(None, '{"message_id":"a"}', attributes={"": _text("b")}),), message_id_from)
        for message_id_from in (
            "nowhere",
            "body:",
            "body:[",
            "body:nothing(message_id)",
            "attribute:",
        )
    ),
    Case((Written(None, '{"message_id":"a"}'),), content_from="nothing(message_id)"),
)


def cases(*, is_fifo: bool, is_started: bool) -> tuple[Case, ...]:
    """Those for a queue of that type, and for a way that starts executions, or does not."""
    return (
        *_CASES,
        *(_ON_FIFO if is_fifo else _ON_STANDARD),
        *(_STARTED if is_started else ()),
        *_NOWHERE,
    )
