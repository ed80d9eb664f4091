"""The picture of where messages ended: from what was sent to the verdicts."""

from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from actonce.records.report.inline_svg import Role
from actonce.records.report.wording import MARKS, VERDICTS, number

NODE = 9
THINNEST = 3
"""Pixels of a band, however small its share: one alarm among a million is seen."""
SPACING = 22
BANDS = 210


@dataclass(frozen=True)
class Node:
    """One bar of a column: what, how many, and what it means."""

    name: str
    count: int
    role: Role
    mark: str = ""


@dataclass(frozen=True)
class Flow:
    """The columns, and who goes where.

    Invariant: bands lead every count of the first two columns on, none is left over.

    Attributes:
        came: how records came in: sent, delivered again by SQS, or only seen elsewhere.
        messages: the distinct messages, and what came in beyond the first of each.
        ended: verdicts, then the ends of what came in again.
        first: bands from `came` to `messages`, as (index, index, count).
        second: bands from `messages` to `ended`, likewise.
    """

    came: list[Node]
    messages: list[Node]
    ended: list[Node]
    first: list[tuple[int, int, int]]
    second: list[tuple[int, int, int]]


def flow(summary: dict[str, Any]) -> Flow:
    """The flow of a summary.

    Every suppressed delivery came in beyond the first of its message, for only a message that has
    its execution can be suppressed; what else came in again had failed or was refused before.
    """
    totals, messages = summary["totals"], summary["messages"]
    sent, deliveries = totals["sent"], totals["deliveries"]
    suppressed = totals["suppressed"] or 0
    came = [Node("sent", sent or 0, Role.SENT)]
    if deliveries is not None:
        name = "delivered" if sent is None else "redelivered"
        came.append(Node(name, max(0, deliveries - (sent or 0)), Role.SENT))
    again = max(sum(node.count for node in came) - messages, suppressed)
    elsewhere = messages + again - sum(node.count for node in came)
    came.append(Node("only seen later", elsewhere, Role.SENT))
    came = [node for node in came if node.count]
    ended = [
        Node(name, summary["verdicts"].get(verdict, 0), role, MARKS[role])
        for verdict, (name, role) in VERDICTS.items()
    ]
    ended = [node for node in ended if node.count]
    verdicts = len(ended)
    ended += [
        Node("suppressed", suppressed, Role.REPEATED),
        Node("failed or refused", again - suppressed, Role.REPEATED),
    ]
    ended = [node for node in ended if node.count]
    middle = [Node("messages", messages, Role.GOOD), Node("duplicates", again, Role.REPEATED)]
    middle = [node for node in middle if node.count]
    return Flow(
        came,
        middle,
        ended,
        _filled(came, middle),
        [(0 if i < verdicts else len(middle) - 1, i, n.count) for i, n in enumerate(ended)],
    )


def _filled(sources: list[Node], targets: list[Node]) -> list[tuple[int, int, int]]:
    """Fill each target from the sources in turn."""
    bands = []
    left = [node.count for node in sources]
    for target, node in enumerate(targets):
        missing = node.count
        for source in range(len(sources)):
            taken = min(missing, left[source])
            if taken:
                bands.append((source, target, taken))
                left[source] -= taken
                missing -= taken
    return bands


def draw_flow(flow: Flow, width: int) -> Figure:
    """Draw it, so many pixels wide; inside `matplotlib.rc_context(STYLE)`."""
    scale = BANDS / max(1, sum(node.count for node in flow.messages))
    # Labels stand right of the last column, above the bars of the others.
    labels = [_label(node) for node in flow.ended]
    right = width - NODE - max(130, 7 * max(map(len, labels), default=0))
    columns = [(flow.came, 1), (flow.messages, (right - NODE) * 0.5), (flow.ended, right - NODE)]
    top = 40
    placed: list[list[tuple[float, float, float]]] = []
    for column, (nodes, x) in enumerate(columns):
        y, places = float(top), []
        for node in nodes:
            size = max(THINNEST, node.count * scale)
            places.append((x, y, size))
            y += max(size + 6, SPACING) if column == 2 else size + 44
        placed.append(places)
    height = max(y + size for places in placed for _, y, size in places) + 12
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)

    for left, bands in ((0, flow.first), (1, flow.second)):
        # Bars that are thinner than their bands together would be: the bands share the bar.
        starts = [y for _, y, _ in placed[left]]
        ends = [y for _, y, _ in placed[left + 1]]
        for source, target, count in bands:
            x0, _, size0 = placed[left][source]
            x1, _, size1 = placed[left + 1][target]
            out = size0 * count / columns[left][0][source].count
            into = size1 * count / columns[left + 1][0][target].count
            node = columns[left + 1][0][target]
            _band(axes, (x0 + NODE, starts[source], out), (x1, ends[target], into), node.role)
            starts[source] += out
            ends[target] += into
    for column, (nodes, _) in enumerate(columns):
        for node, (x, y, size) in zip(nodes, placed[column], strict=True):
            axes.add_patch(Rectangle((x, y), NODE, size, facecolor=node.role, edgecolor="none"))
            if column == 2:
                weight = "bold" if node.role is Role.ALARM else "normal"
                axes.text(
                    x + NODE + 6,
                    y + min(size, 14) / 2,
                    _label(node),
                    va="center",
                    weight=weight,
                )
            else:
                axes.text(x, y - 18, node.name, va="bottom", color=Role.MUTED)
                axes.text(x, y - 4, number(node.count), va="bottom", weight="bold")
    return figure


def _label(node: Node) -> str:
    mark = "" if node.role is Role.WAITING else node.mark
    return f"{mark} {number(node.count)} {node.name}".strip()


def _band(
    axes: Any, start: tuple[float, float, float], end: tuple[float, float, float], role: Role
) -> None:
    (x0, y0, h0), (x1, y1, h1) = start, end
    middle = (x0 + x1) / 2
    points = [
        (x0, y0),
        (middle, y0),
        (middle, y1),
        (x1, y1),
        (x1, y1 + h1),
        (middle, y1 + h1),
        (middle, y0 + h0),
        (x0, y0 + h0),
        (x0, y0),
    ]
    curve, line = Path.CURVE4, Path.LINETO
    codes = [Path.MOVETO, curve, curve, curve, line, curve, curve, curve, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(points, codes), facecolor=role, alpha=0.35, edgecolor="none"))
