from typing import Any

import boto3
import pytest

from actonce.queues import scan
from actonce.queues.scan import Queued, QueueReader, give_back
from actonce.stack.clients import Stack
from tests.cli.received import received


def fill(stack: Stack, number: int) -> set[str]:
    return {
        stack.sqs.send_message(QueueUrl=stack.unstarted_queue, MessageBody=f"body {n}")["MessageId"]
        for n in range(number)
    }


def reader(stack: Stack) -> QueueReader:
    return QueueReader(stack.sqs, stack.unstarted_queue)


def test_every_message_is_read_once_and_given_back(moto_stack: Stack) -> None:
    ids = fill(moto_stack, 23)
    with reader(moto_stack) as queue:
        read = [message.sqs_message_id for message in queue.messages()]
        assert queue.held_elsewhere == 0
    assert len(read) == 23
    assert set(read) == ids
    visible_at_once = received(moto_stack, moto_stack.unstarted_queue)
    assert {message["MessageId"] for message in visible_at_once} == ids


def test_one_that_two_receives_have_brought_is_read_once(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(moto_stack, 1)
    round_ = QueueReader._round

    def twice(self: QueueReader, hold: int, *, everywhere: bool) -> Any:
        for answers in round_(self, hold, everywhere=everywhere):
            yield answers * 2

    monkeypatch.setattr(QueueReader, "_round", twice)
    with reader(moto_stack) as queue:
        assert len(list(queue.messages())) == 1


def test_an_empty_queue_has_nothing_to_read(moto_stack: Stack) -> None:
    with reader(moto_stack) as queue:
        assert list(queue.messages()) == []


def test_messages_are_held_until_the_block_ends(moto_stack: Stack) -> None:
    fill(moto_stack, 3)
    with reader(moto_stack) as queue:
        assert len(list(queue.messages())) == 3
        assert received(moto_stack, moto_stack.unstarted_queue) == []
    assert len(received(moto_stack, moto_stack.unstarted_queue)) == 3


def test_what_is_deleted_is_gone_and_the_rest_is_given_back(moto_stack: Stack) -> None:
    fill(moto_stack, 12)
    with reader(moto_stack) as queue:
        for message in queue.messages():
            if message.body in ("body 3", "body 11"):
                queue.delete(message)
                queue.delete(message)  # harmless
    left = {message["Body"] for message in received(moto_stack, moto_stack.unstarted_queue)}
    assert left == {f"body {n}" for n in range(12)} - {"body 3", "body 11"}


def test_an_error_and_an_early_end_give_everything_back(moto_stack: Stack) -> None:
    ids = fill(moto_stack, 15)

    def fail() -> None:
        with reader(moto_stack) as queue:
            raise RuntimeError(next(queue.messages()).body)

    with pytest.raises(RuntimeError, match="body"):
        fail()
    with reader(moto_stack) as queue:
        next(queue.messages())
    visible = received(moto_stack, moto_stack.unstarted_queue)
    assert {message["MessageId"] for message in visible} == ids


def test_what_another_reader_holds_is_waited_for(moto_stack: Stack) -> None:
    ids = fill(moto_stack, 4)
    held = moto_stack.sqs.receive_message(
        QueueUrl=moto_stack.unstarted_queue, MaxNumberOfMessages=3, VisibilityTimeout=3
    )["Messages"]
    with reader(moto_stack) as queue:
        read = {message.sqs_message_id for message in queue.messages()}
    assert len(held) == 3
    assert read == ids


def test_what_another_reader_holds_for_too_long_is_counted(moto_stack: Stack) -> None:
    fill(moto_stack, 4)
    moto_stack.sqs.receive_message(
        QueueUrl=moto_stack.unstarted_queue, MaxNumberOfMessages=3, VisibilityTimeout=600
    )
    with QueueReader(moto_stack.sqs, moto_stack.unstarted_queue, wait_for_others=0) as queue:
        read = list(queue.messages())
        assert queue.held_elsewhere == 3
    assert len(read) == 1


def test_what_a_dead_reader_of_a_long_queue_held_is_waited_for_until_it_comes_back(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fill(moto_stack, 60)
    monkeypatch.setattr(scan, "_READ_PER_SECOND", 1)  # of 60 messages as of 3,000
    hold = scan.hold_for(60)
    url = moto_stack.unstarted_queue
    handles = [
        message.receipt_handle
        for _ in range(6)
        for message in scan.receive(moto_stack.sqs, url, 600)
    ]

    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, _: float) -> None:
            self.now += 5
            if self.now == hold:
                give_back(moto_stack.sqs, url, handles)

    monkeypatch.setattr(scan, "time", Clock())
    assert scan.counts(moto_stack.sqs, url) == (0, 60)
    with reader(moto_stack) as queue:
        read = {message.sqs_message_id for message in queue.messages()}
        assert (read, queue.held_elsewhere) == (ids, 0)


def test_who_reads_so_slowly_that_the_first_come_back_reads_the_last_too(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fill(moto_stack, 60)
    monkeypatch.setattr(scan, "READERS", 1)
    holds: list[int] = []
    receive = scan.receive

    def comes_back(sqs: Any, url: str, hold: int, **how: Any) -> list[Queued]:
        holds.append(hold)
        messages = receive(sqs, url, hold, **how)
        if len(holds) in (3, 4):
            give_back(sqs, url, [message.receipt_handle for message in messages])
        return messages

    monkeypatch.setattr(scan, "receive", comes_back)
    with reader(moto_stack) as queue:
        assert {message.sqs_message_id for message in queue.messages()} == ids


@pytest.mark.parametrize(
    ("endpoint_url", "is_long"),
    [("http://127.0.0.1:4566", False), ("http://localhost:4566", False), (None, True)],
)
def test_only_where_there_are_many_servers_is_an_empty_queue_asked_for_long(
    monkeypatch: pytest.MonkeyPatch, endpoint_url: str | None, *, is_long: bool
) -> None:
    polls: list[bool] = []

    def receive(*_: object, long_poll: bool, **__: object) -> list[Queued]:
        polls.append(long_poll)
        return []

    monkeypatch.setattr(scan, "counts", lambda *_: (0, 0))
    monkeypatch.setattr(scan, "receive", receive)
    sqs = boto3.client("sqs", endpoint_url=endpoint_url)
    with QueueReader(sqs, "http://127.0.0.1/1/q") as queue:
        assert list(queue.messages()) == []
    assert (True in polls) is is_long
