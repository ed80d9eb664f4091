"""Replaces a library's threads by a world's tasks, which end with their process.

The world chooses which of them goes on; each runs until it waits or takes a step. `answer` sees the
tasks of its process as the threads that are at work.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

from actonce_core import effect
from lab.conformance.world import World


class Event(threading.Event):
    """See `threading.Event`."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wait(self, timeout: float | None = None) -> bool:
        """See `threading.Event`."""
        return self.is_set() or self._world.wait(self.is_set, timeout)


class Queue(queue.Queue[Any]):
    """See `queue.Queue`."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: FBT001, FBT002
        """See `queue.Queue`."""
        if block and self.empty():
            self._world.wait(lambda: not self.empty(), timeout)
        return super().get(block=False)


class Pool(Executor):
    """See `concurrent.futures.ThreadPoolExecutor`; each call has a thread of its own."""

    def __init__(self, world: World, **_: Any) -> None:
        self._world = world
        self._futures: list[Future[Any]] = []

    def submit(self, code: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor`."""
        future = _Future(self._world)
        self._futures.append(future)

        def run() -> None:
            self._world.observe("begins")
            try:
                future.set_result(code(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - it is raised to whoever asks for the result
                future.set_exception(error)

        self._world.start_task(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """See `concurrent.futures.Executor`; it always waits."""
        wait_for(self._world, self._futures)


class _Future(Future[Any]):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def result(self, timeout: float | None = None) -> Any:
        wait_for(self._world, [self])
        return super().result(timeout)


def wait_for(world: World, futures: Iterable[Future[Any]]) -> None:
    """See `concurrent.futures.wait`."""
    for future in futures:
        if not future.done():
            world.wait(future.done)


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
