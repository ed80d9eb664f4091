"""`python -m lab.conformance` as a person runs it."""

import json
from typing import Any

import pytest
import typer

from lab.conformance.__main__ import main


def test_a_pair_is_told_with_its_story_and_a_rivals_failure_is_none_of_the_suite(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pair: Any = {"way": ["none"], "hazard": ["again-later"], "story": True}
    for as_json in (True, False):
        with pytest.raises(typer.Exit) as ended:
            main(**pair, as_json=as_json)
        assert ended.value.exit_code == 0
    told, *lines = capsys.readouterr().out.splitlines()
    none = json.loads(told)
    assert (none["worst"], none["complete"]) == ("twice", True)
    assert none["ended"]["twice"] <= none["schedules"]
    assert sum("PERFORMS a" in line for line in none["story"]) == 2
    assert any("acknowledges [not acknowledged]" in line for line in lines)


def test_what_is_not_there_and_half_a_page_are_refused() -> None:
    for asked in ({"way": ["hope"]}, {"way": ["none"], "write": True}):
        with pytest.raises(typer.BadParameter):
            main(**asked)
