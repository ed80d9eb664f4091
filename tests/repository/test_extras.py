"""Each command where the package is installed with one extra alone: it works, or names its own."""

import json
import subprocess
import sys

import pytest

from actonce.cli.app import COMMANDS
from tests.support import with_extras
from tests.support.with_extras import NEEDS, OPTIONAL, PROJECT, WORDS, included

LINES = ["", *sorted(OPTIONAL.keys() - {"all", "dev"})]
Answers = dict[str, dict[str, tuple[int, str]]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("extras")
    subprocess.run(
        [sys.executable, "-m", with_extras.__name__, str(folder)],
        cwd=PROJECT,
        env={"PATH": "/nowhere", "HOME": str(folder), "PYTHONPATH": "functions:pipeline"}
        | {"AWS_EC2_METADATA_DISABLED": "true"},
        input="\n".join(LINES) + "\n",
        text=True,
        check=True,
        timeout=300,
    )
    told: Answers = {}
    for file in folder.glob("*/answers.json"):
        told |= json.loads(file.read_text())
    return told


@pytest.mark.parametrize("line", LINES)
def test_with_an_extra_alone_each_command_works_or_names_its_own(
    answers: Answers, line: str
) -> None:
    there = included(line.split())
    for command, (status, said) in answers[line].items():
        assert status in (0, 1, 2), f"actonce {command}: {said}"
        missing = [extra for extra in NEEDS[command] if extra not in there]
        if not missing:
            assert "pip install" not in said
            continue
        assert status == 2
        assert said.count("\n") == 1
        assert said.startswith(f"actonce: actonce {command} ")
        assert f"which is not installed: pip install '{PROJECT}[{missing[0]}]'" in said


def test_every_command_is_tried() -> None:
    assert WORDS.keys() == COMMANDS.keys()
