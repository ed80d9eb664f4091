"""The picture of the state machine cannot go stale."""

import json
import re

from docs import draw_state_machine as drawing


def test_the_picture_shows_every_transition_and_no_other() -> None:
    definition = json.loads(drawing.DEFINITION.read_text())
    transitions = set(drawing.edges(definition))
    svg = drawing.PICTURE.read_text().replace("&#45;", "-").replace("&gt;", ">")
    drawn = set(re.findall(r"<title>([^<]+?)(?::\w+)?->([^<]+?)(?::\w+)?</title>", svg))
    assert drawn == {("Start", definition["StartAt"])} | transitions
    assert set(drawing.WORDS) == transitions
