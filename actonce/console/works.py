"""What a person has asked for: decisions, redrives, discards. One after the other, each begun once.

A work is begun with a word that its page was given: a second click, or a second tab with the same
page, finds the work that is there. Two works at once would hide the queue's messages from each
other, so the second waits.
"""

import queue
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from actonce.console.watching import told

KEPT: Final = 100
"""Works whose outcomes can be looked at; older ones are forgotten, the queues know nothing less."""


class State(StrEnum):
    """How far a work is."""

    WAITING = "waiting"
    """For the one before it."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Somebody has stopped it; what was begun is brought to its end."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of one of many.

    Attributes:
        name: of the message or the entry, for a person.
        message_id: for a link to its page; None: it has none.
        end: a word: what it is counted under.
        said: one sentence.
        happened: what was asked for is so.
    """

    name: str
    message_id: str | None
    end: str
    said: str
    happened: bool


class Task(Protocol):
    """What does the work; see `operate.deciding.Deciding` and `operate.discarding.Clearing`."""

    def run(self) -> None:
        """Do it, until it is done or stopped."""

    def stop(self) -> None:
        """Begin nothing more."""

    def ended(self) -> Sequence[Ended]:
        """What became of those it has come to, so far."""

    def said(self) -> Sequence[str]:
        """What else is to be told."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a work was at one moment; a page is drawn of one of these, never of the work itself.

    Invariant: where it is over, `ended` and `said` are whole.

    Attributes:
        state: how far.
        error: why it ended before its end; None: it did not, or has not.
        ended: see `Task.ended`.
        said: see `Task.said`.
    """

    state: State
    error: str | None
    ended: Sequence[Ended]
    said: Sequence[str]

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state is State.ENDED

    @property
    def counted(self) -> Mapping[str, int]:
        """How many ended how."""
        return Counter(one.end for one in self.ended)


@dataclass(slots=True)
class Work:
    """A work; see the fields of the same names.

    Attributes:
        number: names it.
        title: what was asked for, in words.
        command: the command line that does the same.
        total: of how many.
        began: when it was asked for (UTC).
    """

    number: int
    title: str
    command: str
    total: int
    task: Task
    began: datetime
    state: State = State.WAITING
    error: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state is State.ENDED

    def progress(self) -> Progress:
        """How far it is."""
        with self.lock:
            state, error = self.state, self.error
        # After the state: what ends between the two is told of a work that seems to go on, and so
        # is asked again; the other way round an end would be told without what came last.
        return Progress(state, error, self.task.ended(), self.task.said())

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        now = self.progress()
        return {
            "work": self.number,
            "title": self.title,
            "command": self.command,
            "state": now.state,
            "total": self.total,
            "error": now.error,
            "ends": dict(now.counted),
            "ended": [
                {"name": e.name, "message_id": e.message_id, "end": e.end, "said": e.said}
                for e in now.ended
            ],
        }


class Works:
    """All works, and the thread that does them.

    Args:
        after: called after each, in that thread, before it counts as over: who finds it over finds
            begun what comes of that.
    """

    def __init__(self, after: Callable[[], None]) -> None:
        self._after = after
        self._lock = threading.Lock()
        self._works: OrderedDict[int, Work] = OrderedDict()
        self._words: dict[str, int] = {}
        self._ended = threading.Condition()
        self._next = 1
        self._todo: queue.SimpleQueue[Work] = queue.SimpleQueue()
        threading.Thread(target=self._go_on, name="works", daemon=True).start()

    def begin(self, word: str, title: str, command: str, total: int, task: Task) -> Work:
        """Begin a work, or find the one that was begun with this word."""
        with self._lock:
            known = self._works.get(self._words.get(word, 0))
            if known is not None:
                return known
            work = Work(self._next, title, command, total, task, datetime.now(UTC))
            self._works[work.number] = work
            self._words[word] = work.number
            self._next += 1
            over = [one for one in self._works.values() if one.is_over]
            for one in over[: max(0, len(self._works) - KEPT)]:
                del self._works[one.number]
        self._todo.put(work)
        return work

    def begun_with(self, word: str) -> Work | None:
        """The work that was begun with this word; None: there is none."""
        with self._lock:
            return self._works.get(self._words.get(word, 0))

    def get(self, number: int) -> Work | None:
        """The work of that number."""
        with self._lock:
            return self._works.get(number)

    def all(self) -> list[Work]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._works.values()))

    def stop(self, work: Work) -> None:
        """Stop it; what it has begun is brought to its end, and the rest stays as it was."""
        with work.lock:
            if work.state is not State.ENDED:
                work.state = State.STOPPING
        work.task.stop()

    def stop_all(self) -> None:
        """Stop whatever is not over."""
        for work in self.all():
            if not work.is_over:
                self.stop(work)

    def rest(self, seconds: float) -> None:
        """Wait until all are over, for so long at most."""
        deadline = time.monotonic() + seconds
        with self._ended:
            while not all(work.is_over for work in self.all()):
                left = deadline - time.monotonic()
                if left <= 0 or not self._ended.wait(left):
                    return

    def _go_on(self) -> None:
        while True:
            work = self._todo.get()
            with work.lock:
                stopped = work.state is State.STOPPING
                work.state = State.STOPPING if stopped else State.RUNNING
            why = None
            try:
                if not stopped:
                    work.task.run()
            except Exception as error:  # noqa: BLE001 - told in its page; the next one goes on
                why = told(error)
            self._after()
            with work.lock:
                work.state, work.error = State.ENDED, why
            with self._ended:
                self._ended.notify_all()
