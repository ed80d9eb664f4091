import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from actonce.queues import bulk_pass, scan
from actonce.queues.bulk_pass import Handle, Handled, QueuePass
from actonce.queues.scan import Queued
from actonce.stack.clients import Stack
from pipeline.sqs import RateLimiter
from tests.cli.received import received
from tests.cli.test_scan import fill


def bodies_left(stack: Stack) -> list[str]:
    return sorted(message["Body"] for message in received(stack, stack.unstarted_queue))


class Recorded(QueuePass):
    """A pass whose handled messages are kept, as a pass itself does not."""

    ended: list[Handled]

    def run(self, handle: Handle, tell: Callable[[int], None] = lambda _: None) -> None:
        self.ended = []

        def recorded(batch: Sequence[Queued]) -> Iterator[Handled]:
            for one in handle(batch):
                self.ended.append(one)
                yield one

        super().run(recorded, tell)


def over(stack: Stack, chosen: set[str], wait_for_others: float = 0) -> Recorded:
    return Recorded(stack.sqs, stack.unstarted_queue, chosen, wait_for_others=wait_for_others)


def all_go(batch: Sequence[Queued]) -> Iterator[Handled]:
    for queued in batch:
        yield Handled(queued, goes=True)


def test_the_chosen_are_ended_once_and_the_others_are_given_back(moto_stack: Stack) -> None:
    chosen = fill(moto_stack, 23)
    later = moto_stack.sqs.send_message(QueueUrl=moto_stack.unstarted_queue, MessageBody="later")
    once = over(moto_stack, chosen)
    told: list[int] = []
    once.run(all_go, told.append)
    assert {one.queued.sqs_message_id for one in once.ended} == chosen
    assert (len(once.ended), told[-1], once.missing) == (23, 23, frozenset())
    assert [m["MessageId"] for m in received(moto_stack, moto_stack.unstarted_queue)] == [
        later["MessageId"]
    ]


def test_what_does_not_go_is_given_back_and_not_handled_again(moto_stack: Stack) -> None:
    chosen = fill(moto_stack, 5)

    def some_go(batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            yield Handled(queued, goes=queued.body != "body 3")

    once = over(moto_stack, chosen | {"gone"})
    once.run(some_go)
    assert len(once.ended) == 5
    assert once.missing == {"gone"}
    assert bodies_left(moto_stack) == ["body 3"]


def test_what_another_reader_holds_is_waited_for_and_then_missing(moto_stack: Stack) -> None:
    chosen = fill(moto_stack, 4)
    moto_stack.sqs.receive_message(
        QueueUrl=moto_stack.unstarted_queue, MaxNumberOfMessages=1, VisibilityTimeout=600
    )
    once = over(moto_stack, chosen)
    once.run(all_go)
    assert (len(once.ended), len(once.missing), once.held_elsewhere) == (3, 1, 1)


def test_what_another_reader_gives_back_is_ended(moto_stack: Stack) -> None:
    chosen = fill(moto_stack, 4)
    moto_stack.sqs.receive_message(
        QueueUrl=moto_stack.unstarted_queue, MaxNumberOfMessages=3, VisibilityTimeout=2
    )
    once = over(moto_stack, chosen, wait_for_others=30)
    once.run(all_go)
    assert (len(once.ended), once.missing) == (4, frozenset())


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_ends_the_pass_and_what_was_ended_before_it_is_kept(
    moto_stack: Stack, error: type[BaseException]
) -> None:
    chosen = fill(moto_stack, 40)
    lock = threading.Lock()
    handled: list[str] = []

    def fails(batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            with lock:
                if len(handled) == 7:
                    raise error
                handled.append(queued.body)
            yield Handled(queued, goes=True)

    once = over(moto_stack, chosen)
    with pytest.raises(error):
        once.run(fails)
    assert sorted(one.queued.body for one in once.ended) == sorted(handled)
    assert bodies_left(moto_stack) == sorted({f"body {n}" for n in range(40)} - set(handled))


def test_ctrl_c_in_the_middle_lets_what_is_handled_come_to_its_end(moto_stack: Stack) -> None:
    chosen = fill(moto_stack, 24)

    def interrupted(number: int) -> None:
        if number:
            raise KeyboardInterrupt

    once = over(moto_stack, chosen)
    pace = RateLimiter(20, once.stopping.wait)

    def paced(batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            if not pace.wait():
                return
            yield Handled(queued, goes=True)

    with pytest.raises(KeyboardInterrupt):
        once.run(paced, interrupted)
    ended = {one.queued.body for one in once.ended}
    assert 0 < len(ended) < 24
    assert bodies_left(moto_stack) == sorted({f"body {n}" for n in range(24)} - ended)


def test_a_second_ctrl_c_leaves_nothing_at_work(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(ThreadPoolExecutor):
        """The second one comes while the threads' end is waited for."""

        def __exit__(self, *_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(bulk_pass, "ThreadPoolExecutor", Interrupted)
    chosen = fill(moto_stack, 3)
    begun, never = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow(batch: Sequence[Queued]) -> Iterator[Handled]:
        begun.set()
        never.wait(0.5)
        for queued in batch:
            ended.append(queued.body)
            yield Handled(queued, goes=True)

    def interrupted(_: int) -> None:
        assert begun.wait(30)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        over(moto_stack, chosen).run(slow, interrupted)
    assert bodies_left(moto_stack) == sorted({"body 0", "body 1", "body 2"} - set(ended))
    assert ended


def test_a_rate_is_kept_and_ends_with_what_it_is_for() -> None:
    stopping = threading.Event()
    fast = RateLimiter(None, stopping.wait)
    assert fast.wait()
    slow = RateLimiter(0.001, stopping.wait)
    assert slow.wait()
    threading.Timer(0.05, stopping.set).start()
    assert not slow.wait()
    assert not fast.wait()


def test_a_fifo_queue_gives_what_stood_behind_others(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQS gives a message group to one receive at a time; moto does not in several threads.
    monkeypatch.setattr(scan, "READERS", 1)
    url = moto_stack.sqs.create_queue(QueueName="u.fifo", Attributes={"FifoQueue": "true"})[
        "QueueUrl"
    ]
    sent = [
        moto_stack.sqs.send_message(
            QueueUrl=url, MessageBody=str(n), MessageGroupId="g", MessageDeduplicationId=str(n)
        )["MessageId"]
        for n in range(25)
    ]
    once = Recorded(moto_stack.sqs, url, sent, wait_for_others=0)
    once.run(all_go)
    assert [int(one.queued.body) for one in once.ended] == list(range(25))
