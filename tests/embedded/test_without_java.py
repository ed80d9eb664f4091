"""On a machine without Java, with what `make demo` installs: the demo, and the audit again."""

import json
import subprocess
from pathlib import Path

import pytest

from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.running_demo import ACTONCE
from tests.java import without_java

LEFT_OUT = ("pandas", "pyarrow", "grpc", "hypothesis", "moto")
"""By `make demo`: pipeline's extra, and what only tests need."""


@pytest.mark.embedded
@pytest.mark.long
def test_the_demo_is_audited_and_its_records_again(paths: Paths, tmp_path: Path) -> None:
    for left_out in LEFT_OUT:
        (tmp_path / f"{left_out}.py").write_text("raise ImportError('make demo leaves it out')")
    kept = without_java(tmp_path / "bin")
    environment = {k: v for k, v in kept.items() if not k.startswith(("AWS_", "SPARK_", "PYTEST_"))}
    environment |= {"ACTONCE_DIR": str(paths.home), "PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*ACTONCE, *arguments],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    answer = run("demo", "--messages", "20", "--faults", "none")
    assert answer.returncode == 0, answer.stderr
    assert "The audit of the records agrees" in answer.stderr
    assert "NOT AUDITED" not in answer.stderr

    again = run("audit", str(paths.records), "--json")
    assert json.loads(again.stdout)["verdicts"]["performed_once"] == 20, again.stderr
