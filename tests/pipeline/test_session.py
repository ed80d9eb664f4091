"""How a session begins where it cannot."""

import os
import subprocess
import sys
from pathlib import Path

JAVA = """#!/bin/sh
case "$*" in
  *-version*) echo 'openjdk version "17.0.1"' >&2 ;;
  *) echo "Could not reserve enough space for object heap" >&2; exit 1 ;;
esac
"""


def test_what_a_jvm_that_does_not_start_said_last_is_told(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA)
    java.chmod(0o755)
    program = """
from pipeline.errors import CannotAudit
from pipeline.spark.session import spark_session
try:
    spark_session("tests", brief=True)
except CannotAudit as error:
    print(error)
"""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == (
        "Spark did not start: Could not reserve enough space for object heap\n"
    )
    assert answer.stderr == ""
