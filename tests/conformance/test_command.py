"""`actonce conformance` as a person runs it."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

ACTONCE = Path(sysconfig.get_path("scripts")) / "actonce"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ACTONCE), "conformance", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_cell_is_told_with_its_story_and_a_rivals_failure_is_none_of_the_command() -> None:
    cells = ("--way", "none", "--way", "ledger", "--hazard", "again-later", "--story")
    done = _run(*cells, "--json")

    assert done.returncode == 0, done.stderr
    none, ledger = json.loads(done.stdout)
    assert (none["worst"], ledger["worst"]) == ("twice", "survived")
    assert none["complete"]
    assert none["ended"]["twice"] <= none["schedules"]
    assert sum("PERFORMS a" in line for line in none["story"]) == 2

    for_people = _run(*cells)
    assert for_people.returncode == 0, for_people.stderr
    assert "acknowledges [not acknowledged]" in for_people.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--way", "hope"), "There is no way 'hope': there are none, fifo-alone, "),
        (("--write", "--way", "none"), "--write writes the whole page"),
    ],
)
def test_what_is_not_there_and_half_a_page_are_refused(
    arguments: tuple[str, ...], said: str
) -> None:
    done = _run(*arguments)

    assert done.returncode == 2
    assert said in done.stderr
