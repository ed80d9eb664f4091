"""`python -m lab.conformance` as a person runs it."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from lab.conformance import found, page
from lab.conformance.__main__ import main


def test_a_pair_is_printed_with_its_story_and_a_rivals_failure_is_no_failure_of_the_suite(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pair: Any = {"way": ["none"], "hazard": ["again-later"], "story": True}
    for as_json in (True, False):
        with pytest.raises(typer.Exit) as ended:
            main(**pair, as_json=as_json)
        assert ended.value.exit_code == 0
    first, *lines = capsys.readouterr().out.splitlines()
    none = json.loads(first)
    assert (none["worst"], none["complete"]) == ("twice", True)
    assert none["ended"]["twice"] <= none["schedules"]
    assert sum("PERFORMS a" in line for line in none["story"]) == 2
    assert any("acknowledges [not acknowledged]" in line for line in lines)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(typer.BadParameter):
        main(way=["hope"])


def test_what_is_walked_anew_is_written_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, text = found.FOUND.read_text(), page.PAGE.read_text()
    for module, name in ((found, "FOUND"), (page, "PAGE")):
        monkeypatch.setattr(module, name, tmp_path / name)
    (here,) = (line for line in before.splitlines() if '"none", "hazard": "again-later"' in line)
    found.FOUND.write_text(before.replace(here, here.replace("twice", "lost")))
    page.PAGE.write_text(text.replace("delivered again later | **twice**", "is written anew"))
    with pytest.raises(typer.Exit):
        main(way=["none"], hazard=["again-later"], write=True)
    assert found.FOUND.read_text() == before
    assert page.PAGE.read_text() == text
