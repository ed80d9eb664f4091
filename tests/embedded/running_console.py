"""Runs `actonce console` as a person runs it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.embedded.command_line import begin


@contextmanager
def console(endpoint_url: str, folder: Path, *arguments: str) -> Iterator[str]:
    """The console of the stack on an embedded AWS: the address that it prints, token included.

    Args:
        endpoint_url: the embedded AWS's.
        folder: where it is started.
        arguments: more of them.
    """
    process = begin(endpoint_url, "console", "--no-browser", *arguments, cwd=folder)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, told = process.communicate(timeout=60)
            raise AssertionError(f"the console did not begin: {told}")
        yield line.rpartition(" ")[2].strip()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
