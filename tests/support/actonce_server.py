"""Runs `actonce` for the tests, each time in a process of its own that need not import boto3 again.

Half a second of each command is Python importing other people's packages. This process imports them
once, and forks for every command; what the command itself is made of is imported in the fork, with
that command's environment. A test of starting the command as such starts `ACTONCE`.
"""

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import NoReturn

ACTONCE = Path(sysconfig.get_path("scripts")) / "actonce"

_OTHER_PEOPLES = (
    "boto3",
    "botocore.client",
    "botocore.endpoint",
    "botocore.parsers",
    "botocore.credentials",
    "packaging.requirements",
    "rich.console",
    "rich.progress",
    "rich.table",
    "typer",
    "yaml",
)
_TURN = Lock()
_SERVERS: list[subprocess.Popen[str]] = []


def run_actonce(
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    input_text: str = "",
    folder: Path | None = None,
    seconds: int = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` would.

    Raises:
        subprocess.TimeoutExpired: after `seconds`; the command is killed.
    """
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name) / stream for stream in ("stdin", "stdout", "stderr")]
        for stream, text in zip(streams, (input_text, "", ""), strict=True):
            stream.write_text(text)
        request = {
            "arguments": arguments,
            "environment": dict(environment),
            "folder": str(folder or Path.cwd()),
            "streams": [str(stream) for stream in streams],
            "seconds": seconds,
        }
        with _TURN:
            if not _SERVERS:
                _SERVERS.append(_start())
            server = _SERVERS[0]
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            status = int(server.stdout.readline())
        command = [str(ACTONCE), *arguments]
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, seconds)
        out, err = (stream.read_text() for stream in streams[1:])
        return subprocess.CompletedProcess(command, status, out, err)


def _start() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import _serve; _serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
        start_new_session=True,  # nobody sits at its terminal
    )
    atexit.register(server.communicate)  # its standard input ends, and so does it
    return server


def _serve() -> None:
    for module in _OTHER_PEOPLES:
        importlib.import_module(module)
    with os.fdopen(os.dup(1), "w") as answers:
        while line := sys.stdin.readline():
            request = json.loads(line)
            child = os.fork()
            if not child:
                _be_the_command(**request)
            _, status = os.waitpid(child, 0)
            answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
            answers.flush()


def _be_the_command(
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    streams: list[str],
    seconds: int,
) -> NoReturn:
    signal.alarm(seconds)  # which ends the process
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the process ends with it
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["actonce", *arguments]
    from actonce.cli.app import main  # noqa: PLC0415 - not before the environment is the command's

    main()
    sys.exit()
