"""Sending to a FIFO queue, on moto."""

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from actonce.queues.fifo_sending import TOO_LATE_FOR_SQS, FifoIds, FifoSender
from actonce.queues.sending import Accepted, End, NotSent


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("sqs")


@pytest.fixture
def queue_url(sqs: Any) -> str:
    answer = sqs.create_queue(QueueName="requests.fifo", Attributes={"FifoQueue": "true"})
    return str(answer["QueueUrl"])


def _lines(*pairs: tuple[str, int]) -> io.BytesIO:
    lines = [json.dumps({"practice": group, "message_id": number}) for group, number in pairs]
    return io.BytesIO("\n".join(lines).encode())


def _sender(sqs: Any, queue_url: str, warned: list[str] | None = None, **more: Any) -> FifoSender:
    ids = FifoIds.parsed("body:practice", "body:message_id")
    return FifoSender(sqs, queue_url, ids, warn=(warned or []).append, **more)


def _received(sqs: Any, queue_url: str) -> list[tuple[str, int]]:
    found = []
    while messages := sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
    ).get("Messages"):
        for message in messages:
            body = json.loads(message["Body"])
            assert message["Attributes"]["MessageGroupId"] == body["practice"]
            assert message["Attributes"]["MessageDeduplicationId"] == str(body["message_id"])
            found.append((body["practice"], body["message_id"]))
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    return found


def test_each_group_arrives_in_the_order_of_its_lines(sqs: Any, queue_url: str) -> None:
    sent = [(group, number) for number, group in enumerate("abacbbaccabcbabcaaab")]
    ends: list[End] = []
    _sender(sqs, queue_url).send_all(_lines(*sent), ends.extend)
    assert len([end for end in ends if isinstance(end, Accepted)]) == len(sent)
    found = _received(sqs, queue_url)
    for group in "abc":
        assert [one for one in found if one[0] == group] == [one for one in sent if one[0] == group]


def test_a_line_sent_again_has_the_same_deduplication_id(sqs: Any, queue_url: str) -> None:
    for _ in range(2):
        _sender(sqs, queue_url).send_all(_lines(("a", 1)), lambda _: None)
    assert _received(sqs, queue_url) == [("a", 1)]


def test_without_a_deduplication_id_another_content_is_another_message(
    sqs: Any, queue_url: str
) -> None:
    sender = FifoSender(sqs, queue_url, FifoIds.parsed("all", None), warn=lambda _: None)
    ends: list[End] = []
    sender.send_all(io.BytesIO(b'{"id": 1}\n{"id": 1}\n{"id": 1, "x": 2}'), ends.extend)
    assert len(ends) == 3
    bodies = [
        message["Body"]
        for message in sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10)["Messages"]
    ]
    assert bodies == ['{"id": 1}', '{"id": 1, "x": 2}']


def test_nothing_more_of_a_group_is_sent_after_a_line_that_was_given_up(
    sqs: Any, queue_url: str
) -> None:
    sender = _sender(sqs, queue_url, retry_for=0)
    ends: list[End] = []
    with Stubber(sqs) as stub:
        refused = {"Id": "0", "SenderFault": False, "Code": "InternalError", "Message": "busy"}
        accepted = {"Id": "1", "MessageId": "m", "MD5OfMessageBody": "x"}
        stub.add_response("send_message_batch", {"Successful": [accepted], "Failed": [refused]})
        accepted = accepted | {"Id": "0"}
        stub.add_response("send_message_batch", {"Successful": [accepted], "Failed": []})
        sender.send_all(_lines(("a", 1), ("b", 2), ("a", 3), ("b", 4)), ends.extend)
        stub.assert_no_pending_responses()
    not_sent = {end.number: end.reason for end in ends if isinstance(end, NotSent)}
    assert set(not_sent) == {1, 3}
    assert not_sent[3] == "A message before it in its group was not sent."


def test_a_line_without_a_group_is_not_sent(sqs: Any, queue_url: str) -> None:
    ends: list[End] = []
    _sender(sqs, queue_url).send_all(io.BytesIO(b'{"message_id": 1}\nno json'), ends.extend)
    assert [end.number for end in ends if isinstance(end, NotSent)] == [1, 2]


def test_ids_that_sqs_does_not_take_are_hashed_and_stay_apart(sqs: Any, queue_url: str) -> None:
    ends: list[End] = []
    _sender(sqs, queue_url).send_all(
        _lines(("Zürich ⛵", 1), ("Z" * 200, 2), ("Z" * 201, 3)), ends.extend
    )
    assert len([end for end in ends if isinstance(end, Accepted)]) == 3


def test_after_five_minutes_it_says_once_that_sqs_no_longer_deduplicates(
    sqs: Any, queue_url: str
) -> None:
    warned: list[str] = []
    ids = FifoIds.parsed("all", None)
    sender = FifoSender(sqs, queue_url, ids, warn=warned.append)
    for seconds in (1, 300, 301, 400):
        sender.before_retry(seconds)
    assert warned == [TOO_LATE_FOR_SQS]
