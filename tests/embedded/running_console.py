"""Runs `actonce console` as a person runs it."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from tests.embedded.running_demo import ACTONCE


@contextmanager
def console(endpoint_url: str, folder: Path, *arguments: str) -> Iterator[str]:
    """The console of the stack on an embedded AWS: the address that it prints, token included.

    Args:
        endpoint_url: the embedded AWS's.
        folder: where it is started.
        arguments: more of them.
    """
    process = subprocess.Popen(
        [*ACTONCE, "console", "--no-browser", *arguments],
        cwd=folder,
        env=EMBEDDED_CREDENTIALS
        | {
            "AWS_ENDPOINT_URL": endpoint_url,
            "AWS_DEFAULT_REGION": EMBEDDED_REGION,
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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
