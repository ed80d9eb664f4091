"""The parts of a world: processes, their tasks and steps, and the hazards at a step."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from greenlet import GreenletExit, greenlet  # type: ignore[import-untyped]

TIME_IS_OVER = "is ended: its time is over"
"""How a process ends at Lambda's time-out."""


class Hazard(StrEnum):
    """What may go wrong at a step; each service supports some of these."""

    CRASH = "crash"
    """The process dies before the step."""
    CRASH_AFTER_EFFECT = "crash after the effect"
    """The process dies before the step, and the step before it was the effect."""
    CRASH_BEFORE_EFFECT = "crash before the effect"
    """The process dies before the step, and before the effect."""
    PAUSE = "pause"
    """The whole process pauses before the step."""
    ANSWER_LATE = "answer late"
    """The whole process pauses after the step, before it gets the answer."""
    THROTTLED = "throttled"
    """The service refuses the call and does nothing."""
    ANSWER_LOST = "answer lost"
    """The service does what was asked, and the caller gets an error."""
    REPEATED = "repeated"
    """The first answer is lost, the SDK repeats the call, and gets the second answer."""
    NOT_ACKNOWLEDGED = "not acknowledged"
    """The delivery was handled, but its deletion is lost."""
    NOT_PERFORMED = "not performed"
    """The effect proves that it did not happen."""
    EFFECT_ANSWER_LOST = "effect's answer lost"
    """The effect happens, and the caller gets an error."""
    EFFECT_LATE = "effect late"
    """The effect happens some time after the call; the caller waits."""
    EFFECT_OUTLIVES = "effect outlives its caller"
    """The effect happens some time after the call; the caller's time is over before."""
    LEFT_RUNNING = "left running"
    """The caller gives up and raises; the call goes on, frozen and thawed with its sandbox."""
    DEPLOYED = "deployed between"
    """The effect's function is deployed with another time-out before it is invoked."""
    ABORTED = "aborted"
    """An operator aborts the execution here, and redrives it at once, later, or never."""
    UNCLEAR = "unclear"
    """The effect's function answers neither a clear yes nor a clear no."""
    EFFECT_HANGS = "effect hangs"
    """The caller waits until its time is over, and the effect happens some time after that."""


CRASHES = (Hazard.CRASH, Hazard.CRASH_AFTER_EFFECT, Hazard.CRASH_BEFORE_EFFECT)


class Unsupported(BaseException):
    """The code under test used something that the in-memory services do not support.

    Not an `Exception`, which the code under test would take for a service's failure.
    """


class Killed(GreenletExit):  # type: ignore[misc]
    """Raised inside a task whose process is gone, to unwind its stack without another step."""


class AlreadyVisited(Exception):
    """The run has reached a state that another run visited before."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What a process returned or raised, or what killed it."""

    value: Any = None
    error: Exception | None = None
    killed_by: str | None = None

    def failure(self, crash: str) -> tuple[str, str] | None:
        """The error's name and cause; None if it returned. A crash is called `crash`."""
        if self.killed_by is not None:
            is_late = self.killed_by == TIME_IS_OVER
            return "Sandbox.Timedout" if is_late else crash, self.killed_by
        return None if self.error is None else (type(self.error).__name__, str(self.error))


Invocation = Callable[[str, str, Any, Callable[[ProcessResult], None]], None]
"""Starts a function, or a version of it, as a process with a name and a payload; passes its result
on."""


@dataclass(slots=True, eq=False)
class Process:
    """What crashes, pauses and forgets as a whole: a consumer, or an invocation of a function.

    Attributes:
        name: in stories.
        wall_offset: milliseconds that its wall clock is ahead of the right time.
        deadline: when Lambda ends it; None if nothing does.
        disturbed: whether it may crash and pause.
        sandbox: of Lambda's, which its next invocations may use again; None: none will.
        in_main_thread: its handler runs in its main thread, alone.
    """

    name: str
    wall_offset: int = 0
    deadline: int | None = None
    disturbed: bool = True
    sandbox: str | None = None
    in_main_thread: bool = False
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
    """Waits for its turn, or for a time or a condition, whichever is first.

    `step`: the hazards that the next step supports; None: it does not wait for a turn.
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
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A choice: this task's turn, undisturbed or with a hazard (`pause` in milliseconds).

    `is_deferred`: its process's waking tasks wait until after the process's next step.
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
    """A line of a story: when (milliseconds), who, what, and the answer."""

    at: int
    who: str
    what: str
    answer: str = ""
