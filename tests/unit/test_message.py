import contextlib
import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given

from actonce_core import strict_json
from actonce_core.execution import MAX_INPUT_BYTES, execution_input
from actonce_core.message import Message, MessageReader, Reason, Refusal
from tests.support.deliveries import delivery, message_ids, text_attribute


def read(body: Any, reader: MessageReader | None = None, **of_delivery: Any) -> Message:
    message = (reader or MessageReader()).read(delivery(body, **of_delivery))
    assert isinstance(message, Message), message
    return message


def refuse(body: Any, reader: MessageReader | None = None, **of_delivery: Any) -> Refusal:
    refusal = (reader or MessageReader()).read(delivery(body, **of_delivery))
    assert isinstance(refusal, Refusal), refusal
    return refusal


def body_whose_input_has(size: int, character: str = "x") -> str:
    """A body that as an execution's input has that many bytes of UTF-8."""
    left = size - len(execution_input("m", '{"message_id": "m", "text": ""}').encode())
    characters, rest = divmod(left, len(character.encode()))
    return f'{{"message_id": "m", "text": "{character * characters}{"x" * rest}"}}'


class TestMessageIdFrom:
    @pytest.mark.parametrize(
        ("source", "body", "message_id"),
        [
            ("body:message_id", {"message_id": "m-1"}, "m-1"),
            ('body:order."order-id"', {"order": {"order-id": 7}}, "7"),
            ("body:join('-', [tenant, to_string(number)])", {"tenant": "a", "number": 5}, "a-5"),
            ("body:@", '"m-1"', "m-1"),
        ],
    )
    def test_a_jmespath_over_the_body(self, source: str, body: Any, message_id: str) -> None:
        assert read(body, MessageReader(source)).message_id == message_id

    @pytest.mark.parametrize("data_type", ["String", "Number"])
    def test_a_message_attribute(self, data_type: str) -> None:
        attribute = {"dataType": data_type, "stringValue": "17"}
        message = read({}, MessageReader("attribute:id"), message_attributes={"id": attribute})
        assert message.message_id == "17"

    def test_a_binary_message_attribute_is_no_id(self) -> None:
        attribute = {"dataType": "Binary", "binaryValue": "AAE="}
        refusal = refuse({}, MessageReader("attribute:id"), message_attributes={"id": attribute})
        assert refusal.reason == Reason.NO_MESSAGE_ID

    def test_the_deduplication_id_of_a_fifo_queue(self) -> None:
        reader = MessageReader("deduplication-id")
        attributes = {"MessageDeduplicationId": "d-1"}
        assert read({}, reader, attributes=attributes).message_id == "d-1"
        assert refuse({}, reader).reason == Reason.NO_MESSAGE_ID

    def test_the_sqs_message_id(self) -> None:
        message = read({}, MessageReader("sqs-message-id"), sqs_message_id="sqs-9")
        assert message.message_id == "sqs-9"

    def test_the_sqs_message_id_of_a_message_that_was_sent_back_is_its_first(self) -> None:
        message = read(
            {},
            MessageReader("sqs-message-id"),
            sqs_message_id="sqs-2",
            message_attributes={"source_message_id": text_attribute("sqs-1")},
        )
        assert message.message_id == "sqs-1"

    @pytest.mark.parametrize(
        "source",
        [
            "body",
            "body: ",
            "attribute:",
            "deduplication-id:x",
            "message_id",
        ],
    )
    def test_any_other_form_is_refused(self, source: str) -> None:
        with pytest.raises(ValueError, match="MessageIdFrom"):
            MessageReader(source)


class TestExpressions:
    @pytest.mark.parametrize("expression", ["a b", "[", "a || "])
    def test_one_that_cannot_be_read_is_refused_at_once(self, expression: str) -> None:
        with pytest.raises(ValueError, match="MessageIdFrom: "):
            MessageReader(f"body:{expression}")
        with pytest.raises(ValueError, match="ContentFrom: "):
            MessageReader(content_from=expression)

    @pytest.mark.parametrize(
        "expression", ["lower(a)", "a || b[?upper(c) == 'X'] | [0]", "a[1:2].{b: upper(@)}"]
    )
    def test_one_with_a_function_that_there_is_not_is_refused_at_once(
        self, expression: str
    ) -> None:
        with pytest.raises(ValueError, match=r"MessageIdFrom: .*'(lower|upper)'"):
            MessageReader(f"body:{expression}")
        with pytest.raises(ValueError, match=r"ContentFrom: .*'(lower|upper)'"):
            MessageReader(content_from=expression)

    @pytest.mark.parametrize(
        "expression", ["sum(number)", "contains(message_id, `1`)", "avg([`1e308`, number])"]
    )
    def test_one_that_fails_over_a_body_finds_no_id(self, expression: str) -> None:
        body = {"message_id": "m", "number": 10**308}
        assert refuse(body, MessageReader(f"body:{expression}")).reason == Reason.NO_MESSAGE_ID


class TestMessageId:
    @pytest.mark.parametrize("value", [True, None, 1.0, 1e3, "", ["m"], {"id": "m"}])
    def test_what_is_neither_a_text_nor_an_integer_is_none(self, value: Any) -> None:
        assert refuse({"message_id": value}).reason == Reason.NO_MESSAGE_ID

    @pytest.mark.parametrize("body", [{}, [], "null", {"Message_Id": "m"}])
    def test_a_body_without_one_is_refused(self, body: Any) -> None:
        assert refuse(body).reason == Reason.NO_MESSAGE_ID

    def test_a_body_that_is_not_json_is_refused_wherever_the_id_is(self) -> None:
        for source in ("body:message_id", "sqs-message-id"):
            assert refuse("{", MessageReader(source)).reason == Reason.NOT_JSON

    @pytest.mark.parametrize("number", [1, 0, -5])
    def test_an_integer_and_its_decimal_text_are_one_id_and_two_contents(self, number: int) -> None:
        by_number = read({"message_id": number, "practice": "main"})
        by_text = read({"message_id": str(number), "practice": "main"})
        assert by_number.message_id == by_text.message_id == str(number)
        assert by_number.execution_name == by_text.execution_name
        assert by_number.fingerprint != by_text.fingerprint

    def test_1_and_01_are_two_ids(self) -> None:
        assert read({"message_id": 1}).message_id != read({"message_id": "01"}).message_id

    def test_blanks_belong_to_an_id(self) -> None:
        assert read({"message_id": " m "}).message_id == " m "
        assert read({"message_id": " "}).message_id == " "

    @given(message_ids)
    def test_any_text_is_one(self, message_id: str) -> None:
        message = read({"message_id": message_id})
        assert message.message_id == message_id
        assert json.loads(message.execution_input)["message_id"] == message_id


class TestContent:
    def test_the_fingerprint_is_the_sha_256_of_the_body_s_canonical_json(self) -> None:
        expected = hashlib.sha256(b'{"a":[1,2],"message_id":"m"}').hexdigest()
        assert read({"message_id": "m", "a": [1, 2]}).fingerprint == expected

    def test_without_content_from_any_difference_counts(self) -> None:
        one, other = {"message_id": "m", "retry": 1}, {"message_id": "m", "retry": 2}
        assert read(one).fingerprint != read(other).fingerprint

    def test_blank_content_from_means_the_whole_body(self) -> None:
        body = {"message_id": "m", "retry": 1}
        assert read(body, MessageReader(content_from=" ")).fingerprint == read(body).fingerprint

    def test_only_what_content_from_names_counts(self) -> None:
        reader = MessageReader(content_from="{practice: practice, patient: patient}")
        one = {"message_id": "m", "practice": "a", "patient": 1, "retry": 1}
        again = one | {"retry": 2}
        other = one | {"patient": 2}
        assert read(one, reader).fingerprint == read(again, reader).fingerprint
        assert read(one, reader).fingerprint != read(other, reader).fingerprint

    def test_the_execution_gets_the_whole_body_all_the_same(self) -> None:
        body = {"message_id": "m", "practice": "a", "retry": 2}
        message = read(body, MessageReader(content_from="practice"))
        assert json.loads(json.loads(message.execution_input)["body"]) == body

    @pytest.mark.parametrize(
        "expression",
        [
            pytest.param("missing", id="finds nothing"),
            pytest.param("length(retry)", id="meets a type that it does not take"),
            pytest.param("contains(message_id, `1`)", id="makes Python raise TypeError"),
            pytest.param("to_number(huge)", id="makes an infinity"),
            pytest.param("to_number(nan)", id="makes a NaN"),
            pytest.param("&retry", id="makes no JSON at all"),
        ],
    )
    def test_where_content_from_yields_nothing_the_whole_body_counts(self, expression: str) -> None:
        reader = MessageReader(content_from=expression)
        one = {"message_id": "m", "retry": 1, "huge": "1e999", "nan": "nan"}
        other = one | {"retry": 2}
        assert read(one, reader).fingerprint == read(one).fingerprint
        assert read(one, reader).fingerprint != read(other, reader).fingerprint

    def test_a_content_that_is_false_or_empty_is_still_the_content(self) -> None:
        reader = MessageReader(content_from="content")
        empty: list[Any] = [False, 0, "", [], {}]
        for content in empty:
            one = read({"message_id": "m", "content": content, "retry": 1}, reader)
            again = read({"message_id": "m", "content": content, "retry": 2}, reader)
            assert one.fingerprint == again.fingerprint


class TestExecutionInput:
    def test_it_is_the_id_and_the_body_to_the_letter(self) -> None:
        body = '{ "b": "\\u00e9",\n "message_id": 1 }'
        message = read(body)
        assert json.loads(message.execution_input) == {"body": body, "message_id": "1"}

    def test_nothing_in_it_changes_from_delivery_to_delivery(self) -> None:
        first = read({"message_id": "m"})
        again = read(
            {"message_id": "m"},
            sqs_message_id="sqs-2",
            attributes={"ApproximateReceiveCount": "5", "SentTimestamp": "1767999999999"},
            message_attributes={"trace": text_attribute("t-2")},
        )
        assert first == again


class TestLargerThanCanEverBeStarted:
    BODY = '{"message_id":"m","a":[' + "[]," * 100_000 + "[]]}"

    def test_it_is_refused_without_being_parsed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(strict_json, "parse", None)
        refusal = refuse(self.BODY)
        assert refusal.reason == Reason.TOO_LARGE
        assert refusal.message_id is None

    def test_its_id_is_told_where_it_is_not_in_the_body(self) -> None:
        attributes = {"id": text_attribute("m-1")}
        reader = MessageReader("attribute:id")
        assert refuse(self.BODY, reader, message_attributes=attributes).message_id == "m-1"
        assert refuse(self.BODY, reader).message_id is None
        assert refuse(self.BODY, MessageReader("sqs-message-id")).message_id == "sqs-1"


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


class TestSize:
    @pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
    def test_255_kib_of_utf_8_are_taken_and_one_byte_more_is_not(self, character: str) -> None:
        largest = body_whose_input_has(MAX_INPUT_BYTES, character)
        message = read(largest)
        assert len(message.execution_input.encode()) == MAX_INPUT_BYTES == 261_120

        refusal = refuse(largest[:-2] + 'x"}')
        assert refusal.reason == Reason.TOO_LARGE
        assert refusal.message_id == "m"

    def test_each_quote_and_line_break_of_a_body_counts_twice(self) -> None:
        body = '{"message_id":"m","a":["' + '","' * 60_000 + '"]}'
        assert len(body) < MAX_INPUT_BYTES
        assert refuse(body).reason == Reason.TOO_LARGE

    def test_an_id_of_more_than_2048_bytes_is_none(self) -> None:
        assert read({"message_id": "x" * 2048}).message_id == "x" * 2048
        refusal = refuse({"message_id": "x" * 2049})
        assert refusal.reason == Reason.NO_MESSAGE_ID
        assert refusal.message_id is None


@pytest.mark.parametrize(
    "body",
    [
        '{"message_id": "secret", "message_id": 1}',
        '{"secret": 1,}',
        {"message_id": {"secret": 1}},
        {"message_id": ["secret"]},
        {"message_id": "m", "secret": "secret" * 100_000},
    ],
)
def test_a_refusal_s_detail_is_one_sentence_that_never_quotes_the_body(body: Any) -> None:
    detail = refuse(body).detail
    assert "secret" not in detail
    assert detail.endswith(".")
    assert "\n" not in detail
