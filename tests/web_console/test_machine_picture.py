"""The picture of one message's path says what its history says, and nothing in it acts."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actonce.console.machine_picture import machine_picture, path_marks
from actonce.messages.history import Step
from docs import draw_state_machine as drawing
from tests.hostile import HOSTILE, forbidden
from tests.support import histories

SVG = drawing.PICTURE.read_text()
DEFINITION = json.loads(drawing.DEFINITION.read_text())
CSS = (drawing.PROJECT / "actonce/console/static/machine_picture.css").read_text()


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


def test_an_unknown_outcome_that_was_looked_up_and_performed_again() -> None:
    way = ["PerformEffect", "AwaitStraggler", "FindEffect", "Performed?"] * 2
    assert path_marks(walked(*way, "Done", status="SUCCEEDED")) == {
        "state_Start": "visited",
        "edge_Start_PerformEffect": "taken",
        "state_PerformEffect": "visited",
        "edge_PerformEffect_AwaitStraggler": "taken",
        "state_AwaitStraggler": "visited",
        "edge_AwaitStraggler_FindEffect": "taken",
        "state_FindEffect": "visited",
        "edge_FindEffect_Performed?": "taken",
        "state_Performed?": "visited",
        "edge_Performed?_PerformEffect": "taken",
        "edge_Performed?_Done": "taken",
        "state_Done": "visited ended",
    }


@pytest.mark.parametrize(
    ("steps", "state", "mark"),
    [
        (walked("PerformEffect", status="SUCCEEDED"), "End", "visited ended"),
        (walked("PerformEffect", "AwaitStraggler"), "AwaitStraggler", "visited current"),
        (walked("PerformEffect", status="TIMED_OUT"), "PerformEffect", "visited ended failed"),
        (
            [*walked("DeadLetter", status="ABORTED"), *walked("redriven")],
            "DeadLetter",
            "visited current",
        ),
    ],
)
def test_where_it_is_or_ended_is_marked(steps: list[Step], state: str, mark: str) -> None:
    marks = path_marks(steps)
    assert marks[f"state_{state}"] == mark
    assert [one for one in marks.values() if one.startswith("visited ")] == [mark]


def test_a_redriven_execution_goes_on_by_no_transition() -> None:
    # Whether or not AWS writes that the state was entered again.
    again = [*walked("DeadLetter", status="FAILED"), *walked("redriven", "DeadLetter")[1:]]
    assert "edge_DeadLetter_DeadLetter" not in path_marks(again)
    assert "edge_DeadLetter_DeadLetter" in path_marks(walked("DeadLetter", "again"))


@pytest.mark.parametrize("edge", list(dict.fromkeys(drawing.edges(DEFINITION))), ids=str)
def test_each_transition_of_the_definition_is_marked_in_the_picture(edge: drawing.Edge) -> None:
    source, target = edge
    if target == "End":
        found = groups(walked(source, status="SUCCEEDED"))
    else:
        found = groups(walked(source, "again" if source == target else target))
    assert "taken" in found[f"edge_{source}_{target}"]
    assert "visited" in found[f"state_{source}"]


def test_each_state_has_its_kinds_class_and_without_steps_it_is_the_machine_alone() -> None:
    found = groups([])
    kinds = {f"state_{name}": one["Type"].lower() for name, one in DEFINITION["States"].items()}
    kinds |= {"state_Start": "start", "state_End": "succeed"}
    states = {name: classes for name, classes in found.items() if name.startswith("state_")}
    assert states == {name: ["node", kind] for name, kind in kinds.items()}


def test_what_another_versions_machine_has_is_told_as_text() -> None:
    hostile = f"<script>alert(1)</script>{HOSTILE}"
    written = machine_picture(SVG, walked("PerformEffect", hostile, "Done", status="SUCCEEDED"))
    assert "<figcaption" in written
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    assert forbidden(written) <= {"\n"}
    assert "<figcaption" not in machine_picture(SVG, walked("PerformEffect", "DeadLetter"))


NAMES = st.sampled_from([*DEFINITION["States"], "Another", "redriven", "again"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=8), max_size=4), st.booleans())
def test_whatever_was_recorded_it_is_in_one_state_or_ended_in_one(
    runs: list[list[str]], is_over: bool
) -> None:
    steps = [step for run in runs for step in walked(*run, status="FAILED")]
    found = groups(steps if is_over else steps[:-1])
    last = [name for name, classes in found.items() if {"current", "ended"} & set(classes)]
    assert len(last) <= 1
    assert all("visited" in found[name] for name in last)


def test_nothing_in_the_picture_acts_or_refers_to_anything() -> None:
    assert not re.search(r"<(script|style|image|a|foreignObject)\b|\s(on\w+|style|href)=", SVG)


def test_the_style_sheet_paints_what_there_is_with_the_pages_colours() -> None:
    # No colour of its own, which would be one by day and by night.
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb[(]|hsl", CSS) == []
    named = set(re.findall(r"\.([a-z][\w-]*)", CSS)) - {"py"}
    paths = (walked("PerformEffect"), walked("PerformEffect", "Failed", status="FAILED"))
    for steps in paths:
        written = re.findall(r'class="([^"]*)"', machine_picture(SVG, steps))
        named -= {name for classes in written for name in classes.split()}
    assert named == set()
