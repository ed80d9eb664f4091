"""The real starter in a process that gets no more memory than its function has.

Shared by `lab/bench/hostile.py` and the tests of hostile bodies.
"""

import contextlib
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lab.bench.answering import FUNCTIONS, answering_aws, event_of
from lab.bench.whole_cpu import status_of

MEMORY_SIZE = 256 * 1024 * 1024
"""`MemorySize` of the functions, in bytes."""

MALLOC = {"MALLOC_ARENA_MAX": "1"}
"""What template.yaml tells the functions' malloc: with a heap for each thread, each would keep what
the largest body took in it."""

LARGEST_EVENT = 6_000_000
"""Bytes that Lambda hands to a function at once, nearly."""


@dataclass(frozen=True, slots=True)
class Handled:
    """What one batch did.

    Attributes:
        answer: of the function.
        cpu_ms: what the whole process used, all threads together.
        peak_mb: the most memory that the process has had so far (`VmHWM`).
    """

    answer: dict[str, Any]
    cpu_ms: float
    peak_mb: float


class LimitedStarter:
    """A starter process; ended by what it is given, it raises `EOFError` here."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.peak_at_rest_mb: float = connection.recv()

    def handle(self, bodies: list[str]) -> Handled:
        """Hand it one batch."""
        self._connection.send(bodies)
        handled: Handled = self._connection.recv()
        return handled


@contextlib.contextmanager
def limited_starter(limit: int = MEMORY_SIZE) -> Iterator[LimitedStarter]:
    """Run it, with a server in AWS's place.

    Args:
        limit: bytes of address space beyond what the process has mapped when it is ready: code,
            stacks that threads never use, and the arenas that malloc reserves are no memory.
    """
    spawn = multiprocessing.get_context("spawn")
    os.environ |= MALLOC  # read when a process starts
    with answering_aws():
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_serve, args=(theirs, limit), daemon=True)
        process.start()
        theirs.close()
        try:
            yield LimitedStarter(ours)
        finally:
            ours.close()
            process.join(5)
            process.terminate()
            process.join()


def _serve(connection: Connection, limit: int) -> None:
    sys.path.insert(0, str(FUNCTIONS))
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        from starter import handler  # noqa: PLC0415 - only now: clients take their endpoint there

        handler(event_of(["{}"] * 10), None)
        mapped, resident = status_of("self", "VmSize"), status_of("self", "VmRSS")
        most = mapped - resident + limit
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        connection.send(_peak_mb())
        with contextlib.suppress(EOFError):
            while True:
                event = event_of(connection.recv())
                begin = time.process_time()
                answer = handler(event, None)
                cpu_ms = (time.process_time() - begin) * 1000
                connection.send(Handled(answer, cpu_ms, _peak_mb()))


def _peak_mb() -> float:
    return status_of("self", "VmHWM") / 1024**2
