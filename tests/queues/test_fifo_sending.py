"""Sending to a FIFO queue, on moto: each group keeps its order, and stops at a gap."""

import io
import json
from typing import Any

import pytest
from botocore.stub import Stubber

from actonce.queues.sending import (
    Accepted,
    LineResult,
    NotSent,
    Sender,
    parse_group,
    read_lines,
    with_fifo_ids,
)
from actonce.stack.clients import Stack

Sent = tuple[str, int]


@pytest.fixture
def queue(moto_stack: Stack) -> tuple[Any, str]:
    sqs = moto_stack.sqs
    made = sqs.create_queue(QueueName="requests.fifo", Attributes={"FifoQueue": "true"})
    return sqs, made["QueueUrl"]


def send(queue: tuple[Any, str], *sent: Sent, **more: Any) -> list[LineResult]:
    lines = [json.dumps({"practice": group, "message_id": number}) for group, number in sent]
    ends: list[LineResult] = []
    read = read_lines(io.BytesIO("\n".join(lines).encode()))
    Sender(*queue, **more).send_all(with_fifo_ids(read, parse_group("body:practice")), ends.extend)
    return ends


def accepted(ends: list[LineResult]) -> list[int]:
    return [end.line.number for end in ends if isinstance(end, Accepted)]


def received(queue: tuple[Any, str]) -> list[Sent]:
    sqs, url = queue
    found = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
    ).get("Messages"):
        for message in messages:
            body = json.loads(message["Body"])
            assert message["Attributes"]["MessageGroupId"] == body["practice"]
            found.append((body["practice"], body["message_id"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def test_each_group_arrives_in_the_order_of_its_lines(queue: tuple[Any, str]) -> None:
    sent = [(group, number) for number, group in enumerate("abacbbaccabcbabcaaab")]
    assert len(accepted(send(queue, *sent))) == len(sent)
    found = received(queue)
    for group in "abc":
        assert [one for one in found if one[0] == group] == [one for one in sent if one[0] == group]


def test_a_line_sent_again_has_the_same_deduplication_id(queue: tuple[Any, str]) -> None:
    for _ in range(2):
        send(queue, ("a", 1), ("a", 2))
    assert received(queue) == [("a", 1), ("a", 2)]


def test_nothing_more_of_a_group_is_sent_after_a_line_that_was_given_up(
    queue: tuple[Any, str],
) -> None:
    with Stubber(queue[0]) as stub:
        refused = {"Id": "0", "SenderFault": False, "Code": "InternalError", "Message": "busy"}
        took = {"Id": "1", "MessageId": "m", "MD5OfMessageBody": "x"}
        stub.add_response("send_message_batch", {"Successful": [took], "Failed": [refused]})
        stub.add_response("send_message_batch", {"Successful": [took | {"Id": "0"}], "Failed": []})
        ends = send(queue, ("a", 1), ("b", 2), ("a", 3), ("b", 4), retry_for=0)
        stub.assert_no_pending_responses()
    not_sent = {end.number: end.reason for end in ends if isinstance(end, NotSent)}
    assert set(not_sent) == {1, 3}
    assert not_sent[3] == "A message before it in its group was not sent."


def test_ids_that_sqs_does_not_take_are_hashed_and_a_line_without_one_is_not_sent(
    queue: tuple[Any, str],
) -> None:
    odd = [("Zürich ⛵", 1), ("Z" * 200, 2), ("Z" * 201, 3)]
    ends = send(queue, *odd, ("", 4))
    assert accepted(ends) == [1, 2, 3]
    (not_sent,) = (end.reason for end in ends if isinstance(end, NotSent))
    assert not_sent.startswith("There is no message group at 'practice' in the body")
