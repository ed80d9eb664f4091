"""Shows a process's tasks to `answer` as the threads that are at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn
from unittest.mock import patch

from actonce_core import effect
from lab.conformance.world import World


@contextmanager
def seen_by_answer(world: World) -> Iterator[None]:
    """Have `answer` see a process's tasks, and end the process if it has left one."""

    def at_work() -> set[int]:
        process = world.process
        return {task.index for task in process.tasks} if process.in_main_thread else set()

    def end(*_: object) -> NoReturn:
        world.end_process("ends itself, because something is left running")

    with patch.multiple(effect, _threads_at_work=at_work, _end_process=end):
        yield
