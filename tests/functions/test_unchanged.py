"""Between a producer and its effect no number changes, and no character is one that SQS rejects."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actonce_core.effect import answer
from actonce_core.message import Message, MessageReader, Refusal
from actonce_core.unstarted import unstarted_attributes
from tests.support import asl
from tests.support.deliveries import delivery, json_values, text_attribute

# "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF": SendMessage, SQS API.
TAKEN_BY_SQS = re.compile("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
STATES = asl.definition()["States"]


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


@given(st.text(), st.text(st.characters(exclude_categories=["Cs"])))
def test_sqs_takes_the_attributes_of_each_refusal(body: str, attribute: str) -> None:
    refused = delivery(body, message_attributes={"a": text_attribute(attribute)})
    for source in ("body:message_id", "attribute:a"):
        refusal = MessageReader(source).read(refused)
        if isinstance(refusal, Refusal):
            for value in unstarted_attributes(refused, refusal).values():
                assert TAKEN_BY_SQS.fullmatch(value["StringValue"])
