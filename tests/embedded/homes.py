"""Folders for embedded AWSs: the stack is built once, by whichever process is first."""

import fcntl
import shutil
import tempfile
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.stack.embedded_folder import Paths


def home(factory: pytest.TempPathFactory, *, built: bool = True) -> Paths:
    """An embedded AWS's folder, with the stack built in it; `up` only deploys.

    Args:
        factory: the test session's.
        built: False where `up` is to be seen building.
    """
    temporary = factory.getbasetemp()
    # With xdist each process has a folder of its own in the session's.
    session = temporary.parent if temporary.name.startswith("popen-") else temporary
    # Side by side, for what sam has built names the sources by their way from there.
    homes = session / "homes"
    homes.mkdir(exist_ok=True)
    paths = Paths(Path(tempfile.mkdtemp(dir=homes)))
    if built:
        with (session / "build.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            earlier = (path.parent for path in homes.glob(f"*/build/{paths.built_of.name}"))
            if build := next(earlier, None):
                shutil.copytree(build, paths.build, symlinks=True)
            else:
                lifecycle.build(paths, lambda _: None)
    return paths
