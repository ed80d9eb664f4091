"""Folders for embedded AWSs: what was built for one is not built again for the next."""

import shutil
from pathlib import Path

from actonce.embedded.paths import Paths

_made: list[Paths] = []


def home(folder: Path) -> Paths:
    """An embedded AWS's folder, with the build of an earlier one; `up` takes it if it is new."""
    paths = Paths(folder)
    # What sam has built names the sources by their way from there, so only a neighbour's will do.
    near = (earlier for earlier in _made if earlier.home.parent == folder.parent)
    built = (earlier.build for earlier in near if earlier.built_of.exists())
    if build := next(built, None):
        shutil.copytree(build, paths.build, symlinks=True)
    _made.append(paths)
    return paths
