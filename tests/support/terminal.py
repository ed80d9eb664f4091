"""A command at a terminal that a test holds: with somebody who types."""

import fcntl
import os
import pty
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """Its exit status, and what came to the terminal, escape sequences and all."""

    status: int
    output: str


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    answers: bytes,
    after: bytes,
) -> Ended:
    """Run it in a session of its own, whose terminal this is, with an empty standard input.

    Args:
        arguments: of the process.
        environment: of it.
        folder: in which it runs.
        answers: what somebody types.
        after: what they wait to see before.
    """
    ours, theirs = pty.openpty()
    chunks: list[bytes] = []
    waiting = [answers]

    def read() -> None:
        try:
            while chunk := os.read(ours, 65_536):
                chunks.append(chunk)
                if waiting and after in b"".join(chunks):
                    os.write(ours, waiting.pop())
        except OSError:  # Linux: the other end is closed
            return

    reader = threading.Thread(target=read)
    with subprocess.Popen(
        arguments,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads
    ) as process:
        os.close(theirs)
        reader.start()
        status = process.wait(timeout=120)
    reader.join(timeout=30)
    os.close(ours)
    return Ended(status, b"".join(chunks).decode().replace("\r\n", "\n"))
