"""A refused delivery in UnstartedQueue: whole, with its reason, however often it comes back."""

import json
from typing import Any

import pytest

from actonce_core.delivery import Delivery
from actonce_core.message import Refusal
from actonce_core.reason import Reason
from actonce_core.unstarted import LARGEST_MESSAGE, UnstartedQueue, unstarted_attributes
from tests.support.deliveries import delivery, text_attribute
from tests.support.moto_aws import MotoAws

REFUSAL = Refusal(Reason.CONFLICT, "Another content (fingerprint aaaaaaaaaaaa…).", "m-1")


def handed_on(aws: MotoAws, refused: Delivery) -> dict[str, Any]:
    UnstartedQueue(aws.sqs, aws.unstarted_queue).send_to_unstarted(refused, REFUSAL)
    (message,) = aws.unstarted()
    return message


class Recorded:
    """SQS's edge."""

    def send_message(self, **asked: Any) -> None:
        self.asked = asked


def own(refused: Delivery) -> dict[str, Any]:
    """The producer's attributes, as a refusal keeps them."""
    kept: dict[str, Any] = json.loads(
        unstarted_attributes(refused, REFUSAL)["source_attributes"]["StringValue"]
    )
    return kept


@pytest.mark.parametrize("body", ["{", '{ "b":1,\n"a" : "\\u00e9é\U0001f600" }\n', "x" * 500_000])
def test_the_body_arrives_verbatim_with_reason_detail_source_and_receive_count(
    aws: MotoAws, body: str
) -> None:
    refused = delivery(body, sqs_message_id="sqs-7", attributes={"ApproximateReceiveCount": "3"})
    message = handed_on(aws, refused)
    assert message["Body"] == body
    attributes = message["MessageAttributes"]
    assert {name: one["StringValue"] for name, one in attributes.items()} == {
        "reason": "conflict",
        "detail": REFUSAL.detail,
        "source_message_id": "sqs-7",
        "receive_count": "3",
    }
    assert attributes["receive_count"]["DataType"] == "Number"


def test_ten_attributes_of_the_producer_go_with_it_as_one_and_replace_none_of_the_refusals(
    aws: MotoAws,
) -> None:
    sent = {f"attribute-{n}": text_attribute(f"é {n}") for n in range(8)}
    sent |= {"reason": text_attribute("flu")}
    sent["binary"] = {"dataType": "Binary.png", "binaryValue": "AAEC", "stringListValues": []}
    attributes = handed_on(aws, delivery("{}", message_attributes=sent))["MessageAttributes"]
    assert attributes["reason"]["StringValue"] == "conflict"
    packed = json.loads(attributes["source_attributes"]["StringValue"])
    assert packed.keys() == sent.keys()
    assert packed["attribute-0"] == {"dataType": "String", "stringValue": "é 0"}
    assert packed["reason"] == {"dataType": "String", "stringValue": "flu"}
    assert packed["binary"] == {"dataType": "Binary.png", "binaryValue": "AAEC"}


def test_from_a_fifo_queue_it_keeps_its_group_and_is_dropped_only_as_its_own_copy() -> None:
    sqs = Recorded()
    fifo = {"MessageGroupId": "g", "MessageDeduplicationId": "d", "SequenceNumber": "1"}
    refused = delivery("{}", sqs_message_id="sqs-7", attributes=fifo)
    UnstartedQueue(sqs, "url").send_to_unstarted(refused, REFUSAL)  # type: ignore[arg-type]
    assert sqs.asked["MessageGroupId"] == sqs.asked["MessageDeduplicationId"] == "sqs-7"
    attributes = sqs.asked["MessageAttributes"]
    assert attributes["source_group_id"]["StringValue"] == "g"
    assert attributes["source_deduplication_id"]["StringValue"] == "d"


def test_a_message_that_was_sent_back_keeps_its_first_sqs_id() -> None:
    sent = {"source_message_id": text_attribute("sqs-1"), "tenant": text_attribute("a")}
    refused = delivery("{}", sqs_message_id="sqs-2", message_attributes=sent)
    attributes = unstarted_attributes(refused, REFUSAL)
    assert attributes["source_message_id"]["StringValue"] == "sqs-1"
    assert own(refused).keys() == {"tenant"}


@pytest.mark.parametrize(
    "sent", [{}, {"tenant": text_attribute("a"), "reason": text_attribute("b")}]
)
def test_refused_again_and_again_a_message_s_attributes_do_not_grow(sent: dict[str, Any]) -> None:
    first = unstarted_attributes(delivery("{}", message_attributes=sent), REFUSAL)
    moved_back = {
        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
        for name, value in first.items()
    }
    again = delivery("{}", sqs_message_id="sqs-2", message_attributes=moved_back)
    assert unstarted_attributes(again, REFUSAL) == first


def test_beside_a_body_of_nearly_a_mebibyte_it_goes_as_it_came(aws: MotoAws) -> None:
    picture = {"dataType": "Binary.png", "binaryValue": "AAEC"}
    sent = {"tenant": text_attribute("a"), "picture": picture}
    body = "x" * (LARGEST_MESSAGE - 100)
    message = handed_on(aws, delivery(body, message_attributes=sent))
    assert message["Body"] == body
    assert set(message["MessageAttributes"]) == {"tenant", "picture"}
    assert message["MessageAttributes"]["picture"]["BinaryValue"] == b"\x00\x01\x02"
    assert message["MessageAttributes"]["tenant"]["StringValue"] == "a"


@pytest.mark.parametrize("more", [0, 1])
def test_it_goes_with_its_reason_up_to_the_last_byte_that_sqs_takes(
    aws: MotoAws, more: int
) -> None:
    with_reason = unstarted_attributes(delivery(""), REFUSAL)
    counted = (text for name, one in with_reason.items() for text in (name, *one.values()))
    room = LARGEST_MESSAGE - sum(len(text.encode()) for text in counted)
    message = handed_on(aws, delivery("x" * (room + more)))
    assert ("reason" in message.get("MessageAttributes", {})) is (more == 0)
