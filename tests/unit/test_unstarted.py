import json
from typing import Any

import pytest

from actonce_core.delivery import Delivery
from actonce_core.message import Reason, Refusal
from actonce_core.unstarted import LARGEST_MESSAGE, UnstartedQueue, unstarted_attributes
from tests.support.deliveries import delivery, text_attribute
from tests.support.moto_aws import MotoAws

REFUSAL = Refusal(Reason.CONFLICT, "Another content (fingerprint aaaaaaaaaaaa…).", "m-1")


def handed_on(aws: MotoAws, refused: Delivery) -> dict[str, Any]:
    UnstartedQueue(aws.sqs, aws.unstarted_queue).hand_on(refused, REFUSAL)
    (message,) = aws.unstarted()
    return message


def texts(message: dict[str, Any]) -> dict[str, str]:
    return {
        name: attribute["StringValue"] for name, attribute in message["MessageAttributes"].items()
    }


def in_event_form(attributes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
        for name, value in attributes.items()
    }


@pytest.mark.parametrize("body", ["{", '{ "b":1,\n"a" : "\\u00e9é\U0001f600" }\n', "x" * 500_000])
def test_the_body_arrives_verbatim(aws: MotoAws, body: str) -> None:
    assert handed_on(aws, delivery(body))["Body"] == body


def test_reason_detail_source_and_receive_count_go_with_it(aws: MotoAws) -> None:
    refused = delivery("{}", sqs_message_id="sqs-7", attributes={"ApproximateReceiveCount": "3"})
    message = handed_on(aws, refused)
    assert texts(message) == {
        "reason": "conflict",
        "detail": REFUSAL.detail,
        "source_message_id": "sqs-7",
        "receive_count": "3",
    }
    assert message["MessageAttributes"]["receive_count"]["DataType"] == "Number"


def test_ten_attributes_of_the_producer_go_with_it_as_one(aws: MotoAws) -> None:
    own = {f"attribute-{n}": text_attribute(f"é {n}") for n in range(9)}
    own["binary"] = {"dataType": "Binary.png", "binaryValue": "AAEC", "stringListValues": []}
    packed = json.loads(
        texts(handed_on(aws, delivery("{}", message_attributes=own)))["source_attributes"]
    )
    assert len(packed) == 10
    assert packed["attribute-0"] == {"dataType": "String", "stringValue": "é 0"}
    assert packed["binary"] == {"dataType": "Binary.png", "binaryValue": "AAEC"}


def test_attributes_of_the_producer_never_replace_those_of_the_refusal(aws: MotoAws) -> None:
    own = {"reason": text_attribute("flu"), "detail": text_attribute("none")}
    attributes = texts(handed_on(aws, delivery("{}", message_attributes=own)))
    assert attributes["reason"] == "conflict"
    assert json.loads(attributes["source_attributes"])["reason"]["stringValue"] == "flu"


def test_a_message_that_was_sent_back_keeps_its_first_sqs_id(aws: MotoAws) -> None:
    own = {"source_message_id": text_attribute("sqs-1"), "tenant": text_attribute("a")}
    attributes = texts(
        handed_on(aws, delivery("{}", sqs_message_id="sqs-2", message_attributes=own))
    )
    assert attributes["source_message_id"] == "sqs-1"
    assert json.loads(attributes["source_attributes"]) == {
        "tenant": {"dataType": "String", "stringValue": "a"}
    }


@pytest.mark.parametrize(
    "own", [{}, {"tenant": text_attribute("a"), "reason": text_attribute("b")}]
)
def test_refused_again_and_again_a_message_s_attributes_do_not_grow(
    own: dict[str, dict[str, Any]],
) -> None:
    first = unstarted_attributes(delivery("{}", message_attributes=own), REFUSAL)
    moved_back = delivery("{}", sqs_message_id="sqs-2", message_attributes=in_event_form(first))
    assert unstarted_attributes(moved_back, REFUSAL) == first


@pytest.mark.parametrize(
    "own",
    [
        {"reason": text_attribute("not_json"), "tenant": text_attribute("a")},
        {"reason": text_attribute("flu")},
    ],
)
def test_a_producer_s_attributes_of_a_refusal_s_names_are_kept(
    own: dict[str, dict[str, Any]],
) -> None:
    own |= {"detail": text_attribute("none"), "receive_count": text_attribute("1")}
    reserved = {"source_message_id": text_attribute("sqs-1")}
    attributes = unstarted_attributes(delivery("{}", message_attributes=own | reserved), REFUSAL)
    kept = json.loads(attributes["source_attributes"]["StringValue"])
    assert {name: value["stringValue"] for name, value in kept.items()} == {
        name: value["stringValue"] for name, value in own.items()
    }


def test_beside_a_body_of_nearly_a_mebibyte_it_goes_as_it_came(aws: MotoAws) -> None:
    own = {
        "tenant": text_attribute("a"),
        "picture": {"dataType": "Binary.png", "binaryValue": "AAEC"},
    }
    body = "x" * (LARGEST_MESSAGE - 100)
    message = handed_on(aws, delivery(body, message_attributes=own))
    assert message["Body"] == body
    assert set(message["MessageAttributes"]) == {"tenant", "picture"}
    assert message["MessageAttributes"]["picture"]["BinaryValue"] == b"\x00\x01\x02"
    assert message["MessageAttributes"]["tenant"]["StringValue"] == "a"
