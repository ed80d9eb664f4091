"""`actonce conformance` as a person runs it."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

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


def test_a_rivals_failure_is_told_and_is_no_failure_of_the_command() -> None:
    done = _run("--way", "none", "--hazard", "twice-at-once", "--json", "--story")

    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    assert cell["worst"] == "twice"
    assert cell["complete"]
    assert cell["ended"]["twice"] <= cell["schedules"]
    assert sum("PERFORMS a" in line for line in cell["story"]) == 2


def test_for_people_each_cell_is_a_row_with_its_story_below() -> None:
    done = _run("--way", "none", "--way", "ledger", "--hazard", "again-later", "--story")

    assert done.returncode == 0, done.stderr
    header, none, ledger, *story = done.stdout.splitlines()
    assert header.split() == ["way", "hazard", "worst", "schedules", "ended"]
    assert none.split()[:3] == ["none", "again-later", "twice"]
    assert ledger.split()[:3] == ["ledger", "again-later", "survived"]
    assert "acknowledges [not acknowledged]" in "\n".join(story)


def test_what_is_not_there_is_refused_with_what_is() -> None:
    done = _run("--way", "hope")

    assert done.returncode == 2
    assert "There is no way 'hope': there are none, fifo-alone, " in done.stderr


def test_half_a_page_is_not_written() -> None:
    done = _run("--write", "--way", "none")

    assert done.returncode == 2
    assert "--write writes the whole page" in done.stderr
