"""The functions' processes: forks of one process that has boto3 loaded.

    python -P -S function_processes.py host FOLDER           forks a process for each that enters
    python -I -S function_processes.py enter FOLDER HANDLER  is such a process, for who started it

A process of a function that loads boto3 by itself takes most of a second of a CPU. A dozen that
start at once, as after a crash of all of them, then overrun Lambda's 10 s init limit on a busy
machine, and MiniStack answers one overrun by ending every process of that function. A fork takes
some hundredths of a second.

Invariants: who enters and the fork that works for it end together, and by the same signal, even if
the fork is stopped; all forks end with the host, and the host when its standard input closes. What
a function has written is read before its answer is given: MiniStack looks for lines for some
milliseconds after the answer, and takes what it has not read by then at the next call, if any.
"""

import contextlib
import fcntl
import functools
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

SOCKET = "functions.socket"
_PATIENCE_SECONDS = 30.0
_READING_SECONDS = 10.0
LOADED = ("boto3", "boto3.dynamodb.conditions", "concurrent.futures", "hashlib", "uuid")
_SIZE = struct.Struct("!I")
_STATUS = struct.Struct("!i")
_UNREAD = struct.Struct("i")
_OUTPUT = (1, 2)


@dataclass(slots=True)
class _Host:
    """Forks, and lets each fork and who entered it end together."""

    listener: socket.socket
    selector: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    entered: dict[int, socket.socket] = field(default_factory=dict)

    def serve(self) -> None:
        """Serve until standard input closes."""
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.settimeout(0)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # else nothing is woken
        for source in (self.listener, woken, sys.stdin.buffer):
            self.selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj is woken:
                    with contextlib.suppress(BlockingIOError):
                        woken.recv(4096)
                elif key.fileobj is sys.stdin.buffer:
                    for pid in self.entered:
                        _kill(pid)
                    return
                else:  # closed: who entered has ended
                    self.selector.unregister(key.fileobj)
                    _kill(key.data)
            self._bury()

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.settimeout(_PATIENCE_SECONDS)
        try:
            asked, output = _asked(connection)
        except (OSError, EOFError):  # ended before it had asked
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            try:
                self._leave(connection)
                _work(asked, output)
            finally:
                os._exit(1)
        for descriptor in output:
            os.close(descriptor)
        self.entered[pid] = connection
        self.selector.register(connection, selectors.EVENT_READ, pid)

    def _leave(self, connection: socket.socket) -> None:
        """In a fork: keep nothing of the host, least of all the others' connections."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for inherited in (self.listener, connection, *self.entered.values()):
            inherited.close()
        self.selector.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

    def _bury(self) -> None:
        while self.entered:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self.entered.pop(pid)
            with contextlib.suppress(KeyError):
                self.selector.unregister(connection)
            with connection, contextlib.suppress(OSError):  # who entered may be gone
                connection.sendall(_STATUS.pack(os.waitstatus_to_exitcode(status)))


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _asked(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    head, output, _, _ = socket.recv_fds(connection, _SIZE.size, len(_OUTPUT))
    if len(head) < _SIZE.size or len(output) < len(_OUTPUT):
        raise EOFError
    asked: dict[str, Any] = json.loads(_exactly(connection, _SIZE.unpack(head)[0]))
    return asked, output


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        received += (part := connection.recv(size - len(received)))
        if not part:
            raise EOFError
    return received


def _work(asked: Mapping[str, Any], output: list[int]) -> None:
    """Be the process that was asked for."""
    for received, known in zip(output, _OUTPUT, strict=True):
        os.dup2(received, known)
        os.close(received)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[:] = asked["path"] + [path for path in sys.path if path not in asked["path"]]
    sys.argv[1:] = asked["arguments"]
    try:
        _answer_after_the_lines()
        runpy.run_module("awslambdaric", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:  # noqa: BLE001 - the host must not go on in a fork
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _answer_after_the_lines() -> None:
    client = importlib.import_module("awslambdaric.lambda_runtime_client").BaseLambdaRuntimeClient
    for name in ("post_invocation_result", "post_invocation_error"):
        setattr(client, name, _when_lines_are_read(getattr(client, name)))


def _when_lines_are_read(post: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(post)
    def posting(*arguments: Any, **named: Any) -> None:
        deadline = time.monotonic() + _READING_SECONDS
        while any(map(_unread, _OUTPUT)) and time.monotonic() < deadline:
            time.sleep(0.001)
        post(*arguments, **named)

    return posting


def _unread(pipe: int) -> int:
    """How many bytes a pipe holds that nobody has read."""
    size: int = _UNREAD.unpack(fcntl.ioctl(pipe, termios.FIONREAD, bytes(_UNREAD.size)))[0]
    return size


def host(folder: Path) -> None:
    """Fork a process for each that enters; those who come too early wait."""
    os.chdir(folder)  # a socket's path has a hundred characters at most
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    listener.listen(128)
    for module in LOADED:
        importlib.import_module(module)
    _Host(listener).serve()


def enter(folder: Path, arguments: list[str]) -> NoReturn:
    """Be a process of a function, for whoever watches this one."""
    asked = json.dumps(
        {
            "environment": dict(os.environ),
            "path": os.environ["PYTHONPATH"].split(os.pathsep),
            "folder": str(Path.cwd()),
            "arguments": arguments,
        }
    ).encode()
    os.chdir(folder)
    with _connected() as connection:
        socket.send_fds(connection, [_SIZE.pack(len(asked))], list(_OUTPUT))
        connection.sendall(asked)
        status = connection.recv(_STATUS.size)
    ended = _STATUS.unpack(status)[0] if status else 1
    if ended < 0:
        os.kill(os.getpid(), -ended)
    os._exit(ended)


def _connected() -> socket.socket:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(SOCKET)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return connection


if __name__ == "__main__":
    if sys.argv[1] == "host":
        host(Path(sys.argv[2]))
    else:
        enter(Path(sys.argv[2]), sys.argv[3:])
