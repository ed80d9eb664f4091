"""The picture of one message's path says what its history says, and nothing in it acts."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from actonce.console.machine_picture import machine_picture, path_marks
from actonce.messages.history import Step
from actonce_pipeline.audit.judging.verdict_names import VERDICTS
from docs import draw_state_machine as drawing
from tests.support import histories
from tests.support.hostile import HOSTILE, forbidden

SVG = drawing.PICTURE.read_text()
DEFINITION = json.loads(drawing.DEFINITION.read_text())
STATIC = drawing.PROJECT / "actonce" / "console" / "static"


def walked(*states: str, status: str | None = None) -> list[Step]:
    """Steps; `redriven` and `again` (an attempt) stand for themselves."""
    found = [Step(histories.START, "", "started")]
    for name in states:
        if name == "redriven":
            found.append(Step(histories.START, "", "redriven"))
        elif name == "again":
            found.append(Step(histories.START, found[-1].state, "attempt", {"number": 2}))
        else:
            found.append(Step(histories.START, name, "entered"))
    if status is not None:
        found.append(Step(histories.START, "", "ended", {"status": status}))
    return found


def groups(steps: list[Step]) -> dict[str, list[str]]:
    """The classes in the picture, by id."""
    root = ET.fromstring(machine_picture(SVG, steps))
    return {
        one.attrib["id"]: one.attrib["class"].split() for one in root.iter() if "id" in one.attrib
    }


WAY = ["PerformEffect", "AwaitStraggler", "FindEffect", "Performed?"]
AGAIN = [*walked("DeadLetter", status="ABORTED"), *walked("redriven")]


@pytest.mark.parametrize(
    ("steps", "last", "mark"),
    [
        (walked(*WAY * 2, "Done", status="SUCCEEDED"), "Done", "visited ended"),
        (walked("PerformEffect", status="SUCCEEDED"), "End", "visited ended"),
        (walked("PerformEffect", "AwaitStraggler"), "AwaitStraggler", "visited current"),
        (walked("PerformEffect", status="TIMED_OUT"), "PerformEffect", "visited ended failed"),
        (AGAIN, "DeadLetter", "visited current"),
    ],
)
def test_where_it_was_and_where_it_is_or_ended_is_marked(
    steps: list[Step], last: str, mark: str
) -> None:
    marks = path_marks(steps)
    entered = ["Start", *(step.state for step in steps if step.event_type == "entered")]
    if last == "End":
        entered.append("End")
    visited = {f"state_{state}": "visited" for state in entered} | {f"state_{last}": mark}
    taken = {f"edge_{one}_{other}": "taken" for one, other in pairwise(entered)}
    assert marks == visited | taken


def test_each_state_and_each_transition_of_the_definition_is_in_the_picture() -> None:
    alone = groups([])
    kinds = {f"state_{name}": one["Type"].lower() for name, one in DEFINITION["States"].items()}
    kinds |= {"state_Start": "start", "state_End": "succeed"}
    states = {name: classes for name, classes in alone.items() if name.startswith("state_")}
    assert states == {name: ["node", kind] for name, kind in kinds.items()}
    for source, target in drawing.edges(DEFINITION):
        if target == "End":
            found = groups(walked(source, status="SUCCEEDED"))
        else:
            found = groups(walked(source, "again" if source == target else target))
        assert "taken" in found[f"edge_{source}_{target}"]
        assert "visited" in found[f"state_{source}"]


def test_what_another_versions_machine_has_is_told_as_text_and_nothing_in_the_picture_acts() -> (
    None
):
    hostile = f"<script>alert(1)</script>{HOSTILE}"
    written = machine_picture(SVG, walked("PerformEffect", hostile, "Done", status="SUCCEEDED"))
    assert "&lt;script&gt;" in written[written.index("<figcaption") :]
    assert not re.search(r"<(script|style|image|a|foreignObject)\b|\s(on\w+|style|href)=", written)
    assert forbidden(written) <= {"\n"}
    assert "<figcaption" not in machine_picture(SVG, walked("PerformEffect", "TellDeadLetter"))


def test_the_style_sheets_paint_what_there_is_with_the_pages_colours() -> None:
    css = (STATIC / "machine_picture.css").read_text()
    # No colour of its own, which would be one by day and by night.
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb[(]|hsl", css) == []
    classes_in_css = set(re.findall(r"\.([a-z][\w-]*)", css)) - {"py"}
    for steps in (walked("PerformEffect"), walked("PerformEffect", "Failed", status="FAILED")):
        written = re.findall(r'class="([^"]*)"', machine_picture(SVG, steps))
        classes_in_css -= {name for classes in written for name in classes.split()}
    assert classes_in_css == set()
    painted = re.findall(r"\.verdict-(\w+)", (STATIC / "console.css").read_text())
    assert set(painted) <= set(VERDICTS)
