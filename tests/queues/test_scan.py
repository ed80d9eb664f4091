import contextlib
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from actonce.queues import scan
from actonce.queues.scan import Queued, QueueReader, give_back
from actonce.stack.clients import Stack
from tests.support.queues import bodies_left, fill, hold, received

_RECEIVE = {
    "QueueUrl": ANY,
    "MaxNumberOfMessages": 10,
    "VisibilityTimeout": 30,
    "MessageAttributeNames": ["All"],
    "MessageSystemAttributeNames": ["All"],
}


def reader(stack: Stack, wait_for_others: float | None = None) -> QueueReader:
    return QueueReader(stack.sqs, stack.unstarted_queue, wait_for_others=wait_for_others)


def left(stack: Stack) -> list[str]:
    return bodies_left(stack, stack.unstarted_queue)


def test_every_message_is_read_once_held_meanwhile_and_then_given_back(moto_stack: Stack) -> None:
    with reader(moto_stack) as queue:
        assert list(queue.messages()) == []
    ids = fill(moto_stack, 23)
    with reader(moto_stack) as queue:
        read = [message.sqs_message_id for message in queue.messages()]
        assert (len(read), set(read), queue.in_flight_elsewhere) == (23, ids, 0)
        assert received(moto_stack, moto_stack.unstarted_queue) == []
    assert len(left(moto_stack)) == 23


def test_one_that_two_receives_have_brought_is_read_once(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(moto_stack, 1)
    round_ = QueueReader._round

    def twice(self: QueueReader, hold: int) -> Any:
        for answers in round_(self, hold):
            yield answers * 2

    monkeypatch.setattr(QueueReader, "_round", twice)
    with reader(moto_stack) as queue:
        assert len(list(queue.messages())) == 1


def test_what_another_reader_took_and_gave_back_meanwhile_is_looked_for_again(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fill(moto_stack, 4)
    receive, empty = scan.receive, [True]

    def receives(*at: Any, **how: Any) -> list[Queued]:
        return [] if empty and empty.pop() else receive(*at, **how)

    monkeypatch.setattr(scan, "receive", receives)
    with reader(moto_stack) as queue:
        assert {message.sqs_message_id for message in queue.messages()} == ids


def test_what_is_deleted_is_gone_and_the_rest_is_given_back(moto_stack: Stack) -> None:
    fill(moto_stack, 14)
    with reader(moto_stack) as queue:
        gone = [message for message in queue.messages() if message.body not in ("body 3", "body 9")]
        assert queue.delete(gone) == set()
        queue.delete(gone[:1])  # harmless
    assert left(moto_stack) == ["body 3", "body 9"]


def test_what_came_again_is_deleted_by_the_handle_that_it_came_with_last(
    moto_stack: Stack,
) -> None:
    """By an older one SQS may say that it did, and delete nothing."""
    fill(moto_stack, 1)
    used: list[str] = []
    moto_stack.sqs.meta.events.register(
        "provide-client-params.sqs.DeleteMessageBatch",
        lambda params, **_: used.extend(one["ReceiptHandle"] for one in params["Entries"]),
    )
    with reader(moto_stack) as queue:
        (first,) = queue.messages()
        give_back(moto_stack.sqs, moto_stack.unstarted_queue, [first.receipt_handle])
        (again,) = queue._take(0, hold=30, most=10)
        queue.delete([first])
    assert used == [again.receipt_handle] != [first.receipt_handle]


def test_an_early_end_gives_everything_back(moto_stack: Stack) -> None:
    fill(moto_stack, 15)
    with contextlib.suppress(RuntimeError), reader(moto_stack) as queue:
        next(queue.messages())
        raise RuntimeError
    assert len(left(moto_stack)) == 15


def test_what_another_reader_holds_is_waited_for_and_then_counted(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(moto_stack, 4)
    url = moto_stack.unstarted_queue
    held = [one.receipt_handle for one in scan.receive(moto_stack.sqs, url, 600, most=2)]
    hold(moto_stack, url, 1)

    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, _: float) -> None:
            self.now += 1
            if self.now == 2:
                give_back(moto_stack.sqs, url, held)

    monkeypatch.setattr(scan, "time", Clock())
    with reader(moto_stack, wait_for_others=3) as queue:
        assert (len(list(queue.messages())), queue.in_flight_elsewhere) == (3, 1)


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
    ("endpoint_url", "seconds"), [("http://127.0.0.1:4566", 0), (None, scan.LONG_POLL_SECONDS)]
)
def test_only_where_there_are_many_servers_all_of_them_are_waited_for(
    endpoint_url: str | None, seconds: int
) -> None:
    sqs = boto3.client("sqs", endpoint_url=endpoint_url)
    with Stubber(sqs) as answers:
        answers.add_response("receive_message", {}, {**_RECEIVE, "WaitTimeSeconds": seconds})
        assert scan.receive(sqs, "http://127.0.0.1/1/q", 30) == []
