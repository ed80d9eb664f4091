"""How often AWS is asked, however many pages ask the console, and what is told where it fails."""

from collections.abc import Iterator

from actonce.console.cache import Cache
from actonce.terminal.errors import Failed


def test_it_is_asked_for_once_in_its_time_and_what_was_known_before_stays() -> None:
    answers: Iterator[str | Failed] = iter(["first", Failed("No leave."), "third"])
    clock = [0.0]

    def ask() -> str:
        answer = next(answers)
        if isinstance(answer, Failed):
            raise answer
        return answer

    cache = Cache(ask, 15, lambda: clock[0])
    for clock[0], expected in (
        (0.0, ("first", None)),
        (14.9, ("first", None)),
        (15.0, ("first", "No leave.")),
        (29.9, ("first", "No leave.")),
    ):
        for _ in range(3):  # tabs
            cached = cache.get()
            assert (cached.value, cached.error) == expected
    cache.expire()
    assert (cache.get().value, cache.get().error) == ("third", None)
    assert next(answers, None) is None
