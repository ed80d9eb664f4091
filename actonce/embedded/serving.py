"""Starts and stops the process that is the embedded AWS, which runs `server`."""

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict

from actonce.embedded import lambda_runtime
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from actonce.stack.embedded_folder import Paths, State, answers, is_server
from actonce.terminal.errors import Failed, UsageError


def start(paths: Paths, port: int, parameters: dict[str, str]) -> State:
    """Start it, with nothing deployed on it.

    Args:
        paths: of the embedded AWS.
        port: to listen on; 0 for the last port, or a free one.
        parameters: of the stack, to be remembered.

    Raises:
        UsageError: the port is taken.
        Failed: it did not start.
    """
    require_free(port)
    port = port or port_of_last_time(paths)
    for folder in (paths.temporary, paths.faults):
        folder.mkdir(parents=True, exist_ok=True)
    lambda_runtime.provide(paths)
    state = _start_once(paths, port or _free_port(), parameters)
    if state is None:
        raise Failed(f"MiniStack did not start; its last words are in {paths.server_log}.")
    paths.port.write_text(str(state.port))
    return state


def stop(paths: Paths, pid: int) -> None:
    """End the server and every process of its group."""
    if is_server(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while is_server(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    paths.state.unlink(missing_ok=True)


def require_free(port: int) -> None:
    """Check that a port is free; 0 is.

    Raises:
        UsageError: it is taken.
    """
    if port and not _is_free(port):
        raise UsageError(f"Port {port} is taken by another program; choose another with --port.")


def write(paths: Paths, state: State) -> None:
    """Save what runs, atomically."""
    temporary = paths.state.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(state), indent=2))
    temporary.replace(paths.state)


def _start_once(paths: Paths, port: int, parameters: dict[str, str]) -> State | None:
    arguments = [str(paths.runtime), str(paths.bytecode)]
    with paths.server_log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "actonce.embedded.server", *arguments],
            env=_server_environment(paths, port),
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    state = State(process.pid, port, parameters)
    write(paths, state)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return None
            if answers(state):
                return state
            time.sleep(0.05)
    except BaseException:
        stop(paths, process.pid)
        raise
    stop(paths, process.pid)
    return None


def _server_environment(paths: Paths, port: int) -> dict[str, str]:
    """What functions inherit: nothing of the user's environment, least of all credentials."""
    names = ("PATH", "HOME", "LANG")
    keep = {name: os.environ[name] for name in names if name in os.environ}
    return (
        keep
        | EMBEDDED_CREDENTIALS
        | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_DEFAULT_REGION": EMBEDDED_REGION,
            "MINISTACK_REGION": EMBEDDED_REGION,
            "MINISTACK_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "TMPDIR": str(paths.temporary),
            "LOG_LEVEL": "WARNING",
            "LAMBDA_ACCOUNT_CONCURRENCY": "24",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "DOCKER_HOST": f"unix://{paths.temporary}/no-docker-is-used",
            "TZ": "UTC",
        }
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def port_of_last_time(paths: Paths) -> int:
    """The port that other programs may still use; 0 if there is none, or it is taken by now."""
    try:
        port = int(paths.port.read_text())
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65536 and _is_free(port) else 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
