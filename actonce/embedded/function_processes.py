"""The functions' processes: forks of one process that has boto3 loaded.

    python -P -S function_processes.py host FOLDER           forks a process for each `enter`
    python -I -S function_processes.py enter FOLDER HANDLER  stands for such a fork at its starter

A process that loads boto3 itself needs most of a second of CPU time. A dozen that start at once, as
after a crash of all of them, overrun Lambda's 10 s init limit on a busy machine, and after one
overrun MiniStack ends every process of that function. A fork needs some hundredths of a second.

Invariants: `enter` and its fork end together, and by the same signal, even if the fork is stopped,
because another fork watches both. All end when the host's standard input closes. MiniStack has read
what a function wrote before the function answers: it reads lines for some milliseconds after the
answer, and leaves the rest to the next call. While `FAULTS_DIR` holds a plan, `injected.faulty`
wraps the function's handler.
"""

import contextlib
import fcntl
import functools
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

SOCKET = "functions.socket"
LOADED = ("boto3", "boto3.dynamodb.conditions", "concurrent.futures", "hashlib", "uuid")
_PATIENCE_SECONDS = 30.0
_READING_SECONDS = 10.0
_OUTPUT = (1, 2)


def host(folder: Path) -> None:
    """Fork for each `enter`, until standard input closes; those that come too early wait."""
    os.chdir(folder)  # a socket's path has a hundred characters at most
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(SOCKET)
    listener.listen(128)
    for module in LOADED:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
    while sys.stdin not in (ready := select.select([listener, sys.stdin], [], [])[0]):
        if listener in ready:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _watch(connection)
            connection.close()


def _watch(connection: socket.socket) -> NoReturn:
    """In a fork: fork the function's process, and have it and its `enter` end together."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _, output, _, _ = socket.recv_fds(connection, 1, len(_OUTPUT))
        stream = connection.makefile("rw")
        request = json.loads(stream.readline())
        pid = os.fork()
        if pid == 0:
            stream.close()
            connection.close()
            _work(request, output)
        for descriptor in output:
            os.close(descriptor)

        def kill_when_left() -> None:
            select.select([connection, sys.stdin], [], [])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        threading.Thread(target=kill_when_left, daemon=True).start()
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # who entered may be gone
            stream.write(f"{os.waitstatus_to_exitcode(status)}\n")
            stream.flush()
    finally:
        os._exit(0)


def _work(request: Mapping[str, Any], output: list[int]) -> NoReturn:
    """Be the function's process."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        for received, known in zip(output, _OUTPUT, strict=True):
            os.dup2(received, known)
            os.close(received)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.path[:] = request["path"] + [path for path in sys.path if path not in request["path"]]
        sys.argv[1:] = request["arguments"]
        runtime: Any = importlib.import_module("awslambdaric.bootstrap")
        runtime._get_handler = _meeting_faults(runtime._get_handler)  # noqa: SLF001
        client = importlib.import_module("awslambdaric.lambda_runtime_client")
        for name in ("post_invocation_result", "post_invocation_error"):
            post = getattr(client.BaseLambdaRuntimeClient, name)
            setattr(client.BaseLambdaRuntimeClient, name, _when_lines_are_read(post))
        runpy.run_module("awslambdaric", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:  # noqa: BLE001 - the host must not go on in a fork
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _meeting_faults(get_handler: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap the function's handler while there is a plan."""
    plan = Path(os.environ["FAULTS_DIR"], "plan.json")
    injected = Path(__file__).with_name("injected")

    def get(name: str) -> Any:
        own = get_handler(name)

        @functools.wraps(own)
        def handler(event: Any, context: Any) -> Any:
            if not plan.exists():
                return own(event, context)
            if str(injected) not in sys.path:
                sys.path.append(str(injected))
            return importlib.import_module("faulty").call(own, event, context)

        return handler

    return get


def _when_lines_are_read(post: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(post)
    def posting(*arguments: Any, **options: Any) -> None:
        deadline = time.monotonic() + _READING_SECONDS
        while any(map(_unread, _OUTPUT)) and time.monotonic() < deadline:
            time.sleep(0.001)
        post(*arguments, **options)

    return posting


def _unread(pipe: int) -> int:
    """The number of unread bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def enter(folder: Path, arguments: list[str]) -> NoReturn:
    """Stand for the function's process, for whoever watches this one."""
    request = {
        "environment": dict(os.environ),
        "path": os.environ["PYTHONPATH"].split(os.pathsep),
        "folder": str(Path.cwd()),
        "arguments": arguments,
    }
    os.chdir(folder)
    with _connected() as connection, connection.makefile("rw") as stream:
        socket.send_fds(connection, [b"."], list(_OUTPUT))
        stream.write(json.dumps(request) + "\n")
        stream.flush()
        ended = int(stream.readline() or 1)
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
