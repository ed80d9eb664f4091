"""The Javas of the machine that runs the tests."""

import os
import shutil
from pathlib import Path

import pytest

from actonce_pipeline.spark.java import NONE_FOUND, find_java

needed = pytest.mark.skipif(find_java() is None, reason=f"the audit and the backfill. {NONE_FOUND}")


def path_without_java(folder: Path) -> str:
    """A PATH on which every command is that the tests were started with, but for `java`."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).glob("*"):
            if command.name != "java" and not (folder / command.name).is_symlink():
                (folder / command.name).symlink_to(command)
    assert shutil.which("java", path=str(folder)) is None
    return str(folder)


def without_java(folder: Path) -> dict[str, str]:
    """The environment of a machine that has none."""
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return kept | {"PATH": path_without_java(folder)}
