"""On a machine without Java: the demo, the audit, a backfill, the tests themselves."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce.embedded import lifecycle
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.homes import home
from tests.embedded.running_demo import ACTONCE
from tests.java import without_java

pytestmark = [pytest.mark.embedded, pytest.mark.long]


LEFT_OUT = ("pandas", "pyarrow", "grpc", "hypothesis", "moto")
"""By `make demo`: pipeline's extra, and what only tests need."""


@pytest.fixture(scope="module")
def machine(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Paths, dict[str, str]]]:
    """A folder for the embedded AWS, and the environment."""
    paths = home(tmp_path_factory)
    kept = without_java(tmp_path_factory.mktemp("no-java") / "bin")
    environment = {k: v for k, v in kept.items() if not k.startswith(("AWS_", "SPARK_", "PYTEST_"))}
    yield paths, environment | {"ACTONCE_DIR": str(paths.home)}
    lifecycle.down(paths)


def run(
    machine: tuple[Paths, dict[str, str]], *command: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=machine[1] | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def test_the_demo_is_audited_and_its_records_again_with_what_make_demo_installs(
    machine: tuple[Paths, dict[str, str]], tmp_path: Path
) -> None:
    for left_out in LEFT_OUT:
        (tmp_path / f"{left_out}.py").write_text("raise ImportError('make demo leaves it out')")
    demo = [*ACTONCE, "demo", "--messages", "20", "--faults", "none"]
    answer = run(machine, *demo, PYTHONPATH=str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    assert "The audit of the records agrees" in answer.stderr
    assert "NOT AUDITED" not in answer.stderr

    audit = [*ACTONCE, "audit", str(machine[0].records), "--json"]
    again = run(machine, *audit, PYTHONPATH=str(tmp_path))
    summary = json.loads(again.stdout)
    assert summary["verdicts"]["performed_once"] == 20, again.stderr


def test_a_backfill_is_planned(machine: tuple[Paths, dict[str, str]], tmp_path: Path) -> None:
    archive = tmp_path / "archive.csv"
    archive.write_text("id,day\n1,a\n1,a\n2,b\n")
    answer = run(
        machine, *ACTONCE, "backfill", str(archive), "--message-id", "id", "--dry-run", "--json"
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["duplicates"] == 1


def test_the_tests_of_the_audit_run(machine: tuple[Paths, dict[str, str]]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    answer = run(machine, *command, "tests/pipeline/test_late_alarms.py", "-k", "old_alarm")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "NOT TESTED" not in answer.stdout
