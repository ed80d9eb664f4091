"""A refused delivery in UnstartedQueue: whole, with its reason, however often it comes back."""

import json
from typing import Any

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

    def send_message(self, **request: Any) -> None:
        self.asked = request


def own(refused: Delivery) -> dict[str, Any]:
    """The producer's attributes, as a refusal keeps them."""
    kept: dict[str, Any] = json.loads(
        unstarted_attributes(refused, REFUSAL)["source_attributes"]["StringValue"]
    )
    return kept


def test_the_body_arrives_verbatim_with_reason_detail_source_and_receive_count(
    aws: MotoAws,
) -> None:
    body = '{ "b":1,\n"a" : "\\u00e9é\U0001f600" }\n'
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


def test_the_producer_s_attributes_are_packed_into_one(aws: MotoAws) -> None:
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


def test_of_a_fifo_queue_group_and_deduplication_id_are_kept_as_attributes() -> None:
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


def test_the_attributes_of_a_message_that_is_refused_again_do_not_grow() -> None:
    sent = {"tenant": text_attribute("a"), "reason": text_attribute("b")}
    first = unstarted_attributes(delivery("{}", message_attributes=sent), REFUSAL)
    moved_back = {
        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
        for name, value in first.items()
    }
    again = delivery("{}", sqs_message_id="sqs-2", message_attributes=moved_back)
    assert unstarted_attributes(again, REFUSAL) == first


def test_a_body_that_leaves_no_room_for_the_reason_goes_as_it_came(aws: MotoAws) -> None:
    picture = {"dataType": "Binary.png", "binaryValue": "AAEC"}
    sent = {"tenant": text_attribute("a"), "picture": picture}
    body = "x" * (LARGEST_MESSAGE - 100)
    message = handed_on(aws, delivery(body, message_attributes=sent))
    assert message["Body"] == body
    assert set(message["MessageAttributes"]) == {"tenant", "picture"}
    assert message["MessageAttributes"]["picture"]["BinaryValue"] == b"\x00\x01\x02"
    assert message["MessageAttributes"]["tenant"]["StringValue"] == "a"
