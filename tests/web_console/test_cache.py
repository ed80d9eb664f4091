"""How often AWS is asked, however many pages ask the console."""

from collections.abc import Iterator

from actonce.console.cache import Cache
from actonce.terminal.errors import Failed


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_however_many_want_it_it_is_asked_for_once_in_its_time_and_never_unwanted() -> None:
    asked = []
    clock = Clock()
    cache = Cache(lambda: asked.append(1), 15, clock)
    assert asked == []
    for second in range(3600):
        clock.now = second
        for _ in range(3):  # tabs
            cache.get()
    assert len(asked) == 240


def test_what_failed_is_told_and_what_was_known_before_stays() -> None:
    answers: Iterator[str | Failed] = iter(["first", Failed("No leave."), "third"])
    clock = Clock()

    def ask() -> str:
        answer = next(answers)
        if isinstance(answer, Failed):
            raise answer
        return answer

    cache = Cache(ask, 15, clock)
    assert (cache.get().value, cache.get().error) == ("first", None)
    clock.now = 15
    assert (cache.get().value, cache.get().error) == ("first", "No leave.")
    cache.expire()
    assert (cache.get().value, cache.get().error) == ("third", None)
