"""How often AWS is asked, however many pages ask the console."""

from collections.abc import Iterator

from actonce.console.watching import Seldom
from actonce.terminal.errors import Failed


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_however_many_ask_it_is_looked_at_once_in_its_time() -> None:
    looks = []
    clock = Clock()
    seldom = Seldom(lambda: looks.append(1), 15, clock)
    for second in range(3600):
        clock.now = second
        for _ in range(3):  # tabs
            seldom.seen()
    assert len(looks) == 240


def test_where_nobody_asks_nothing_is_looked_at() -> None:
    looks = []
    clock = Clock()
    seldom = Seldom(lambda: looks.append(1), 15, clock)
    clock.now = 100_000
    assert looks == []
    seldom.seen()
    assert looks == [1]


def test_what_failed_is_told_and_what_was_seen_before_stays() -> None:
    answers: Iterator[str | Failed] = iter(["first", Failed("No leave."), "third"])
    clock = Clock()

    def look() -> str:
        answer = next(answers)
        if isinstance(answer, Failed):
            raise answer
        return answer

    seldom = Seldom(look, 15, clock)
    assert (seldom.seen().value, seldom.seen().error) == ("first", None)
    clock.now = 15
    assert (seldom.seen().value, seldom.seen().error) == ("first", "No leave.")
    seldom.forget()
    assert (seldom.seen().value, seldom.seen().error) == ("third", None)
