"""Matplotlib's SVG as a part of an HTML page that follows the page's colours and font.

Matplotlib draws with stand-in colours, one per role; here each becomes a CSS variable, so one
picture serves light, dark and paper. Text stays text: it can be read aloud, searched and copied.
"""

import io
import re
import xml.etree.ElementTree as ET
from enum import StrEnum
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

XLINK = "{http://www.w3.org/1999/xlink}href"


class Role(StrEnum):
    """What a colour means. The value is the stand-in that Matplotlib draws with."""

    INK = "#0000f0"
    MUTED = "#0000f1"
    LINE = "#0000f2"
    PAPER = "#0000f3"
    SENT = "#0000f4"
    GOOD = "#0000f5"
    WAITING = "#0000f6"
    ALARM = "#0000f7"
    REPEATED = "#0000f8"

    @property
    def css(self) -> str:
        """The variable of the page's style sheet."""
        return f"var(--{self.name.lower()})"


STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "actonce",  # the same summary gives the same page
    "text.parse_math": False,  # a reason with two dollar signs is not a formula
    "font.size": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "text.color": Role.INK,
    "axes.edgecolor": Role.LINE,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": Role.LINE,
    "ytick.color": Role.LINE,
    "xtick.labelcolor": Role.MUTED,
    "ytick.labelcolor": Role.MUTED,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
"""Matplotlib's settings, to be in force while a figure is drawn and while it is saved."""


def inline_svg(figure: Figure, css_class: str, alt: str, prefix: str) -> Markup:
    """The figure as an `<svg>` element.

    Args:
        figure: drawn in points, each of which becomes one CSS pixel.
        css_class: of the element.
        alt: what the picture says, for those who do not see it.
        prefix: makes the ids inside unique in the page.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    svg = ET.fromstring(file.getvalue())  # noqa: S314 Matplotlib wrote it just now
    width, height = svg.attrib["viewBox"].split()[2:]
    for element in list(svg.iter()):
        for child in list(element):
            # The style would reach the whole page; the metadata names addresses on the network.
            if _name(child) in {"metadata", "style"}:
                element.remove(child)
    used = {
        name
        for element in svg.iter()
        for value in element.attrib.values()
        for name in re.findall(r"(?:url\(|^)#([^)]+)", value)
    }
    for element in svg.iter():
        element.tag = _name(element)
        _rewrite(element, used, prefix)
    svg.attrib = {
        "class": css_class,
        "role": "img",
        "aria-label": alt,
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
    }
    return Markup(ET.tostring(svg, encoding="unicode"))  # noqa: S704 ElementTree escapes


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _rewrite(element: ET.Element, used: set[str], prefix: str) -> None:
    """Ids only where something refers to them, CSS variables for stand-ins, the page's font."""
    identity = element.attrib.pop("id", None)
    if identity in used:
        element.set("id", f"{prefix}{identity}")
    if target := element.attrib.pop(XLINK, None):
        element.set("href", f"#{prefix}{target[1:]}")
    for name, value in element.attrib.items():
        element.set(name, value.replace("url(#", f"url(#{prefix}"))
    # Hatches have their colours in attributes, where not every browser takes a variable.
    paints = [(name, element.attrib.pop(name, None)) for name in ("fill", "stroke")]
    style = "; ".join(
        [f"{name}: {value}" for name, value in paints if value]
        + [style for style in [element.attrib.get("style")] if style]
    )
    if style:
        for role in Role:
            style = style.replace(role.value, role.css)
        element.set("style", re.sub(r"font-family: [^;]*;? ?", "", style))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if element.tag == "path":
        element.set("d", " ".join(element.get("d", "").split()))
    element.tail = None
    if element.tag != "text":
        element.text = None
