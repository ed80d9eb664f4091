"""`python -m lab.conformance` as a person runs it."""

import json
import subprocess
import sys

from actonce.stack.embedded_folder import PROJECT


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab.conformance", *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_pair_is_told_with_its_story_and_a_rivals_failure_is_none_of_the_suite() -> None:
    pairs = ("--way", "none", "--way", "ledger", "--hazard", "again-later", "--story")
    done = _run(*pairs, "--json")

    assert (done.returncode, done.stderr) == (0, "")
    none, ledger = map(json.loads, done.stdout.splitlines())
    assert (none["worst"], ledger["worst"]) == ("twice", "survived")
    assert none["complete"]
    assert none["ended"]["twice"] <= none["schedules"]
    assert sum("PERFORMS a" in line for line in none["story"]) == 2
    assert "acknowledges [not acknowledged]" in _run(*pairs).stdout


def test_what_is_not_there_and_half_a_page_are_refused() -> None:
    assert _run("--way", "hope").returncode == _run("--write", "--way", "none").returncode == 2
