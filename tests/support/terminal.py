"""A command at a terminal that a test holds: of a width, with somebody who types."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """Its exit status, and what came to the terminal, escape sequences and all."""

    status: int
    told: str


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    answers: bytes = b"",
    after: bytes = b"",
    columns: int | None = None,
    is_input: bool = False,
    timeout: float = 120,
) -> Ended:
    """Run it in a session of its own, whose terminal this is.

    Args:
        arguments: of the process.
        environment: of it.
        folder: in which it runs.
        answers: what somebody types.
        after: what they wait to see before.
        columns: how wide the terminal is; None: it does not say.
        is_input: its standard input is the terminal as well. Else it is empty: who pipes something
            to a command sits at the terminal all the same.
        timeout: seconds.
    """
    ours, theirs = pty.openpty()
    if columns is not None:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    chunks: list[bytes] = []
    waiting = [answers] if answers else []

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
        stdin=theirs if is_input else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads
    ) as process:
        os.close(theirs)
        if waiting and not after:
            os.write(ours, waiting.pop())  # the terminal keeps it until it is read
        reader.start()
        status = process.wait(timeout=timeout)
    reader.join(timeout=30)
    os.close(ours)
    return Ended(status, b"".join(chunks).decode().replace("\r\n", "\n"))
