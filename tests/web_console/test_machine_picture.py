"""The picture of one message's way says what its history says, and nothing in it acts."""

import json
import re
import xml.etree.ElementTree as ET
from datetime import timedelta

import pytest

from actonce.console.machine_picture import machine_picture
from actonce.messages.history import Step, steps
from docs import draw_state_machine as drawing
from tests.hostile import HOSTILE, forbidden
from tests.support import histories

SVG = drawing.PICTURE.read_text()
DEFINITION = json.loads(drawing.DEFINITION.read_text())
CSS = (drawing.PROJECT / "actonce/console/static/machine_picture.css").read_text()


def walked(*states: str, status: str | None = None) -> list[Step]:
    """Steps, seven seconds apart; `redriven` and `again` (an attempt) stand for themselves."""
    found = [Step(histories.START, "", "started")]
    for number, name in enumerate(states, 1):
        at = histories.START + timedelta(seconds=7 * number)
        if name == "redriven":
            found.append(Step(at, "", "redriven"))
        elif name == "again":
            found.append(Step(at, found[-1].state, "attempt", {"number": 2}))
        else:
            found.append(Step(at, name, "entered"))
    if status is not None:
        found.append(Step(found[-1].at, "", "ended", {"status": status}))
    return found


class Shown:
    """What a picture shows."""

    def __init__(self, of: list[Step], svg: str = SVG, prefix: str = "machine-") -> None:
        self.root = ET.fromstring(machine_picture(svg, of, prefix))
        groups = list(self.root.iter("g"))
        self.states = {
            g.attrib["data-state"]: g.attrib["class"] for g in groups if "data-state" in g.attrib
        }
        self.taken = {g.findtext("title") for g in groups if g.get("class") == "edge taken"}
        self.badges = [g.findtext("text") for g in groups if g.get("class") == "badge"]
        self.label = self.root.find(".//svg").attrib["aria-label"]  # type: ignore[union-attr]
        self.caption = [p.text or "" for p in self.root.iter("p")]

    def marked(self, mark: str) -> list[str]:
        return [state for state, classes in self.states.items() if mark in classes.split()]


UNKNOWN = walked(
    *("PerformEffect", "AwaitStraggler", "FindEffect", "Performed?"),
    *("PerformEffect", "AwaitStraggler", "FindEffect", "Performed?", "Done"),
    status="SUCCEEDED",
)


def test_an_unknown_outcome_that_was_looked_up_and_performed_again() -> None:
    shown = Shown(UNKNOWN)
    assert set(shown.marked("visited")) == {"Start", *(step.state for step in UNKNOWN[1:-1])}
    assert shown.marked("ended") == ["Done"]
    assert shown.marked("failed") == shown.marked("current") == []
    assert shown.taken == {
        "Start to PerformEffect",
        "PerformEffect to AwaitStraggler",
        "AwaitStraggler to FindEffect",
        "FindEffect to Performed?",
        "Performed? to PerformEffect",
        "Performed? to Done",
    }
    assert sorted(filter(None, shown.badges)) == ["1, 5", "2, 6", "3, 7", "4, 8", "9"]
    assert shown.label == (
        "The path that the message took: PerformEffect, AwaitStraggler, FindEffect, Performed?, "
        "PerformEffect, AwaitStraggler, FindEffect, Performed?, Done. There it ended: SUCCEEDED."
    )
    assert shown.caption == ["PerformEffect was entered 2 times."]


def test_the_happy_path_goes_to_the_end_that_is_no_state() -> None:
    shown = Shown(walked("PerformEffect", status="SUCCEEDED"))
    assert shown.taken == {"Start to PerformEffect", "PerformEffect to End"}
    assert shown.marked("ended") == ["End"]
    assert shown.marked("visited") == ["Start", "PerformEffect", "End"]
    assert shown.badges == ["1"]
    assert shown.caption == []


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_where_an_execution_failed_is_marked_and_said(status: str) -> None:
    shown = Shown(walked("PerformEffect", status=status))
    assert shown.marked("failed") == shown.marked("ended") == ["PerformEffect"]
    assert "PerformEffect to End" not in shown.taken
    assert shown.label.endswith(f"In PerformEffect it ended: {status}.")


def test_the_state_that_a_running_execution_is_in() -> None:
    shown = Shown(walked("PerformEffect", "AwaitStraggler"))
    assert shown.marked("current") == ["AwaitStraggler"]
    assert shown.marked("ended") == []
    assert shown.label.endswith("It is in AwaitStraggler now.")


def test_histories_as_step_functions_writes_them() -> None:
    events = histories.history_of(
        histories.started(),
        ("TaskStateEntered", {"name": "PerformEffect"}),
        histories.posted(),
        *histories.answered("reject", "no such practice"),
        ("ChoiceStateEntered", {"name": "Decision"}),
        ("FailStateEntered", {"name": "Failed"}),
        ("ExecutionFailed", {"error": "RejectedByOperator", "cause": "no such practice"}),
    )
    shown = Shown(steps(events))
    assert shown.marked("failed") == ["Failed"]
    assert shown.taken == {
        "Start to PerformEffect",
        "PerformEffect to DeadLetter",
        "DeadLetter to Decision",
        "Decision to Failed",
    }


def test_a_redriven_execution_goes_on_without_a_way_and_that_is_told() -> None:
    shown = Shown(
        [*walked("PerformEffect", "DeadLetter", status="ABORTED"), *walked("redriven")[1:]]
    )
    assert shown.marked("current") == ["DeadLetter"]
    assert shown.marked("failed") == []
    assert shown.caption == ["The execution was redriven once; it went on in DeadLetter."]
    # Whether AWS writes that the state was entered again or not: it came there by no way.
    again = [*walked("DeadLetter", status="FAILED"), *walked("redriven", "DeadLetter")[1:]]
    assert Shown(again).taken == set()
    assert Shown(again).badges == ["1, 2"]


def test_a_letter_that_was_posted_in_several_attempts() -> None:
    assert "DeadLetter to DeadLetter" in Shown(walked("DeadLetter", "again")).taken
    assert "DeadLetter to DeadLetter" not in Shown(walked("DeadLetter")).taken


def test_many_visits_are_counted_not_listed() -> None:
    shown = Shown(walked("PerformEffect", *["DeadLetter", "Decision", "PerformEffect"] * 8_000))
    assert sorted(filter(None, shown.badges)) == [
        "1, 4, … 24001 (8001 times)",
        "2, 5, … 23999 (8000 times)",
        "3, 6, … 24000 (8000 times)",
    ]
    assert "… 23971 more …" in shown.label
    assert len(machine_picture(SVG, walked(*["FindEffect"] * 24_000))) < 30_000
    assert shown.caption == ["PerformEffect was entered 8001 times."]


def test_when_a_state_was_entered_is_told_on_hover() -> None:
    shown = Shown(walked(*["FindEffect"] * 12))
    (title,) = (
        group.findtext("title") or ""
        for group in shown.root.iter("g")
        if group.get("data-state") == "FindEffect"
    )
    assert title.startswith("FindEffect was entered\n1: 2026-02-01 00:00:05 UTC\n2: ")
    assert title.endswith("and 2 times more")


def test_what_another_version_s_machine_has_is_told() -> None:
    taken = walked(
        "Prepare", "PerformEffect", "Prepare", "PerformEffect", "Done", status="SUCCEEDED"
    )
    shown = Shown(taken)
    assert shown.caption == [
        "PerformEffect was entered 2 times.",
        (
            "The execution is of another version of the state machine than this picture, which "
            "does not have: Prepare (1, 3), the way from PerformEffect to Done."
        ),
    ]
    assert shown.marked("ended") == ["Done"]


@pytest.mark.parametrize("way", list(dict.fromkeys(drawing.edges(DEFINITION))), ids=str)
def test_each_way_of_the_definition_is_found_in_the_picture(way: drawing.Edge) -> None:
    source, target = way
    if target == "End":
        shown = Shown(walked(source, status="SUCCEEDED"))
    else:
        shown = Shown(walked(source, "again" if source == target else target))
    assert f"{source} to {target}" in shown.taken
    assert not any("not have" in one and f"{source} to" in one for one in shown.caption)


def test_each_state_has_its_kind_s_class() -> None:
    shown = Shown([])
    kinds = {state: classes.split()[1] for state, classes in shown.states.items()}
    assert kinds == {"Start": "start", "End": "succeed"} | {
        name: state["Type"].lower() for name, state in DEFINITION["States"].items()
    }


def test_without_steps_it_is_the_machine_alone() -> None:
    shown = Shown([])
    assert shown.label == "The state machine. No state of it was entered."
    assert shown.badges == shown.marked("visited") == shown.caption == []
    assert shown.taken == set()


ACTS = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 viewBox="0 0 9 9" onload="a()"><style>@import 'https://example.org'</style><g class="graph">
<g id="node1" class="node"><title>Perform</title>
<a xlink:href="https://example.org"><path d="M0,0"/></a><script>a()</script>
<image xlink:href="https://example.org/i.png"/><path d="M0,0" style="fill:red" onclick="a()"
 fill="#dbe9fb" stroke="black"/><foreignObject><p>text</p></foreignObject></g></g></svg>"""


@pytest.mark.parametrize("svg", [SVG, ACTS], ids=["ours", "one that acts"])
def test_nothing_in_it_acts_or_refers_to_anything(svg: str) -> None:
    shown = Shown(UNKNOWN, svg)
    assert {element.tag for element in shown.root.iter()} <= (
        {"figure", "figcaption", "div", "p", "svg", "g", "title", "rect"}
        | {"path", "polygon", "ellipse", "text"}
    )
    names = {name for element in shown.root.iter() for name in element.attrib}
    assert not {
        name for name in names if name.startswith("on") or "href" in name or name == "style"
    }
    assert "example.org" not in machine_picture(svg, UNKNOWN)
    assert "white" not in machine_picture(svg, UNKNOWN)


def test_names_of_states_are_text() -> None:
    hostile = f"<script>alert(1)</script>{HOSTILE}"
    written = machine_picture(SVG, walked("PerformEffect", hostile, "Done", status="SUCCEEDED"))
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    assert forbidden(written) <= {"\n"}
    written.encode()


def test_ids_are_unique_in_a_page_with_two_pictures() -> None:
    ids = [
        element.attrib["id"]
        for prefix in ("a-", "b-")
        for element in Shown(UNKNOWN, prefix=prefix).root.iter()
        if "id" in element.attrib
    ]
    assert len(ids) == len(set(ids)) > 50


def test_what_is_no_picture_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no graph in it"):
        machine_picture("<svg/>", [])
    with pytest.raises(ET.ParseError):
        machine_picture("no picture", [])


def test_the_style_sheet_paints_what_there_is_with_the_page_s_colours() -> None:
    given = {"--mark", "--back"}
    page_s = {"--ink", "--muted", "--line", "--paper", "--good", "--waiting", "--alarm"}
    assert set(re.findall(r"var\((--\w+)\)", CSS)) == given | page_s
    # No colour of its own, which would be one by day and by night.
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb[(]|hsl", CSS) == []
    named = set(re.findall(r"\.([a-z][\w-]*)", CSS)) - {"py"}
    shown = [*UNKNOWN, *walked("DeadLetter", "Failed", status="FAILED")]
    for of in (UNKNOWN, shown, walked("FindEffect")):
        written = machine_picture(SVG, of)
        named -= {
            name for classes in re.findall(r'class="([^"]*)"', written) for name in classes.split()
        }
    assert named == set()
