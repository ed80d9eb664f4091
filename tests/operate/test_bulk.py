"""Acting on many: what whatever ends it leaves, and what is told of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import pytest

from actonce.messages.unstarted import Unstarted
from actonce.operate.bulk import Bulk
from actonce.queues import scan
from actonce.queues.scan import Queued
from actonce.stack.clients import Stack
from tests.support.queues import bodies_left, fill, lying

BODIES = {f"body {n}" for n in range(24)}


class Act(Bulk[Unstarted]):
    """Acts on what was listed of UnstartedQueue.

    Attributes:
        bodies: of what it has acted on, in that order.
        goes: whether one is to be deleted.
    """

    def __init__(self, stack: Stack, *, rate: float | None = None, wait: float | None = 0) -> None:
        super().__init__(stack, lying(stack), rate=rate, wait_for_others=wait)
        self.bodies: list[str] = []
        self.goes: Callable[[str], bool] = lambda _: True

    @property
    def queue_url(self) -> str:
        return self.stack.unstarted_queue

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        for one in batch:
            if not self._rate_limiter.wait():
                return
            goes = self.goes(one.body)
            with self._lock:
                self.bodies.append(one.body)
            self._end(one.sqs_message_id, "acted", "Acted.", happened=True)
            yield one, goes


def left(stack: Stack) -> list[str]:
    return bodies_left(stack, stack.unstarted_queue)


def test_the_listed_are_acted_on_once_and_nothing_else_is_waited_for(
    moto_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def round_again(_: float) -> None:
        raise AssertionError

    fill(moto_stack, 23)
    act, counts = Act(moto_stack, wait=None), list[int]()
    act.goes = lambda body: body != "body 3"
    moto_stack.sqs.send_message(QueueUrl=moto_stack.unstarted_queue, MessageBody="later")
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=round_again)
    monkeypatch.setattr(scan, "time", clock)
    monkeypatch.setattr(scan, "counts", lambda *_: (20, 10))  # another reader holds some
    act.run(counts.append)
    assert sorted(act.bodies) == sorted(f"body {n}" for n in range(23))
    assert (act.results_by_end, counts[-1], act.left) == ({"acted": 23}, 23, 0)
    assert left(moto_stack) == ["body 3", "later"]


def test_what_interrupts_the_wait_lets_no_other_entry_begin(moto_stack: Stack) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    fill(moto_stack, 24)
    act, interrupted = Act(moto_stack), list[bool]()

    def work_until_stopped(_: str) -> bool:
        interrupted.append(act._stopping.wait(3))
        return True

    act.goes = work_until_stopped
    with pytest.raises(KeyboardInterrupt):
        act.run(interrupt)
    assert interrupted == [True] * len(act.bodies)
    assert act.left == 24 - len(act.bodies) > 0


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_ends_it_and_what_was_done_before_is_kept(
    moto_stack: Stack, error: type[BaseException]
) -> None:
    fill(moto_stack, 24)
    act, lock, begun = Act(moto_stack), threading.Lock(), list[str]()

    def fails(body: str) -> bool:
        with lock:
            if len(begun) == 7:
                raise error
            begun.append(body)
        return True

    act.goes = fails
    with pytest.raises(error):
        act.run()
    assert (sorted(act.bodies), act.left) == (sorted(begun), 24 - len(begun))
    assert left(moto_stack) == sorted(BODIES - set(begun))


def test_ctrl_c_lets_what_is_begun_come_to_its_end_and_said_again_it_goes_on(
    moto_stack: Stack,
) -> None:
    fill(moto_stack, 24)

    def ctrl_c(number: int) -> None:
        if number:
            raise KeyboardInterrupt

    act = Act(moto_stack, rate=20)
    with pytest.raises(KeyboardInterrupt):
        act.run(ctrl_c)
    assert 0 < len(act.bodies) < 24
    again = Act(moto_stack)
    again.run()
    assert sorted(act.bodies + again.bodies) == sorted(BODIES)
    assert left(moto_stack) == []
