"""The effect in processes of its own: started, killed, timed, looked after.

Invariant: when a call is over its process has answered, or is gone; when `open` is over, all are.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actonce.adopt.effect_check import child
from actonce.adopt.effect_check.calls import AFTER, End, Event, Raw
from actonce.stack.sources import sources
from actonce.terminal.errors import WrongUse

LOADING_SECONDS = 30.0

_PIECE = 65_536


@dataclass(slots=True)
class _Process:
    """One process, and what it has told so far."""

    popen: subprocess.Popen[bytes]
    answers: int
    _read: bytes = b""

    def told(self, until: float) -> dict[str, Any] | None:
        """The next line; None: none came by then (monotonic), or the process ended."""
        while b"\n" not in self._read:
            left = until - time.monotonic()
            ready, _, _ = select.select([self.answers], [], [], max(0.0, left))
            piece = os.read(self.answers, _PIECE) if ready else b""
            if not piece:
                return None
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, event: Event, seconds: float, *, dies: bool) -> None:
        assert self.popen.stdin is not None  # noqa: S101 - for the type checker
        asked = json.dumps({"event": event, "seconds": seconds, "dies": dies}) + "\n"
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.write(asked.encode())
            self.popen.stdin.flush()

    def end(self) -> None:
        """End it, and what it has started; once, for its numbers may be another's afterwards."""
        if self.answers < 0:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        os.close(self.answers)
        self.answers = -1
        if self.popen.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.popen.stdin.close()


@dataclass(slots=True)
class Processes:
    """See `calls.Caller`.

    Args:
        target: what `child.load` takes.
        folder: where its modules are.
        variables: the environment of its processes.
        timeout: seconds after which a call is ended.
        log: what it prints goes there.
    """

    target: str
    folder: Path
    variables: Mapping[str, str]
    timeout: float
    log: Path
    can_find: bool = True
    kills: tuple[float, ...] = (0.05, 0.3, 0.6, 0.9, AFTER)
    _process: _Process | None = None
    _typical: float = 0.0
    _started: list[_Process] = field(default_factory=list)

    def call(self, event: Event, kill: float | None = None) -> Raw:
        """See `calls.Caller`."""
        if self._process is None or self._process.popen.poll() is not None:
            self._process = self._start()
        raw = self._call(self._process, event, kill)
        if raw.end in (End.DIED, End.HUNG):
            self.renew()
        elif raw.end is End.ANSWERED and event["operation"] == "perform":
            self._typical = max(self._typical, raw.seconds)
        return raw

    def at_once(self, events: list[Event]) -> list[Raw]:
        """See `calls.Caller`."""
        processes = [self._start() for _ in events]
        with ThreadPoolExecutor(len(events)) as threads:
            return list(threads.map(self._call, processes, events))

    def renew(self) -> None:
        """See `calls.Caller`."""
        if self._process is not None:
            self._process.end()
        self._process = None

    def wait(self, seconds: float) -> None:
        """See `calls.Caller`."""
        time.sleep(seconds)

    @contextlib.contextmanager
    def open(self) -> Iterator["Processes"]:
        """Load the effect; its processes are gone when the context ends.

        Raises:
            WrongUse: it cannot be loaded.
        """
        try:
            self._process = self._start()
            yield self
        finally:
            for process in self._started:
                process.end()

    def _start(self) -> _Process:
        read, write = os.pipe()
        with self.log.open("ab") as log:
            popen = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-u", child.__file__, str(write)),
                    *(self.target, str(self.folder), str(sources() / "functions")),
                ],
                cwd=self.folder,
                env=dict(self.variables),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[write],
                start_new_session=True,
            )
        os.close(write)
        process = _Process(popen, read)
        self._started.append(process)
        told = process.told(time.monotonic() + LOADING_SECONDS)
        if told != {}:
            why = "it did not load in time, or ended" if told is None else told["unloadable"]
            raise WrongUse(f"{self.target} cannot be loaded from {self.folder}: {why}.")
        return process

    def _call(self, process: _Process, event: Event, kill: float | None = None) -> Raw:
        until = time.monotonic() + self.timeout
        process.ask(event, self.timeout, dies=kill == AFTER)
        begins = process.told(until)
        began = time.monotonic()
        if kill is not None and kill < AFTER:
            until = began + kill * self._typical
        told = begins if begins is None else process.told(until)
        now = time.monotonic()
        if told is not None:
            return Raw(End(told["end"]), told["answer"], now - began)
        hung = kill is None and now >= until and process.popen.poll() is None
        process.end()
        return Raw(End.HUNG if hung else End.DIED, None, now - began)
