"""What a delivery's message is: its id, name, content, the execution's input; or why it is none."""

import contextlib
import hashlib
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given

from actonce_core import strict_json
from actonce_core.execution import MAX_INPUT_BYTES, execution_input, execution_name, unusable_id
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.reason import Reason
from tests.support.deliveries import delivery, message_ids, text_attribute
from tests.support.snapshots import Snapshot


def read(body: Any, reader: MessageReader | None = None, **of_delivery: Any) -> Message:
    message = (reader or MessageReader()).read(delivery(body, **of_delivery))
    assert isinstance(message, Message), message
    return message


def refuse(body: Any, reader: MessageReader | None = None, **of_delivery: Any) -> Refusal:
    refusal = (reader or MessageReader()).read(delivery(body, **of_delivery))
    assert isinstance(refusal, Refusal), refusal
    return refusal


# ------------------------------------------------------------------ MessageIdFrom, ContentFrom


def attribute(**value: Any) -> dict[str, Any]:
    """A producer's attribute `id`."""
    return {"message_attributes": {"id": value}}


FIRST = text_attribute("sqs-0")
NO_IDS: list[Any] = [{}, [], "null", {"Id": "m"}]
Sent = tuple[str, Any, dict[str, Any]]
SENT: dict[str, Sent] = {
    # Where the stack says.
    "a field": ("body:message_id", {"message_id": "m-1"}, {}),
    "a field of a field": ('body:order."order-id"', {"order": {"order-id": 7}}, {}),
    "two fields": (
        "body:join('-', [tenant, to_string(number)])", {"tenant": "a", "number": 5}, {},
    ),
    "the body": ("body:@", '"m-1"', {}),
    "an attribute": ("attribute:id", {}, attribute(**text_attribute("17"))),
    "a number": ("attribute:id", {}, attribute(dataType="Number", stringValue="17")),
    "bytes": ("attribute:id", {}, attribute(dataType="Binary", binaryValue="AAE=")),
    "a deduplication id": ("deduplication-id", {}, {"attributes": {"MessageDeduplicationId": "d"}}),
    "a deduplication id's first": (
        "deduplication-id", {}, {
            "attributes": {"MessageDeduplicationId": "of the second send"},
            "message_attributes": {"source_deduplication_id": text_attribute("d")},
        },
    ),
    "a first one on a standard queue": (
        "deduplication-id", {},
        {"message_attributes": {"source_deduplication_id": text_attribute("d")}},
    ),
    "no deduplication id": ("deduplication-id", {}, {}),
    "SQS's": ("sqs-message-id", {}, {}),
    "SQS's first": ("sqs-message-id", {}, {"message_attributes": {"source_message_id": FIRST}}),
    # Expressions that fail over a body.
    "a sum of no list": ("body:sum(number)", {"number": 1}, {}),
    "a number in a text": ("body:contains(message_id, `1`)", {"message_id": "m"}, {}),
    "too large an average": ("body:avg([`1e308`, number])", {"number": 10**308}, {}),
    # What is neither a text of 2,048 bytes nor an integer is no id; and by its decimal text an
    # integer is one id and another content.
    **{
        f"an id {one!r}": ("body:message_id", {"message_id": one, "practice": "main"}, {})
        for one in (
            *(1, "1", 0, "0", -5, "-5"),
            *(True, None, 1.0, 1e3, "", ["secret"], {"secret": "secret"}),
        )
    },
    "an id that is too long": ("body:message_id", {"message_id": "x" * 2049}, {}),
    **{f"no id in {one!r}": ("body:message_id", one, {}) for one in NO_IDS},
    # To the letter.
    "escapes and blanks": ("body:message_id", '{ "b": "\\u00e9",\n "message_id": 1 }', {}),
    # Refused wherever the id is.
    "no JSON": ("body:message_id", '{"secret": 1', {}),
    "no JSON, an id elsewhere": ("sqs-message-id", "{", {}),
    "a name twice": ("body:message_id", '{"message_id": "secret", "message_id": 1}', {}),
    "too large": ("body:message_id", {"message_id": "m", "secret": "secret" * 100_000}, {}),
    # Each quote and line break of a body counts twice.
    "too many quotes": (
        "body:message_id", '{"message_id":"m","a":["' + '","' * 60_000 + '"]}', {},
    ),
}  # fmt: skip


def test_message_or_refusal_of_each_delivery(snapshot: Snapshot) -> None:
    lines = []
    for name, (source, body, of_delivery) in SENT.items():
        found = MessageReader(source).read(delivery(body, **of_delivery))
        if isinstance(found, Refusal):
            assert "secret" not in found.detail
            assert (found.detail[-1], "\n" in found.detail) == (".", False)
            lines.append(f"{name}: {found.reason} of {found.message_id!r}. {found.detail}\n")
        else:
            lines.append(
                f"{name}: {found.message_id!r} as {found.execution_name}, "
                f"{found.fingerprint}, {found.execution_input}\n"
            )
    snapshot("messages.txt", "".join(lines))
    read_as = read({"message_id": "m", "a": [1, 2]}).fingerprint
    assert read_as == hashlib.sha256(b'{"a":[1,2],"message_id":"m"}').hexdigest()


@pytest.mark.parametrize("source", ["body", "body: ", "attribute:", "deduplication-id:x", "id"])
def test_any_other_form_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="MessageIdFrom"):
        MessageReader(source)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        *((unreadable, "") for unreadable in ("a b", "[", "a || ")),
        # Functions that there are not, wherever they stand.
        ("lower(a)", "'lower'"),
        ("a || b[?upper(c) == 'X'] | [0]", "'upper'"),
        ("a[1:2].{b: upper(@)}", "'upper'"),
    ],
)
def test_an_expression_that_cannot_work_is_refused_at_once(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"MessageIdFrom: .*{message}"):
        MessageReader(f"body:{expression}")
    with pytest.raises(ValueError, match=f"ContentFrom: .*{message}"):
        MessageReader(content_from=expression)


# ------------------------------------------------------------------ the content


PICKED = "{practice: practice, patient: patient}"


@pytest.mark.parametrize(
    ("content_from", "change", "is_the_same"),
    [
        ("", {"retry": 2}, False),
        (PICKED, {"retry": 2}, True),
        (PICKED, {"patient": 2}, False),
        *((f"empty[{index}]", {"retry": 2}, True) for index in range(5)),
        # It finds nothing, or fails, so the whole body counts.
        ("missing", {"retry": 2}, False),
        ("length(retry)", {"retry": 2}, False),
        ("contains(message_id, `1`)", {"retry": 2}, False),
        ("to_number(nan)", {"retry": 2}, False),
    ],
)
def test_content_from_chooses_what_is_compared(
    content_from: str, change: dict[str, Any], is_the_same: bool
) -> None:
    reader = MessageReader(content_from=content_from)
    body = {"message_id": "m", "practice": "a", "patient": 1, "retry": 1}
    body |= {"nan": "nan", "empty": [False, 0, "", [], {}]}
    one, other = read(body, reader), read(body | change, reader)
    assert (one.fingerprint == other.fingerprint) is is_the_same
    # The execution gets the whole body all the same.
    assert json.loads(json.loads(other.execution_input)["body"]) == body | change


HALF_THERE = [
    # An expression that JMESPath answers where the field is missing, and two bodies that differ in
    # something else.
    ("{amount: amount}", {"Amount": 5}, {"Amount": 6000}),
    ("{amount: amount}", {"amount": None, "fee": 1}, {"amount": None, "fee": 2}),
    ("[amount]", {"Amount": 5}, {"Amount": 6000}),
    ("{first: items[0].sku}", {"items": [], "n": 1}, {"items": [], "n": 2}),
    ("items[*].sku", {"items": [{"sku": 1}, {"SKU": 2}]}, {"items": [{"sku": 1}, {"SKU": 3}]}),
    ("items[].sku", {"items": [[{"SKU": 2}]]}, {"items": [[{"SKU": 3}]]}),
    ("items[1:]", {"items": [5]}, {"items": [6]}),
    ("items[?kind=='a'].n", {"items": [{"kind": "A", "n": 1}]}, {"items": [{"kind": "A", "n": 2}]}),
    ("to_string(amount)", {"Amount": 5}, {"Amount": 6000}),
    ("not_null(amount, total)", {"Amount": 5}, {"Amount": 6000}),
    ("amount == total", {"Amount": 5}, {"Amount": 6000}),
    ("!amount", {"Amount": 5}, {"Amount": 6000}),
    ("amount || total", {"Amount": 5}, {"Amount": 6000}),
    ("map(&sku, items)", {"items": [{"SKU": 2}]}, {"items": [{"SKU": 3}]}),
    # Half of what `||` would stand for is there.
    ("{amount: amount, day: day} || 'none'", {"amount": 5}, {"amount": 6000}),
    ("items[*].n || 'none'", {"items": [{"n": 5}, {}]}, {"items": [{"n": 6000}, {}]}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "body", "other"), HALF_THERE)
def test_messages_that_lack_a_part_are_compared_whole(
    expression: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    reader = MessageReader(content_from=expression)
    first, second = (read({"message_id": "m"} | one, reader) for one in (body, other))
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize("content_from", ["payload", "{a: payload.a}", "[payload][?a] | [0]"])
def test_a_body_that_is_compared_whole_is_never_the_same_as_a_part(content_from: str) -> None:
    id_elsewhere = MessageReader("sqs-message-id", content_from)
    whole = read({"a": 1}, id_elsewhere)
    part = read({"payload": {"a": 1}}, id_elsewhere)
    assert whole.fingerprint != part.fingerprint


def test_a_default_stands_for_what_is_missing() -> None:
    reader = MessageReader("body:order.id || id", "{amount: amount, note: note || 'none'}")
    message = {"id": "m", "amount": 1, "sent": 1}
    assert read(message, reader).message_id == "m"
    assert read({"order": {"id": "n"}, **message}, reader).message_id == "n"
    again = {**message, "sent": 2}
    assert read(message, reader).fingerprint == read(again, reader).fingerprint
    assert read(message, reader).fingerprint != read({**again, "note": "x"}, reader).fingerprint


@pytest.mark.parametrize(
    "expression",
    [
        "join('-', [tenant, to_string(number)])",
        "to_string([tenant, number])",
        "type(number)",
        "join('-', map(&to_string(number), [@]))",
        "join('-', items[*].id)",
    ],
)
@pytest.mark.parametrize("rest", [{}, {"number": None}, {"items": []}])
def test_an_id_with_a_part_missing_is_no_id(expression: str, rest: dict[str, Any]) -> None:
    refusal = refuse({"tenant": "a", "request": 1} | rest, MessageReader(f"body:{expression}"))
    assert refusal.reason is Reason.NO_MESSAGE_ID


# ------------------------------------------------------------------ the execution's input


def test_255_kib_of_utf_8_are_taken_and_one_byte_more_is_not() -> None:
    left = MAX_INPUT_BYTES - len(execution_input("m", '{"message_id": "m", "text": ""}').encode())
    text = "€" * (left // 3) + "x" * (left % 3)

    message = read(f'{{"message_id": "m", "text": "{text}"}}')
    assert len(message.execution_input.encode()) == MAX_INPUT_BYTES == 261_120
    refusal = refuse(f'{{"message_id": "m", "text": "{text}x"}}')
    assert (refusal.reason, refusal.message_id) == (Reason.TOO_LARGE, "m")


def test_a_body_that_is_too_large_is_not_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strict_json, "parse", None)
    body = '{"message_id":"m","a":[' + "[]," * 100_000 + "[]]}"
    attribute, long = (
        {"message_attributes": {"id": text_attribute(one)}} for one in ("m-1", "m" * 2049)
    )
    for source, of_delivery, message_id in (
        ("body:message_id", {}, None),
        ("attribute:id", attribute, "m-1"),
        ("attribute:id", {}, None),
        ("attribute:id", long, None),
        ("sqs-message-id", {}, "sqs-1"),
    ):
        refusal = refuse(body, MessageReader(source), **of_delivery)
        assert (refusal.reason, refusal.message_id) == (Reason.TOO_LARGE, message_id)


def test_two_bodies_are_never_in_memory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def parse(_: str) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
            pytest.fail("Two bodies are parsed at once.")
        return {"message_id": "m-1"}

    monkeypatch.setattr(strict_json, "parse", parse)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(read, ["{}", "{}"]))


SAFE_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")
HASH_OF_A = "sha256-" + hashlib.sha256(b"a b").hexdigest()


@given(message_ids)
@example("x" * 81)
@example("a\n")
@example("٣")
@example("sha256-" + "0" * 64)
@example(HASH_OF_A)
def test_every_id_has_an_execution_name_of_its_own(
    message_id: str,
) -> None:
    name = execution_name(message_id)
    assert SAFE_NAME.fullmatch(name)
    assert execution_name("order-1_B") == "order-1_B"
    if name != message_id:
        assert name == f"sha256-{hashlib.sha256(message_id.encode()).hexdigest()}"
        assert execution_name(name) != name
    if unusable_id(message_id) is None:
        assert read({"message_id": message_id}).message_id == message_id


@pytest.mark.parametrize(
    ("message_id", "is_usable"),
    [
        ("x" * 2048, True),
        ("x" * 2049, False),
        ("é" * 1024, True),
        ("é" * 1024 + "x", False),
        ("\ufffe", False),
        ("\x00", True),
    ],
)
def test_an_id_is_usable_up_to_2048_bytes_that_sqs_carries(
    message_id: str, is_usable: bool
) -> None:
    assert (unusable_id(message_id) is None) is is_usable
