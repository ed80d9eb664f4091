"""Jobs: deciding, sending back and discarding, one after the other.

A page begins its job with an idempotency key: a second click, or a second tab with the same page,
finds the job that is there. Two jobs at once would hide the queue's messages from each other, so
the second waits.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from actonce.operate.bulk import Bulk, BulkResult
from actonce.stack.aws_errors import error_text

State = Literal["waiting", "running", "stopping", "ended"]
"""A job waits for the one before it; one that is stopping finishes what it has begun."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job was at one moment; pages are drawn of this, never of the job itself.

    Invariant: of a job that has ended, outcomes and notes are whole.

    Attributes:
        error: why it ended early; None: it did not, or has not ended.
    """

    state: State
    error: str | None
    outcomes: Sequence[BulkResult[Any]]
    notes: Sequence[str]

    @property
    def results_by_end(self) -> Mapping[str, int]:
        """How many ended how."""
        return Counter(result.end for result in self.outcomes)


@dataclass(slots=True)
class Job:
    """A job.

    Attributes:
        number: names it.
        title: what was asked for, in words.
        command: the command lines that do the same; None: there are none.
        total: of how many.
        began: when it was asked for (UTC).
        run: of its task, in the jobs' thread.
    """

    number: int
    key: str
    title: str
    command: str | None
    total: int
    task: Bulk[Any]
    began: datetime
    run: Future[None]
    stopped: threading.Event

    @property
    def state(self) -> State:
        """How far it is."""
        if self.run.done():
            return "ended"
        if self.stopped.is_set():
            return "stopping"
        return "running" if self.run.running() else "waiting"

    def progress(self) -> Progress:
        """How far it is, and what became of its messages."""
        state, error = self.state, None
        # The outcomes after the state: of a job that ends in between the page has all outcomes,
        # and asks again; the other way round it would show an end without the last of them.
        if state == "ended" and not self.run.cancelled():
            error = self.run.exception()
        text = error_text(error) if isinstance(error, Exception) else None
        return Progress(state, text, self.task.ended, self.task.notes)


class Jobs:
    """All jobs, and the thread that runs them.

    Args:
        before: called with each before it runs, in the jobs' thread.
        after: called with each after it has run, in that thread, before it counts as over: whoever
            sees it over can rely on what `after` has begun.
    """

    def __init__(
        self, before: Callable[[Bulk[Any]], None], after: Callable[[Bulk[Any]], None]
    ) -> None:
        self._before, self._after = before, after
        self._lock = threading.Lock()
        self._jobs: list[Job] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jobs")

    def begun_with(self, key: str) -> Job | None:
        """The job that was begun with this key; None: there is none."""
        return next((job for job in self.all() if job.key == key), None)

    def begin(self, key: str, title: str, command: str | None, total: int, task: Bulk[Any]) -> Job:
        """Begin a job, or find the one that was begun with this key."""
        with self._lock:
            if known := self.begun_with(key):
                return known
            began, stopped = datetime.now(UTC), threading.Event()
            run = self._thread.submit(self._run, task, stopped)
            number = len(self._jobs) + 1
            job = Job(number, key, title, command, total, task, began, run, stopped)
            self._jobs.append(job)
        return job

    def is_busy(self) -> bool:
        """Whether one is under way."""
        return any(job.run.running() for job in self.all())

    def get(self, number: int) -> Job | None:
        """The job of that number; None: there is none."""
        return next((job for job in self._jobs if job.number == number), None)

    def all(self) -> list[Job]:
        """The newest first."""
        return self._jobs[::-1]

    def stop(self, job: Job) -> None:
        """Stop it; it finishes what it has begun, and leaves the rest as it was."""
        job.stopped.set()
        job.run.cancel()
        job.task.stop()

    def stop_all(self) -> None:
        """Stop whatever is not over."""
        for job in self.all():
            self.stop(job)

    def wait(self, seconds: float) -> None:
        """Wait until all are over, for so long at most."""
        with contextlib.suppress(TimeoutError):
            self._thread.submit(bool).result(seconds)  # it comes after them

    def _run(self, task: Bulk[Any], stopped: threading.Event) -> None:
        self._before(task)
        try:
            if not stopped.is_set():
                task.run()
        finally:
            self._after(task)
