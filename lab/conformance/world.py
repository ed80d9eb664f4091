"""A deterministic world: virtual time, and processes whose tasks take their steps one at a time.

Each task is a greenlet that runs ordinary blocking code. Everything that other tasks could observe
is a *step*: the task stops before it, and goes on when the world chooses it. Time advances only
when no task can take a step.

    task      ── code ──┤ step ├── code ──┤ step ├── code ── end
                        ▲                 ▲
    choice       who, and what        who, and what
                 goes wrong           goes wrong

Invariant: a run is a function of its choices. A process is a function of what it has observed (the
answers to its steps, its clocks), so two states with the same stores, queues, time and observations
have the same futures, and only one of them needs to be walked.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from lab.conformance.process import (
    CRASHES,
    TIME_IS_OVER,
    AlreadyVisited,
    Event,
    Hazard,
    Killed,
    Option,
    Process,
    ProcessResult,
    Store,
    Task,
)

T = TypeVar("T")

EPOCH = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When each world begins, by the right clock."""

MOST_STEPS = 10_000
"""A longer run is an endless loop in the code under test."""


class World:
    """One run.

    Args:
        script: the first choices; after them the first option is always taken.
        hazards: what may go wrong.
        budget: how many hazards may befall a run.
        pauses: possible lengths of a pause, in milliseconds.
        seen: the states visited before, to which this run adds; None: ignore them.
        keeps_story: whether to keep the story.
    """

    def __init__(  # noqa: PLR0913 - a run has this many sides
        self,
        script: Sequence[int] = (),
        *,
        hazards: Sequence[Hazard] = (),
        budget: int = 0,
        pauses: Sequence[int] = (),
        seen: set[Hashable] | None = None,
        keeps_story: bool = False,
    ) -> None:
        self._script = script
        self._hazards = hazards
        self._budget = budget
        self._pauses = pauses
        self._seen = seen
        self._keeps_story = keeps_story
        self._scheduler = getcurrent()
        self._processes: list[Process] = []
        self._last: Task | None = None
        self._running: Task | None = None
        self._frozen: dict[str, list[Task]] = {}
        self._timers: dict[Hashable, tuple[int, Callable[[], None]]] = {}
        self.steps = 0
        self.picked: tuple[int, ...] = ()
        """What `pick` chose."""
        self.now = 0
        self.stores: list[Store] = []
        self.taken: list[int] = []
        self.open: list[tuple[int, int]] = []
        """(position, number of options) of each choice after the script."""
        self.story: list[Event] = []

    # ---------------------------------------------------------------- for setting it up

    def spawn(
        self,
        process: Process,
        code: Callable[[], Any],
        on_end: Callable[[ProcessResult], None] | None = None,
    ) -> None:
        """Start a process, which ends when `code` does; what its sandbox froze may go on in it."""
        process.on_end = on_end
        self._processes.append(process)

        def main() -> None:
            try:
                value = code()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the process's result
                process.ended = ProcessResult(error=error)
            else:
                process.ended = ProcessResult(value=value)

        self._start(process, main)
        if process.sandbox in self._frozen and not self._choose(2, is_moment=False):
            self.tell(process.name, "is in a sandbox that was frozen")
            for task in self._frozen.pop(process.sandbox):
                self._add(process, task)
                process.observed = hash((process.observed, "thawed", task.index))

    def at(self, moment: int, key: Hashable, act: Callable[[], None]) -> None:
        """Do something at a time; replaces what was planned under the same `key`."""
        self._timers[key] = (moment, act)

    def pick(self, options: Sequence[T]) -> T:
        """Choose something that the code under test does not decide, such as when to re-send."""
        choice = self._choose(len(options), is_moment=False)
        self.picked = (*self.picked, choice)
        return options[choice]

    def tell(self, who: str, what: str, answer: str = "") -> None:
        """Add a line to the story."""
        if self._keeps_story:
            self.story.append(Event(self.now, who, what, answer))

    def run(self) -> None:
        """Run until nothing can happen any more.

        Raises:
            AlreadyVisited: another run has walked everything that can follow.
            RuntimeError: it does not come to rest.
        """
        try:
            while True:
                self._settle()
                options = self._wakings() or self._options()
                if options:
                    self._take(options[self._choose(len(options))])
                elif not self._advance():
                    return
        finally:
            for process in list(self._processes):
                self._remove(process)
            for tasks in self._frozen.values():
                self._unwind(tasks)

    # ---------------------------------------------------------------- for code inside a task

    def step(
        self,
        what: Callable[[], str] | str,
        act: Callable[[], T],
        *,
        otherwise: Mapping[Hazard, Callable[[], T]] | None = None,
        is_effect: bool = False,
        format_answer: Callable[[Any], str] | None = None,
    ) -> T:
        """Take a step once it is this task's turn.

        Args:
            what: for the story.
            act: what the step does, atomically.
            otherwise: what it does instead, for each hazard that it supports.
            is_effect: it is the step that must not happen twice.
            format_answer: formats an answer, or an exception, for the story.
        """
        task = self._current()
        task.step = tuple(otherwise or ())
        self._scheduler.switch()
        way = task.way
        process = task.process
        process.after_effect = is_effect
        process.had_effect |= is_effect
        event = self._line(process.name, what, way) if self._keeps_story else None
        format_answer = format_answer or _format_answer
        try:
            answer = act() if way is None or otherwise is None else otherwise[way]()
        except Exception as error:
            self.observe(repr(error))
            if event is not None:
                event.answer = format_answer(error)
            self._hear_late(task)
            raise
        self.observe(repr(answer))
        if event is not None:
            event.answer = format_answer(answer)
        self._hear_late(task)
        return answer

    def _hear_late(self, task: Task) -> None:
        if task.late:
            late, task.late = task.late, 0
            task.process.frozen_until = self.now + late
            self.tell(task.process.name, f"stands still for {late / 1000:g} s before it hears that")
            self._block(self.now, None)

    def sleep(self, seconds: float) -> None:
        """Sleep, as `time.sleep` does."""
        self._block(self.now + round(seconds * 1000), None)

    def wait(
        self, awaited: Callable[[], bool], seconds: float | None = None, *, moves_time: bool = True
    ) -> bool:
        """Wait for a condition.

        Args:
            awaited: the condition; once true it stays so, or the caller checks again.
            seconds: the longest wait.
            moves_time: whether time advances to the end of the wait if nothing else happens; not
                for a person's decision.

        Returns:
            Whether the condition holds; False: the time was over first.
        """
        until = None if seconds is None else self.now + round(seconds * 1000)
        self._block(until, awaited, moves_time=moves_time)
        is_so = awaited()
        self.observe(is_so)
        return is_so

    def start_task(self, code: Callable[[], Any]) -> Callable[[], bool]:
        """Start a thread, which ends with this process; the result says whether it is over."""
        is_over = False

        def run() -> None:
            nonlocal is_over
            code()
            is_over = True

        self._start(self._current().process, run)
        return lambda: is_over

    def leave_task(self, code: Callable[[], Any]) -> None:
        """Start a thread that the answer of this process freezes, if it has a sandbox."""
        self._start(self._current().process, code, is_left=True)

    def end_process(self, how: str) -> NoReturn:
        """End the running process, as if from outside."""
        process = self._current().process
        self.tell(process.name, how)
        process.ended = ProcessResult(killed_by=how)
        raise Killed

    def may_go_wrong(self, hazard: Hazard) -> bool:
        """Whether this run has the hazard at all."""
        return hazard in self._hazards

    def monotonic(self) -> float:
        """Seconds, as `time.monotonic` gives them."""
        self.observe(self.now)
        return self.now / 1000

    def wall(self) -> datetime:
        """The process's wall clock."""
        offset = self._current().process.wall_offset
        self.observe(self.now + offset)
        return EPOCH + timedelta(milliseconds=self.now + offset)

    def new_id(self) -> str:
        """A unique id, in place of a random one."""
        process = self._current().process
        process.ids += 1
        return f"{process.name}#{process.ids}"

    def observe(self, what: Hashable) -> None:
        """Note that the running process learned something on which it may act."""
        task = self._current()
        process = task.process
        process.observed = hash((process.observed, task.index, what))

    @property
    def process(self) -> Process:
        """The process whose code is running."""
        return self._current().process

    @property
    def task_number(self) -> int:
        """Which of its process's tasks is running."""
        return self._current().index

    # ---------------------------------------------------------------- scheduling

    def _start(self, process: Process, code: Callable[[], Any], *, is_left: bool = False) -> None:
        def body() -> None:
            try:
                code()
            except Killed:
                return

        task = Task(process, 0, greenlet(body, self._scheduler), is_left=is_left)
        task.until = self.now
        self._add(process, task)

    def _add(self, process: Process, task: Task) -> None:
        task.process, task.index = process, process.started_tasks
        process.started_tasks += 1
        process.tasks.append(task)

    def _current(self) -> Task:
        task = self._running
        if task is None:
            raise RuntimeError("no task is running: this is for code inside a task")
        if task.process.ended is not None:
            raise Killed
        return task

    def _block(
        self, until: int | None, awaited: Callable[[], bool] | None, *, moves_time: bool = True
    ) -> None:
        task = self._current()
        task.until, task.awaited, task.moves_time = until, awaited, moves_time
        self._scheduler.switch()

    def _is_awake(self, task: Task) -> bool:
        if task.step is not None or task.process.frozen_until > self.now:
            return False
        return (task.until is not None and task.until <= self.now) or (
            task.awaited is not None and task.awaited()
        )

    def _settle(self) -> None:
        """Let every task run up to its next step.

        No other process observes what lies before a step, so the order needs no choice; between the
        tasks of one process, which share memory, it does (see `_wakings`).
        """
        is_settled = False
        while not is_settled:
            is_settled = True
            for process in list(self._processes):
                if len(process.tasks) > 1:
                    continue
                for task in list(process.tasks):
                    if process.ended is None and self._is_awake(task):
                        self._resume(task)
                        is_settled = False

    def _wakings(self) -> list[Option]:
        """Which of a process's tasks goes on first before its next step.

        This commutes with everything that other processes do, so it is chosen as early as possible,
        one process after another: at once, or deferred until after the process's own next step.
        """
        for process in self._processes:
            if len(process.tasks) > 1:
                awake = [
                    task
                    for task in process.tasks
                    if task.index not in process.deferred and self._is_awake(task)
                ]
                if awake:
                    options = [Option(task) for task in awake]
                    if any(task.step is not None for task in process.tasks):
                        options.append(Option(awake[0], is_deferred=True))
                    return options
        return []

    def _options(self) -> list[Option]:
        ready = [
            task
            for process in self._processes
            if process.frozen_until <= self.now
            for task in process.tasks
            if task.step is not None
        ]
        if self._last in ready:
            ready.remove(self._last)
            ready.insert(0, self._last)
        options = [Option(task) for task in ready]
        if self._budget:
            options += self._wrong(ready)
        return options

    def _wrong(self, ready: Sequence[Task]) -> list[Option]:
        options: list[Option] = []
        befallen: set[Process] = set()
        for task in ready:
            process = task.process
            if process.disturbed and process not in befallen:
                befallen.add(process)
                options += self._wrong_with_process(task)
            known = task.step or ()
            options += [Option(task, hazard) for hazard in known if hazard in self._hazards]
        return options

    def _wrong_with_process(self, task: Task) -> list[Option]:
        crashes = {
            Hazard.CRASH: True,
            Hazard.CRASH_AFTER_EFFECT: task.process.after_effect,
            Hazard.CRASH_BEFORE_EFFECT: not task.process.had_effect,
        }
        pauses = [one for one in (Hazard.PAUSE, Hazard.ANSWER_LATE) if one in self._hazards]
        return [
            *(Option(task, one) for one in self._hazards if crashes.get(one)),
            *(Option(task, one, pause) for one in pauses for pause in self._pauses),
        ]

    def _take(self, option: Option) -> None:
        self._count_step()
        task = option.task
        if option.is_deferred:
            awake = [one.index for one in task.process.tasks if self._is_awake(one)]
            task.process.deferred = frozenset(awake)
            return
        if option.hazard is not None:
            self._budget -= 1
        if option.hazard in CRASHES:
            self._kill(task.process, "crashes")
        elif option.hazard == Hazard.PAUSE:
            task.process.frozen_until = self.now + option.pause
            self.tell(task.process.name, f"stands still for {option.pause / 1000:g} s")
        elif option.hazard == Hazard.ANSWER_LATE:
            task.way, task.late = None, option.pause
            self._resume(task)
        else:
            task.way = option.hazard
            self._resume(task)

    def _count_step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise RuntimeError(f"the world does not come to rest after {MOST_STEPS} steps")

    def _resume(self, task: Task) -> None:
        self._last = self._running = task
        task.process.deferred = frozenset()
        task.step, task.until, task.awaited = None, None, None
        task.run.switch()
        self._running = None
        process = task.process
        if task.run.dead:
            process.tasks.remove(task)
        if process.ended is not None:
            self._remove(process)

    def _advance(self) -> bool:
        """Advance the time to when something happens next; False if nothing ever does."""
        moments = [moment for moment, _ in self._timers.values()]
        for process in self._processes:
            if process.deadline is not None:
                moments.append(process.deadline)
            if process.frozen_until > self.now:
                moments.append(process.frozen_until)
            moments += [
                task.until
                for task in process.tasks
                if task.until is not None and task.moves_time and task.until > self.now
            ]
        if not moments:
            return False
        self._count_step()
        self.now = max(self.now, min(moments))
        for process in self._processes:
            process.deferred = frozenset()
        for process in list(self._processes):
            if process.deadline is not None and process.deadline <= self.now:
                self._kill(process, TIME_IS_OVER)
        due = [key for key, (moment, _) in self._timers.items() if moment <= self.now]
        for key in sorted(due, key=repr):
            _, act = self._timers.pop(key)
            act()
        return True

    def _kill(self, process: Process, how: str) -> None:
        self.tell(process.name, how)
        process.ended = ProcessResult(killed_by=how)
        self._remove(process)

    def _remove(self, process: Process) -> None:
        self._processes.remove(process)
        if process.ended is None:
            process.ended = ProcessResult(killed_by="the run is over")
            process.on_end = None
        left = [task for task in process.tasks if task.is_left]
        if process.sandbox is not None and process.ended.killed_by is None and left:
            self._frozen.setdefault(process.sandbox, []).extend(left)
            process.tasks = [task for task in process.tasks if not task.is_left]
        self._unwind(process.tasks)
        if process.on_end is not None:
            process.on_end(process.ended)

    def _unwind(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if task.run and not task.run.dead:
                self._running = task
                task.run.throw(Killed)
        self._running = None

    # ---------------------------------------------------------------- choosing

    def _choose(self, options: int, *, is_moment: bool = True) -> int:
        if options == 1:
            return 0
        position = len(self.taken)
        if position < len(self._script):
            choice = self._script[position]
        else:
            if self._seen is not None and is_moment:
                state = self._state()
                if state in self._seen:
                    raise AlreadyVisited
                self._seen.add(state)
            self.open.append((position, options))
            choice = 0
        self.taken.append(choice)
        return choice

    def _state(self) -> Hashable:
        processes = frozenset(
            (
                process.name,
                process.observed,
                process.frozen_until if process.frozen_until > self.now else 0,
                process.deadline,
                process.after_effect,
                process.had_effect,
                process.deferred,
                tuple((task.index, task.until) for task in process.tasks),
            )
            for process in self._processes
        )
        return (
            self.now,
            self._budget,
            self.picked,
            processes,
            frozenset(
                (name, tuple(max(task.until or 0, self.now) for task in tasks))
                for name, tasks in self._frozen.items()
            ),
            frozenset((key, moment) for key, (moment, _) in self._timers.items()),
            tuple(store.state() for store in self.stores),
        )

    def _line(self, who: str, what: Callable[[], str] | str, hazard: Hazard | None) -> Event:
        """Begin a line of the story; its answer follows."""
        text = what if isinstance(what, str) else what()
        self.story.append(Event(self.now, who, f"{text} [{hazard}]" if hazard else text))
        return self.story[-1]


def _format_answer(answer: object) -> str:
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"
    return "" if answer is None else str(answer)
