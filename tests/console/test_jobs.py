"""Jobs: begun once, one after the other, stopped, and told what became of them."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from actonce.console.jobs import Job, Jobs, Progress
from actonce.operate.bulk import Bulk, BulkResult
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from tests.console.conftest import Open
from tests.embedded.waiting import wait_until


class Work:
    """The work of a job: it begins when it may, and ends when it is let."""

    notes = ()
    queue_url = "of the dead letters"

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

    def word(self, end: str) -> str:
        return f"{end} so"

    def stop(self) -> None:
        self.stopped.set()
        self.go_on.set()

    @property
    def ended(self) -> list[BulkResult[Any]]:
        if not self.began.is_set():
            return []
        entry = cast("Any", SimpleNamespace(message_id="m"))
        return [BulkResult(entry, "decided", "Decided.", happened=True)]


def nothing(_: Any) -> None:
    """Before a job, or after it."""


def begin(jobs: Jobs, key: str, work: Work) -> Job:
    task = cast("Bulk[Any]", work)
    return jobs.begin(key, "Retry 1 dead letter", "actonce …", 1, task)


def test_one_waits_for_the_one_before_it_and_begins_not_at_all_if_it_is_stopped() -> None:
    """What comes of a job is begun before it counts as over."""
    seen: list[str] = []
    jobs = Jobs(nothing, lambda _: seen.append(one.state))
    first, second, third = Work(held=True), Work(), Work()
    one, two, three = begin(jobs, "a", first), begin(jobs, "b", second), begin(jobs, "c", third)
    assert first.began.wait(30)
    assert (one.state, two.state) == ("running", "waiting")
    jobs.stop(two)
    assert two.progress() == Progress("ended", None, [], ())
    first.go_on.set()
    jobs.wait(30)
    assert (seen, one.state) == (["running", "ended"], "ended")
    assert not second.began.is_set()
    assert (third.began.is_set(), three.state) == (True, "ended")
    assert three.progress().results_by_end == {"decided": 1}


def test_a_job_that_is_stopped_before_it_may_begin_does_nothing() -> None:
    """Its work would act on what it receives first, and look only then whether it shall stop."""
    comes, may_begin, work = threading.Event(), threading.Event(), Work()

    def before(_: Any) -> None:
        comes.set()
        assert may_begin.wait(30)

    jobs = Jobs(before, nothing)
    job = begin(jobs, "a", work)
    assert comes.wait(30)
    jobs.stop(job)
    may_begin.set()
    jobs.wait(30)
    assert (job.state, work.began.is_set()) == ("ended", False)


def test_what_ends_one_is_told_and_the_next_goes_on() -> None:
    jobs = Jobs(nothing, nothing)
    works = [Work(Failed("It has expired.")), Work(ZeroDivisionError("not AWS's")), Work()]
    begun = [begin(jobs, key, work) for key, work in zip("abc", works, strict=True)]
    jobs.wait(30)
    ends = ["It has expired.", "ZeroDivisionError: not AWS's", None]
    assert [job.progress().error for job in begun] == ends


class EndsWhileItIsAsked(Work):
    """Its job ends after what became of its entries was told, and before anything else is."""

    def __init__(self) -> None:
        super().__init__(held=True)
        self.is_over: Callable[[], bool] = lambda: False

    @property
    def ended(self) -> list[BulkResult[Any]]:
        if self.go_on.is_set():
            return super().ended
        self.go_on.set()
        wait_until(self.is_over)
        return []


def test_a_job_that_ends_just_now_is_not_said_to_have_ended_early(
    machine: Stack, console: Open
) -> None:
    client = console(machine, reads=False)
    work = EndsWhileItIsAsked()
    job = begin(client.context.jobs, "a", work)
    work.is_over = lambda: job.state == "ended"
    assert work.began.wait(30)
    assert 'hx-get="/jobs/1/now"' in client.get("/jobs/1").text, "it would stay so for ever"
    again = client.get("/jobs/1/now")
    assert "hx-get" not in again.text
    assert [cells[:2] for cells in again.rows] == [["m", "decided so"]]


def test_a_page_stops_a_job_and_what_it_has_not_come_to_waits_as_before(
    machine: Stack, console: Open
) -> None:
    client = console(machine, reads=False)
    held, waits = Work(held=True), Work()
    begin(client.context.jobs, "a", held)
    begin(client.context.jobs, "b", waits)
    assert client.post("/jobs/2/stop").headers["location"] == "/jobs/2"
    held.go_on.set()
    client.finish()
    assert not waits.began.is_set()
    assert "The other 1 wait as before." in client.get("/jobs/2").text
