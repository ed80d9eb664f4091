"""The audit on the newest Spark, which the project does not yet install: the same answers?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from actonce.stack.embedded_folder import PROJECT
from pipeline.spark.session import spark_session
from tests import java
from tests.pipeline.adversary.planted import CASES, GROUPS, audited_cases

NEWEST = "4.3.0"
DIGEST = "e8c517948eff7088a7aa07449aa8eafa4a15a8d50319de2525a6fd26622476c6"


pytestmark = [pytest.mark.long, java.needed]


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    """A folder with that Spark, to stand in front of the one that is installed."""
    wanted = tmp_path / "wanted.txt"
    wanted.write_text(f"pyspark=={NEWEST} --hash=sha256:{DIGEST}\n")
    folder = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    to = ["--no-deps", "--no-compile", "--target", str(folder), "--requirement", str(wanted)]
    installed = subprocess.run([*pip, *to], capture_output=True, text=True, check=False)
    if installed.returncode:
        why = (installed.stderr.strip().splitlines() or ["pip does not say why"])[-1]
        pytest.skip(f"the audit on Spark {NEWEST}, which cannot be installed here: {why}")
    return folder


def answer_all() -> None:
    """Print what this process's Spark finds of each case."""
    spark = spark_session("newest", brief=True)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    # As of the session of these tests: for a handful of rows code is not worth compiling.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    answers = {
        name: sorted(words)
        for cases in GROUPS.values()
        for name, words in audited_cases(spark, cases).items()
    }
    spark.stop()
    sys.stdout.write(json.dumps([pyspark.__version__, answers]))


def test_every_planted_folder_is_told_right_on_the_newest_spark(newest: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    run = subprocess.run(
        [sys.executable, "-c", f"import {__name__} as here; here.answer_all()"],
        cwd=PROJECT,
        env=kept | {"PYTHONPATH": str(newest)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    version, answers = json.loads(run.stdout)
    assert version == NEWEST
    assert answers == {name: sorted(words) for name, (words, _) in CASES.items()}
