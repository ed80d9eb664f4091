"""Between a producer and its effect no number changes, and no character is one that SQS rejects."""

import json
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actonce_core.effect import Rejected, answer
from actonce_core.locking.dead_letters import DeadLetterQueue, dead_letter
from actonce_core.locking.processing_table import Attempt
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.reason import DeadLetterReason
from actonce_core.unstarted import LARGEST_MESSAGE, unstarted_attributes
from tests.support import asl
from tests.support.deliveries import delivery, json_values, text_attribute

# "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF": SendMessage, SQS API.
TAKEN_BY_SQS = re.compile("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
STATES = asl.definition()["States"]
AT = datetime(2026, 1, 5, tzinfo=UTC)
ATTEMPT = Attempt("m", "a-1", 1, 0, False, 0.0, 60.0, 30.0, {})

messages = json_values.map(lambda value: read(json.dumps(value))).filter(
    lambda message: isinstance(message, Message)
)
"""Messages of any body that is one."""


def read(text: str) -> Any:
    return MessageReader("sqs-message-id").read(delivery(text))


def what_the_effect_gets(execution_input: str) -> Any:
    """The body with which `perform` is called for an execution's input."""
    got: list[Any] = []

    class Effect:
        def perform(self, request: dict[str, Any]) -> dict[str, Any]:
            got.append(request)
            return {}

        def find(self, message_id: str) -> None:
            raise AssertionError(message_id)

    context = {"Execution": {"Input": json.loads(execution_input)}}
    answer(Effect(), asl.evaluate(STATES["PerformEffect"]["Arguments"]["Payload"], context=context))
    assert got[0].keys() == {"message_id", "body", "attempt"}
    return got[0]["body"]


@given(json_values, st.booleans())
def test_the_effect_gets_the_body_verbatim(value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=1)
    message = read(text)
    if isinstance(message, Message):
        assert what_the_effect_gets(message.execution_input) == text


def posted(text: str, cause: str = "", **of_delivery: Any) -> dict[str, Any]:
    """The consumer's dead letter of a message, as it is in the queue."""
    sent: list[str] = []
    queue: Any = SimpleNamespace(send_message=lambda **asked: sent.append(asked["MessageBody"]))
    brought = delivery(text, **of_delivery)
    why = DeadLetterReason.REJECTED
    letter = dead_letter(brought, read(text), ATTEMPT, why, Rejected(cause), AT)
    DeadLetterQueue(queue, "url").post(letter)
    (body,) = sent
    assert TAKEN_BY_SQS.fullmatch(body)
    assert len(body.encode()) <= LARGEST_MESSAGE
    read_back: dict[str, Any] = json.loads(body)
    return read_back


@given(messages, st.text())
def test_a_consumer_s_dead_letter_is_whole_and_sqs_takes_it(message: Message, cause: str) -> None:
    letter = posted(message.body, cause)
    assert what_the_effect_gets(json.dumps(letter["message"])) == message.body


def test_a_dead_letter_too_large_for_sqs_goes_without_its_source() -> None:
    text = json.dumps({"a": "é" * 60_000}, ensure_ascii=False)
    letter = posted(text, message_attributes={"more": text_attribute("x" * 800_000)})
    assert letter["source"] is None
    assert letter["message"]["body"] == text


@given(st.text(), st.text(st.characters(exclude_categories=["Cs"])))
def test_sqs_takes_the_attributes_of_each_refusal(body: str, attribute: str) -> None:
    refused = delivery(body, message_attributes={"a": text_attribute(attribute)})
    for source in ("body:message_id", "attribute:a"):
        refusal = MessageReader(source).read(refused)
        if isinstance(refusal, Refusal):
            for value in unstarted_attributes(refused, refusal).values():
                assert TAKEN_BY_SQS.fullmatch(value["StringValue"])
