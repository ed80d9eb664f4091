"""The project's drawing of the state machine, with the path that one message took.

The drawing is Graphviz's (`docs/draw_state_machine.py`). What is known of its form is here: groups
of class `node` whose title is a state's name, and of class `edge` whose title is `A->B`.

Colours are classes, which `static/machine_picture.css` paints by day and by night: the page's
policy allows no `style` attribute. Of the drawing's elements and attributes only those of a list
are taken over, so that it can neither refer to anything nor run anything.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from actonce.messages.history import Step
from pipeline.visible import visible

PATH_STATES = 30
"""As many states of a path are told in words; of a longer one its first and its last."""

_TIMES_TOLD = 10
"""As many visits of one state are told with their times."""

_LISTED = 4
"""As many visits of one state are listed by number."""

_KINDS = {
    "#dbe9fb": "task",
    "#fdf0cd": "wait",
    "#eeeeee": "choice",
    "#d5f0d8": "succeed",
    "#f8d4d0": "fail",
    "#333333": "start",
}
"""Kinds of nodes, by the colour that the drawing gives them."""

_SHAPES = frozenset({"path", "polygon", "polyline", "ellipse", "text"})
_ATTRIBUTES = frozenset(
    {"class", "cx", "cy", "d", "fill", "font-size", "points", "rx", "ry", "stroke", "stroke-width"}
    | {"text-anchor", "transform", "x", "y"}
)

_PORT = re.compile(r":(?:[ns]?[ew]?|c|_)$")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

# Nodes of the drawing that are no states.
_START = "Start"
_END = "End"

_ROUND = "PerformEffect"
"""The state whose entries are rounds."""


class Visit(NamedTuple):
    """An entry into a state: the how manieth of all, and when (UTC)."""

    number: int
    at: datetime


class Way(NamedTuple):
    """From one state to the next."""

    source: str
    target: str


@dataclass(slots=True)
class Path:
    """What the steps of an execution say of its way through the machine.

    Attributes:
        visits: per state, in the order of their first.
        ways: that were taken, from `Start` and to `End` included.
        order: the states as they were entered.
        state: the one it is in, or was in last; empty: none was entered.
        status: AWS's, of an execution that is over; None: it runs, or there is none.
        redriven_in: the state that it went on in, per redrive.
    """

    visits: dict[str, list[Visit]] = field(default_factory=dict)
    ways: set[Way] = field(default_factory=set)
    order: list[str] = field(default_factory=list)
    state: str = ""
    status: str | None = None
    redriven_in: list[str] = field(default_factory=list)

    def marks(self) -> dict[str, str]:
        """The classes of what was visited, of states and of the picture's `Start` and `End`."""
        if not self.order:
            return {}
        marks = dict.fromkeys([_START, *self.visits], "visited")
        if self.status is None:
            marks[self.state] += " current"
        elif self.status != "SUCCEEDED":
            marks[self.state] += " ended failed"
        elif Way(self.state, _END) in self.ways:
            marks[_END] = "visited ended"
        else:
            marks[self.state] += " ended"
        return marks

    def in_words(self) -> str:
        """For those who do not see the picture."""
        if not self.order:
            return "The state machine. No state of it was entered."
        states = self.order
        if len(states) > PATH_STATES:
            half = PATH_STATES // 2
            between = f"… {len(states) - 2 * half} more …"
            states = [*states[:half], between, *states[-half:]]
        if self.status is None:
            end = f"It is in {self.state} now."
        elif self.status == "SUCCEEDED":
            end = "There it ended: SUCCEEDED."
        else:
            end = f"In {self.state} it ended: {self.status}."
        return f"The path that the message took: {', '.join(states)}. {end}"


def path_of(steps: Sequence[Step]) -> Path:
    """The way through the machine that an execution's steps tell."""
    path = Path()
    goes_on = False
    for step in steps:
        if step.what == "entered":
            # A redrive goes on in a state; were that entered again, no way would lead there.
            if not (goes_on and step.state == path.state):
                path.ways.add(Way(path.state or _START, step.state))
            path.order.append(step.state)
            path.visits.setdefault(step.state, []).append(Visit(len(path.order), step.at))
            path.state, path.status, goes_on = step.state, None, False
        elif step.what == "attempt" and step.state:
            path.ways.add(Way(step.state, step.state))
        elif step.what == "redriven":
            path.status, goes_on = None, True
            path.redriven_in.append(path.state)
        elif step.what == "ended":
            path.status = str(step.detail.get("status"))
    return path


def machine_picture(svg: str, steps: Sequence[Step], prefix: str = "machine-") -> Markup:
    """The picture with the path, as a `<figure>`.

    States that were entered and ways that were taken, and that the picture does not have, because
    the execution is of another version's machine, are told below it.

    Args:
        svg: the text of the picture.
        steps: of an execution; none: the machine alone.
        prefix: makes the ids unique in the page.

    Raises:
        xml.etree.ElementTree.ParseError: the picture is no XML.
        ValueError: it is none of Graphviz's.
    """
    drawn = ET.fromstring(svg)  # noqa: S314 the project's own drawing
    graph = next((child for child in drawn if _name(child) == "g"), None)
    if graph is None:
        raise ValueError("The picture of the state machine has no graph in it.")
    # Beside the groups there are the title of it all, and the paper.
    groups = [(group, _title(group)) for group in graph if _name(group) == "g"]
    states = {title for group, title in groups if group.get("class") == "node"}
    ways = {_way(title) for group, title in groups if group.get("class") == "edge"}
    path = path_of(steps)
    if path.status == "SUCCEEDED" and (to_end := Way(path.state, _END)) in ways:
        path.ways.add(to_end)
    marks = path.marks()

    figure = ET.Element("figure", {"class": "machine"})
    # It may be wider than the window: then it is scrolled, also by keyboard.
    scrolled = ET.SubElement(figure, "div", {"class": "machine-scrolled", "tabindex": "0"})
    label = {"role": "img", "aria-label": visible(path.in_words())}
    picture = ET.SubElement(scrolled, "svg", {"viewBox": drawn.get("viewBox", ""), **label})
    canvas = ET.SubElement(picture, "g", _kept(graph, prefix))
    # In this order no line crosses the path, a state or a number.
    untaken, taken, nodes, badges = (ET.SubElement(canvas, "g") for _ in range(4))
    for group, title in groups:
        copied = ET.Element("g", _kept(group, prefix))
        if title in states:
            visits = path.visits.get(title, [])
            copied.set("class", f"node {_kind(group)} {marks.get(title, '')}".rstrip())
            copied.set("data-state", title)
            ET.SubElement(copied, "title").text = _visits_in_words(title, visits)
            if visits:
                badges.append(_badge(group, visits))
            nodes.append(copied)
        else:
            way = _way(title)
            copied.set("class", "edge taken" if way in path.ways else "edge")
            (taken if way in path.ways else untaken).append(copied)
            ET.SubElement(copied, "title").text = f"{way.source} to {way.target}"
        for child in group:
            if _name(child) in _SHAPES:
                ET.SubElement(copied, _name(child), _kept(child)).text = child.text
    caption = _caption(path, states, ways)
    if len(caption):
        figure.append(caption)
    return Markup(ET.tostring(figure, encoding="unicode"))  # noqa: S704 ElementTree escapes


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _kept(element: ET.Element, prefix: str = "") -> dict[str, str]:
    """The attributes that are taken over."""
    kept = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    if prefix and "id" in element.attrib:
        kept["id"] = f"{prefix}{element.attrib['id']}"
    return kept


def _title(group: ET.Element) -> str:
    return next((child.text or "" for child in group if _name(child) == "title"), "")


def _way(title: str) -> Way:
    source, _, target = title.partition("->")
    return Way(_PORT.sub("", source), _PORT.sub("", target))


def _kind(node: ET.Element) -> str:
    fills = (child.get("fill", "") for child in node)
    return next((_KINDS[fill] for fill in fills if fill in _KINDS), "other")


def _badge(node: ET.Element, visits: Sequence[Visit]) -> ET.Element:
    """The visits' numbers, at the upper right of a node."""
    numbers = [str(visit.number) for visit in visits]
    if len(numbers) > _LISTED:
        told = f"{', '.join(numbers[:2])}, … {numbers[-1]} ({len(numbers)} times)"
    else:
        told = ", ".join(numbers)
    right, top = _corner(node)
    width = 14 + 7.5 * len(told)
    left, top = max(right - width, right - 20), top - 12
    badge = ET.Element("g", {"class": "badge"})
    box = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "height": "22"}
    ET.SubElement(badge, "rect", {**box, "rx": "11"})
    middle = {"x": f"{left + width / 2:.1f}", "y": f"{top + 15.5:.1f}"}
    ET.SubElement(badge, "text", {**middle, "text-anchor": "middle", "font-size": "13"}).text = told
    return badge


def _corner(node: ET.Element) -> tuple[float, float]:
    """The upper right of a node; y grows downwards."""
    xs, ys = [0.0], [0.0]
    for child in node:
        if _name(child) == "ellipse":
            cx, cy, rx, ry = (float(child.get(name, "0")) for name in ("cx", "cy", "rx", "ry"))
            xs, ys = [cx - rx, cx + rx], [cy - ry, cy + ry]
        elif _name(child) in ("path", "polygon"):
            written = child.get("d") or child.get("points") or ""
            numbers = [float(number) for number in _NUMBER.findall(written)]
            xs, ys = numbers[::2] or xs, numbers[1::2] or ys
    # Of a diamond the box's corner is far from any line of it.
    inwards = 0.2 if _kind(node) == "choice" else 0
    return (
        max(xs) - inwards * (max(xs) - min(xs)),
        min(ys) + inwards * (max(ys) - min(ys)),
    )


def _visits_in_words(state: str, visits: Sequence[Visit]) -> str:
    if not visits:
        return state
    told = [f"{visit.number}: {visit.at:%Y-%m-%d %H:%M:%S} UTC" for visit in visits[:_TIMES_TOLD]]
    if len(visits) > _TIMES_TOLD:
        told.append(f"and {len(visits) - _TIMES_TOLD} times more")
    return "\n".join([f"{state} was entered", *told])


def _caption(path: Path, states: set[str], ways: set[Way]) -> ET.Element:
    """What the picture alone does not tell."""
    told = []
    rounds = len(path.visits.get(_ROUND, []))
    if rounds > 1:
        told.append(f"{_ROUND} was entered {rounds} times.")
    if path.redriven_in:
        number = len(path.redriven_in)
        times = "once" if number == 1 else f"{number} times"
        places = list(dict.fromkeys(filter(None, path.redriven_in)))
        went_on = f"; it went on in {', '.join(places)}" if places else ""
        told.append(f"The execution was redriven {times}{went_on}.")
    lacking = [
        f"{state} ({', '.join(str(visit.number) for visit in visits[:_LISTED])}"
        f"{', …' if len(visits) > _LISTED else ''})"
        for state, visits in path.visits.items()
        if state not in states
    ]
    # A way from or to a state that is lacking goes with it.
    between = sorted(way for way in path.ways - ways if {way.source, way.target} <= states)
    lacking += [f"the way from {way.source} to {way.target}" for way in between]
    if lacking:
        told.append(
            "The execution is of another version of the state machine than this picture, which "
            f"does not have: {', '.join(lacking)}."
        )
    caption = ET.Element("figcaption")
    for sentence in told:
        ET.SubElement(caption, "p").text = visible(sentence)
    return caption
