"""Where a demo's time goes."""

from actonce.demo.timings import Timings


def test_what_is_said_is_what_the_time_is_put_down_to() -> None:
    said: list[str] = []
    now = iter([0.0, 2.0, 5.0, 5.5])
    watch = Timings(said.append, clock=lambda: next(now))
    for phase in ("sam build", "sam deploy", "Auditing them"):
        watch.say(phase)
    assert watch.done() == [("sam build", 2.0), ("sam deploy", 3.0), ("Auditing them", 0.5)]
    assert said == ["sam build", "sam deploy", "Auditing them"]


def test_a_run_that_says_nothing_took_no_phase() -> None:
    assert Timings(lambda _: None).done() == []
