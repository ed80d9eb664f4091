"""What a world is made of: processes, their tasks and steps, and what may go wrong at a step."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from greenlet import GreenletExit, greenlet  # type: ignore[import-untyped]

TIME_IS_OVER = "is ended: its time is over"
"""How a process ends that Lambda ends."""


class Hazard(StrEnum):
    """What may go wrong at a step; a service says which of these it knows."""

    CRASH = "crash"
    """The process dies before the step."""
    CRASH_AFTER_EFFECT = "crash after the effect"
    """The process dies before the step, and the step before it was the effect."""
    CRASH_BEFORE_EFFECT = "crash before the effect"
    """The process dies before the step, and has not come to the effect."""
    PAUSE = "pause"
    """The whole process stands still before the step, and then goes on."""
    ANSWER_LATE = "answer late"
    """The step is done, and the whole process stands still before it hears the answer."""
    THROTTLED = "throttled"
    """The service refuses the call; nothing was done."""
    ANSWER_LOST = "answer lost"
    """The service does what it was asked to, and the caller gets an error."""
    REPEATED = "repeated"
    """The SDK does not hear the answer, asks once more, and gets the second answer."""
    NOT_ACKNOWLEDGED = "not acknowledged"
    """The delivery was handled, and the queue does not learn of it."""
    NOT_PERFORMED = "not performed"
    """The effect proves that it did not happen."""
    EFFECT_ANSWER_LOST = "effect's answer lost"
    """The effect happens, and the caller gets an error."""
    EFFECT_LATE = "effect late"
    """The effect happens some time after it was asked for."""
    EFFECT_OUTLIVES = "effect outlives its caller"
    """The effect happens some time after it was asked for; its caller's time is over before."""
    DEPLOYED = "deployed between"
    """The effect's function is deployed with its other time-out before it is invoked."""
    ABORTED = "aborted"
    """An operator aborts the execution here, and redrives it: at once, later, or never."""

    UNCLEAR = "unclear"
    """The effect's function answers what is neither a clear yes nor a clear no."""
    EFFECT_HANGS = "effect hangs"
    """Its caller waits until its time is over, and the effect happens some time after that."""


CRASHES = (Hazard.CRASH, Hazard.CRASH_AFTER_EFFECT, Hazard.CRASH_BEFORE_EFFECT)


class Unsupported(BaseException):
    """The code under test asked for something that the in-memory services do not know.

    No `Exception`, which the code under test would take for a service's failure.
    """


class Killed(GreenletExit):  # type: ignore[misc]
    """The task's process is gone; raised inside it, so that its stack unwinds. It takes no step."""


class AlreadyVisited(Exception):
    """The run has come to a moment that was walked before."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended: what it returned or raised, or what killed it."""

    value: Any = None
    error: Exception | None = None
    killed_by: str | None = None

    def failure(self, crash: str) -> tuple[str, str] | None:
        """The name of its error, and the cause; None: it returned.

        `crash`: the name where it died before its time was over.
        """
        if self.killed_by is not None:
            is_late = self.killed_by == TIME_IS_OVER
            return "Sandbox.Timedout" if is_late else crash, self.killed_by
        return None if self.error is None else (type(self.error).__name__, str(self.error))


Invocation = Callable[[str, str, Any, Callable[[ProcessResult], None]], None]
"""Starts a function, or a version of it, as a process of a name, with a payload; tells how it
ended."""


@dataclass(slots=True, eq=False)
class Process:
    """What dies, stands still and forgets as one: a consumer, or an invocation of a function.

    Attributes:
        name: of the process, in stories.
        wall_offset: milliseconds that its wall clock is ahead of the right time.
        deadline: when Lambda ends it; None where nothing does.
        disturbed: whether hazards befall it.
    """

    name: str
    wall_offset: int = 0
    deadline: int | None = None
    disturbed: bool = True
    tasks: list["Task"] = field(default_factory=list)
    frozen_until: int = 0
    ended: ProcessResult | None = None
    on_end: Callable[[ProcessResult], None] | None = None
    after_effect: bool = False
    had_effect: bool = False
    observed: int = 0
    ids: int = 0
    started_tasks: int = 0
    deferred: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Task:
    """Waits for its turn, or for a moment and a condition, whichever is first.

    `step`: the hazards that are known to the step whose turn it waits for.
    """

    process: Process
    index: int
    run: greenlet
    step: Sequence[Hazard] | None = None
    until: int | None = 0
    awaited: Callable[[], bool] | None = None
    moves_time: bool = True
    way: Hazard | None = None
    late: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """A choice: this task's turn, as it should be or with a hazard (`pause` in milliseconds).

    `is_deferred`: its process's waking tasks come after its next step.
    """

    task: Task
    hazard: Hazard | None = None
    pause: int = 0
    is_deferred: bool = False


class Store(Protocol):
    """A service's memory."""

    def state(self) -> Hashable:
        """Everything that it remembers."""


@dataclass(slots=True)
class Event:
    """A line of a story: when (milliseconds), who, what, and what came of it so far."""

    at: int
    who: str
    what: str
    answer: str = ""
