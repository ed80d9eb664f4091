"""Between a producer and its effect no number changes, and no character is one that SQS rejects."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actonce_core.effect import Rejected, answer
from actonce_core.execution_input import MAX_EXECUTION_INPUT_BYTES
from actonce_core.locking.attempt import Attempt
from actonce_core.locking.dead_letters import MAX_SQS_BYTES, DeadLetterQueue, Failure, dead_letter
from actonce_core.message import Message, MessageReader
from actonce_core.refusal import Reason, Refusal
from actonce_core.strict_json import NotJson, canonical, parse
from actonce_core.unstarted import unstarted_attributes
from tests import asl
from tests.unit.moto_aws import MotoAws
from tests.unit.samples import delivery, json_values, text_attribute

# "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF": SendMessage, SQS API.
TAKEN_BY_SQS = re.compile("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")

EDGES = [
    "9007199254740991",
    "9007199254740993",
    "-9007199254740993",
    "1234567890123456789",
    "18446744073709551615",
    "5890840712243076",
    "9" * 300,
    "0.30000000000000004",
    "0.10000000000000001",
    "1.7976931348623157e308",
    "5e-324",
    "1e21",
    "1e-7",
    "100000000000000000000",
    "1.0",
    "-0.0",
    "-0",
    "5.68806544270183e+16",
    "123456789012345",
    "0.123456789012345",
]

numbers = st.one_of(
    st.sampled_from(EDGES),
    st.integers(-(10**309), 10**309).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.16e}".format),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda n: f"{n:f}"),
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


def read(text: str) -> Message | Refusal:
    return MessageReader("sqs-message-id").read(delivery(text))


def as_doubles(text: str, digits: str) -> str:
    """A JSON text as an engine writes it that has doubles for numbers, and shows some digits."""

    def as_written(number: float) -> Any:
        shown = float(digits % number)
        return int(shown) if shown == int(shown) and abs(shown) < 1e21 else shown

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: of(item) for name, item in value.items()}
        if isinstance(value, list):
            return [of(item) for item in value]
        return as_written(value) if isinstance(value, float) else value

    return json.dumps(of(json.loads(text, parse_int=float)))


def what_the_effect_gets(execution_input: str) -> Any:
    """The body with which `perform` is called for an execution's input."""
    got: list[Any] = []

    class Effect:
        def perform(self, request: dict[str, Any]) -> dict[str, Any]:
            got.append(request)
            return {}

        def find(self, message_id: str) -> None:
            raise AssertionError(message_id)

    state = asl.definition()["States"]["PerformEffect"]
    context = {"Execution": {"Input": json.loads(execution_input)}}
    event = asl.evaluate(state["Arguments"]["Payload"], context=context)
    del event["allowed_seconds"]  # no function's time is measured here
    answer(Effect(), event)
    assert got[0].keys() == {"message_id", "body"}
    return got[0]["body"]


def is_double(number: str, of: Decimal) -> bool:
    """Whether the number is `of`, or the 17 digits, or all, of the double that is written so."""
    double = float(of)
    given = Decimal(number)
    return given in (of, Decimal(f"{double:.17g}"), Decimal(double))


@settings(max_examples=500)
@given(st.lists(numbers, min_size=1, max_size=5))
def test_the_effect_gets_the_numbers_that_were_sent_or_the_message_is_refused(
    sent: list[str],
) -> None:
    message = read(f'{{"a": [{", ".join(sent)}]}}')
    if isinstance(message, Refusal):
        assert message.reason is Reason.NOT_JSON
        assert any(_no_double(number) for number in sent)
        return
    for engine in ("%s", "%.17g", "%.15g"):
        carried = message.execution_input
        if engine != "%s":
            carried = as_doubles(carried, engine)
        got = what_the_effect_gets(carried)["a"]
        for number, value in zip(sent, got, strict=True):
            if isinstance(value, int):
                assert Decimal(number) == value
            else:
                assert is_double(number, Decimal(repr(value)))


def _no_double(number: str) -> bool:
    try:
        parse(number)
    except NotJson:
        return True
    return False


@pytest.mark.parametrize("number", EDGES)
def test_the_sign_of_a_zero_and_every_edge_come_through_an_engine_of_doubles(number: str) -> None:
    message = read(f"[{number}]")
    assert isinstance(message, Message)
    (got,) = what_the_effect_gets(as_doubles(message.execution_input, "%.15g"))
    assert got == parse(number)
    if number == "-0.0":
        assert str(got) == "-0.0"


def test_by_node_s_own_numbers_too() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    script = "process.stdout.write(JSON.stringify(JSON.parse(process.argv[1])))"
    for number in EDGES:
        message = read(f"[{number}]")
        assert isinstance(message, Message)
        done = subprocess.run(
            [node, "-e", script, message.execution_input],
            capture_output=True,
            text=True,
            check=True,
        )
        assert what_the_effect_gets(done.stdout) == [parse(number)]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"a": 123456789012345, "b": 0.12345678901234, "c": 1e-99}', "body"),
        ("[1e16]", "body_json"),
        ('{"a": "1234567890123456789", "b": "0.30000000000000004", "1e400": ""}', "body"),
        ("[1234567890123456]", "body_json"),
        ("[0.1234567890123456]", "body_json"),
        ("[1e100]", "body_json"),
        ("[-0.0]", "body_json"),
        ("[-0.05]", "body"),
        (r'["\uffff"]', "body_json"),
        (r'{"\ufffe": 1}', "body_json"),
        (r'["\u0000\u001b\u0085"]', "body"),
    ],
)
def test_a_body_is_carried_as_it_is_unless_something_in_it_would_change(
    body: str, name: str
) -> None:
    message = read(body)
    assert isinstance(message, Message)
    assert json.loads(message.execution_input).keys() == {name, "message_id"}
    assert what_the_effect_gets(message.execution_input) == parse(body)


@pytest.mark.parametrize("digits", [15, 19, 30, 300])
def test_an_integer_id_of_any_length_is_its_text(digits: int) -> None:
    number = "1" * digits
    message = MessageReader().read(delivery(f'{{"message_id": {number}}}'))
    assert isinstance(message, Message)
    assert message.message_id == number
    assert json.loads(as_doubles(message.execution_input, "%.15g"))["message_id"] == number


def test_a_body_that_is_carried_as_a_text_is_measured_as_one() -> None:
    quotes = json.dumps([12345678901234567, *["\\"] * 40_000])
    refusal = read(quotes)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.TOO_LARGE
    assert len(canonical(parse(quotes))) < MAX_EXECUTION_INPUT_BYTES


@pytest.mark.parametrize("character", ["\ufffe", "\uffff"])
def test_an_id_that_sqs_does_not_carry_is_refused(character: str) -> None:
    refusal = MessageReader().read(delivery({"message_id": f"m{character}"}))
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.NO_MESSAGE_ID
    assert TAKEN_BY_SQS.fullmatch(refusal.detail)


# ------------------------------------------------------------------ what is posted to queues

AT = datetime(2026, 1, 5, tzinfo=UTC)
ATTEMPT = Attempt("m", "a-1", 1, outcome_unknown=False, is_lost=lambda: False, fence={})


@given(json_values, st.text())
def test_a_state_machine_s_dead_letter_has_no_character_that_sqs_rejects(
    body: Any, cause: str
) -> None:
    message = read(json.dumps(body))
    if isinstance(message, Refusal):
        return
    state = asl.definition()["States"]["DeadLetter"]
    letter = asl.evaluate(
        state["Arguments"]["MessageBody"],
        input={
            "rounds": 1,
            "failure": {"reason": "rejected", "error": "Rejected", "cause": _utf_8(cause)},
        },
        context={
            "Execution": {"Id": "arn", "Name": "n", "Input": json.loads(message.execution_input)},
            "State": {"EnteredTime": "2026-01-05T09:00:00.000Z"},
            "Task": {"Token": "t"},
        },
    )
    # Control characters are escapes in any JSON.
    assert TAKEN_BY_SQS.fullmatch(json.dumps(letter, ensure_ascii=False))
    assert letter["message"] == json.loads(message.execution_input)


def _utf_8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class Posted:
    """What was sent to a queue."""

    def __init__(self) -> None:
        self.body = ""

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> None:  # noqa: ARG002, N803
        self.body = MessageBody


def posted(text: str, cause: str = "", **of_delivery: Any) -> dict[str, Any]:
    """The consumer's dead letter of a message, as it is in the queue."""
    brought = delivery(text, **of_delivery)
    message = MessageReader("sqs-message-id").read(brought)
    assert isinstance(message, Message)
    failure = Failure("rejected", Rejected(cause))
    queue = Posted()
    letter = dead_letter(brought, message, ATTEMPT, failure, AT)
    DeadLetterQueue(queue, "url").post(letter)  # type: ignore[arg-type]
    assert TAKEN_BY_SQS.fullmatch(queue.body)
    assert len(queue.body.encode()) <= MAX_SQS_BYTES
    read_back: dict[str, Any] = json.loads(queue.body)
    return read_back


@given(json_values, st.text())
def test_a_consumer_s_dead_letter_has_none_either_and_is_whole(body: Any, cause: str) -> None:
    text = json.dumps(body)
    if isinstance(read(text), Refusal):
        return
    letter = posted(text, cause)
    assert letter["source"]["body"] == text
    assert what_the_effect_gets(json.dumps(letter["message"])) == parse(text)


def test_one_that_sqs_would_find_too_large_goes_without_what_was_read_of_it() -> None:
    text = json.dumps({"a": ["\\"] * 20_000})
    letter = posted(text, message_attributes={"more": text_attribute("x" * 800_000)})
    assert letter["message"] is None
    assert letter["source"]["body"] == text


def test_or_with_the_shorter_text_of_the_same_body() -> None:
    text = '{"a": "' + "\\u0041" * 40_000 + '"}'
    letter = posted(text, message_attributes={"more": text_attribute("x" * 780_000)})
    assert parse(letter["source"]["body"]) == parse(text)
    assert letter["source"]["sqs_message_id"] == "sqs-1"


def test_it_is_posted_to_a_real_queue(aws: MotoAws) -> None:
    brought = delivery(r'["\uffff\u0000\ud83d\ude00"]')
    message = MessageReader("sqs-message-id").read(brought)
    assert isinstance(message, Message)
    letter = dead_letter(
        brought, message, ATTEMPT, Failure("rejected", Rejected("\udc00\uffff")), AT
    )
    DeadLetterQueue(aws.sqs, aws.dead_letter_queue).post(letter)
    (got,) = aws.sqs.receive_message(QueueUrl=aws.dead_letter_queue)["Messages"]
    assert json.loads(got["Body"]) == letter


@given(st.text(), st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_handed_on_has_none(body: str, attribute: str) -> None:
    own = {"a": text_attribute(attribute)}
    for source in ("body:message_id", "attribute:a"):
        refused = delivery(body, message_attributes=own)
        refusal = MessageReader(source).read(refused)
        if isinstance(refusal, Refusal):
            for value in unstarted_attributes(refused, refusal).values():
                assert TAKEN_BY_SQS.fullmatch(value["StringValue"])
