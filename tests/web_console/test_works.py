"""Works: begun once, one after the other, stopped, and told what became of them."""

import threading
from collections.abc import Callable, Sequence

import pytest

from actonce.console import works as module
from actonce.console.works import Ended, Progress, State, Work, Works
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.embedded.waiting import wait_until
from tests.web_console.conftest import Open


class Task:
    """A task that begins when it may, and ends when it is let."""

    def __init__(self, error: Exception | None = None, *, held: bool = False) -> None:
        self.began, self.go_on, self.stopped = (threading.Event() for _ in range(3))
        self._error = error
        if not held:
            self.go_on.set()

    def run(self) -> None:
        self.began.set()
        assert self.go_on.wait(30)
        if self._error:
            raise self._error

    def stop(self) -> None:
        self.stopped.set()
        self.go_on.set()

    def ended(self) -> Sequence[Ended]:
        return (
            [Ended("m", "m", "decided", "Decided.", happened=True)] if self.began.is_set() else []
        )

    def said(self) -> Sequence[str]:
        return ()


class Done:
    """Told after each work; waits for so many."""

    def __init__(self) -> None:
        self._number = threading.Semaphore(0)

    def __call__(self) -> None:
        self._number.release()

    def wait(self, works: int) -> None:
        for _ in range(works):
            assert self._number.acquire(timeout=30)


def begin(works: Works, word: str, task: Task) -> Work:
    return works.begin(word, "Retry 1 dead letter", "actonce …", 1, task)


def test_a_second_click_finds_the_first_ones_work() -> None:
    done = Done()
    works = Works(done)
    first, second = Task(), Task()
    work = begin(works, "a", first)
    assert begin(works, "a", second) is work
    assert works.begun_with("a") is work
    done.wait(1)
    assert not second.began.is_set()
    works.rest(30)
    ended = work.progress()
    assert (ended.state, ended.counted, ended.error) == (State.ENDED, {"decided": 1}, None)


def test_one_waits_for_the_one_before_it() -> None:
    done = Done()
    works = Works(done)
    first, second = Task(held=True), Task()
    one, two = begin(works, "a", first), begin(works, "b", second)
    assert first.began.wait(30)
    assert (one.state, two.state) == (State.RUNNING, State.WAITING)
    first.go_on.set()
    done.wait(2)
    assert second.began.is_set()


def test_one_that_is_stopped_before_it_begins_does_not_begin() -> None:
    done = Done()
    works = Works(done)
    first, second = Task(held=True), Task()
    begin(works, "a", first)
    two = begin(works, "b", second)
    works.stop(two)
    assert two.state is State.STOPPING
    first.go_on.set()
    done.wait(2)
    works.rest(30)
    assert not second.began.is_set()
    assert two.progress() == Progress(State.ENDED, None, [], ())


def test_when_the_console_ends_all_are_stopped() -> None:
    done = Done()
    works = Works(done)
    first, second = Task(held=True), Task(held=True)
    begin(works, "a", first)
    begin(works, "b", second)
    assert first.began.wait(30)
    works.stop_all()
    works.rest(30)
    assert all(work.is_over for work in works.all())
    done.wait(2)
    assert first.stopped.is_set()
    assert not second.began.is_set()


def test_what_ends_one_is_told_and_the_next_goes_on() -> None:
    done = Done()
    works = Works(done)
    failing = begin(works, "a", Task(Failed("The credentials have expired.")))
    broken = begin(works, "b", Task(ZeroDivisionError("nothing of AWS's")))
    last = begin(works, "c", Task())
    done.wait(3)
    works.rest(30)
    assert failing.error == "The credentials have expired."
    assert broken.error == "ZeroDivisionError: nothing of AWS's"
    assert (last.error, last.as_json()["state"]) == (None, "ended")


def test_old_works_are_forgotten_and_none_that_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    done = Done()
    works = Works(done)
    for word in "abc":
        begin(works, word, Task())
    done.wait(3)
    works.rest(30)
    held = Task(held=True)
    begin(works, "d", held)
    assert [work.number for work in works.all()] == [4, 3]
    assert works.get(1) is None
    assert works.begun_with("a") is None
    held.go_on.set()
    done.wait(1)


def test_nobody_waits_for_ever_for_one_that_does_not_end() -> None:
    works = Works(Done())
    held = Task(held=True)
    work = begin(works, "a", held)
    works.rest(0.01)
    assert not work.is_over
    held.go_on.set()
    works.rest(30)
    assert work.is_over


def test_what_counts_as_over_has_what_comes_of_it_begun() -> None:
    seen: list[bool] = []
    works = Works(lambda: seen.append(work.is_over))
    task = Task(held=True)
    work = begin(works, "a", task)
    task.go_on.set()
    works.rest(30)
    assert seen == [False]


class EndsWhileItIsAsked(Task):
    """Its work ends after what became of its entries was told, and before anything else is."""

    def __init__(self) -> None:
        super().__init__(held=True)
        self.is_over: Callable[[], bool] = lambda: False

    def ended(self) -> Sequence[Ended]:
        if self.go_on.is_set():
            return super().ended()
        self.go_on.set()
        wait_until(self.is_over)
        return []


def test_a_page_of_a_work_that_ends_just_now_does_not_say_that_it_ended_early(
    ledger: Stack, console: Open
) -> None:
    client, desk = console(ledger)
    task = EndsWhileItIsAsked()
    work = begin(desk.works, "a", task)
    task.is_over = lambda: work.is_over
    assert task.began.wait(30)
    shown = client.get("/works/1").text
    assert "under way" in shown
    assert 'hx-get="/works/1/now"' in shown, "it would stay like this for ever"
    assert "all seen to" in client.get("/works/1/now").text


def test_an_export_of_a_work_that_ends_just_now_says_that_it_goes_on() -> None:
    works = Works(lambda: None)
    task = EndsWhileItIsAsked()
    work = begin(works, "a", task)
    task.is_over = lambda: work.is_over
    assert task.began.wait(30)
    told = [(told["state"], told["ends"]) for told in (work.as_json(), work.as_json())]
    assert told == [("running", {}), ("ended", {"decided": 1})]
