"""The effect in processes of its own: started, killed, timed, looked after.

Invariant: when a call is over its process has answered, or is gone; when `close` is over, all are.
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
from actonce.adopt.effect_check.calls import End, Event, Kill, Raw
from actonce.stack.sources import sources
from actonce.terminal.errors import WrongUse

LOADING_SECONDS = 30.0
SHARES = (0.05, 0.3, 0.6, 0.9)
"""Of the time that a call takes, at which it is killed."""

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
            if not ready:
                return None
            piece = os.read(self.answers, _PIECE)
            if not piece:
                return None
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, event: Event, seconds: float, kill: str | None) -> None:
        assert self.popen.stdin is not None  # noqa: S101 - for the type checker
        asked = json.dumps({"event": event, "seconds": seconds, "kill": kill}) + "\n"
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.write(asked.encode())
            self.popen.stdin.flush()

    def end(self) -> None:
        """End it, and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.popen.stdin.close()
        with contextlib.suppress(OSError):
            os.close(self.answers)


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
    _process: _Process | None = None
    _typical: float = 0.0
    _started: list[_Process] = field(default_factory=list)

    @property
    def kills(self) -> tuple[Kill, ...]:
        """Every moment."""
        return (Kill("before"), *(Kill("in", share) for share in SHARES), Kill("after"))

    def call(self, event: Event, kill: Kill | None = None) -> Raw:
        """See `calls.Caller`."""
        if self._process is None or self._process.popen.poll() is not None:
            self._process = self._start()
        raw = self._call(self._process, event, kill)
        if raw.end in (End.DIED, End.HUNG) or kill is not None:
            self.renew()
        elif raw.end is End.ANSWERED and event["operation"] == "perform":
            self._typical = max(self._typical, raw.seconds)
        return raw

    def at_once(self, events: list[Event]) -> list[Raw]:
        """See `calls.Caller`."""
        processes = [self._start() for _ in events]
        try:
            with ThreadPoolExecutor(len(events)) as threads:
                begun = [
                    threads.submit(self._call, process, event, None)
                    for process, event in zip(processes, events, strict=True)
                ]
                return [one.result() for one in begun]
        finally:
            for process in processes:
                process.end()

    def renew(self) -> None:
        """See `calls.Caller`."""
        if self._process is not None:
            self._process.end()
        self._process = None

    def left_running(self) -> int:
        """See `calls.Caller`; those that are still of its group."""
        if self._process is None:
            return 0
        own = self._process.popen.pid
        listing = subprocess.run(
            ["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True
        ).stdout
        lines = (line.split() for line in listing.splitlines())
        return sum(
            int(group) == own and int(pid) != own and not state.startswith("Z")
            for pid, group, state in lines
        )

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
        if told is None or "unloadable" in told:
            process.end()
            why = "it did not load in time, or ended" if told is None else told["unloadable"]
            raise WrongUse(f"{self.target} cannot be loaded from {self.folder}: {why}.")
        return process

    def _call(self, process: _Process, event: Event, kill: Kill | None) -> Raw:
        by_itself = kill.moment if kill is not None and kill.moment != "in" else None
        began = time.monotonic()
        process.ask(event, self.timeout, by_itself)
        until = began + self.timeout
        told = process.told(until)  # that it begins
        began = time.monotonic()
        if told is not None and kill is not None and kill.moment == "in":
            until = began + kill.share * self._typical
        if told is not None:
            told = process.told(until)
        seconds = time.monotonic() - began
        if told is not None:
            if "error" in told:
                return Raw(End.FAILED, told["error"], seconds)
            return Raw(End.ANSWERED, told.get("answer"), seconds)
        is_over = time.monotonic() >= until and process.popen.poll() is None
        process.end()
        hung = is_over and (kill is None or kill.moment != "in")
        return Raw(End.HUNG if hung else End.DIED, None, seconds)
