"""The project's drawing of the state machine, with the path that one message took.

`docs/draw_state_machine.py` draws it once, with an id for each state and each transition. This only
adds the classes by which `static/machine_picture.css` paints them: the page's policy allows no
`style` attribute, and colours differ by day and by night.
"""

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from actonce.messages.history import Step
from actonce.terminal.visible import visible

_GROUP = re.compile(r'<g id="((?:state|edge)_[^"]*)" class="([^"]*)"')


def machine_picture(svg: str, steps: Sequence[Step]) -> Markup:
    """The picture with the path, as a `<figure>`.

    Below it are the names of states of the path that the picture lacks, because the execution is of
    another version's machine.

    Args:
        svg: the picture; it is the project's own, and goes into the page as it is.
        steps: of an execution; none: the machine alone.
    """
    marks = path_marks(steps)

    def marked(group: re.Match[str]) -> str:
        return f'<g id="{group[1]}" class="{group[2]} {marks.get(group[1], "")}"'

    drawn = Markup(_GROUP.sub(marked, svg[svg.index("<svg") :]))  # noqa: S704 see `svg`
    entered = list(dict.fromkeys(step.state for step in steps if step.event_type == "entered"))
    unknown = [state for state in entered if f'id="state_{state}"' not in svg]
    caption = Markup("")
    if unknown:
        caption = Markup(
            "<figcaption>The execution is of another version of the state machine than this "
            "picture, which does not have: {}.</figcaption>"
        ).format(visible(", ".join(unknown)))
    return Markup(
        '<figure class="machine"><div class="machine-scrolled" tabindex="0" role="img" '
        'aria-label="The states that the message went through: {}.">{}</div>{}</figure>'
    ).format(escape(visible(", ".join(entered) or "none")), drawn, caption)


def path_marks(steps: Sequence[Step]) -> dict[str, str]:
    """The classes of the states and transitions on the path, by their ids in the picture.

    A state is `visited`, the last one also `current`, `ended` or `ended failed`; a transition is
    `taken`. A redriven execution continues in the state in which it ended, by no transition.
    """
    marks: dict[str, str] = {}
    state, status, is_redriven = "Start", "", False
    for step in steps:
        if step.event_type == "entered":
            if not (is_redriven and step.state == state):
                marks[f"edge_{state}_{step.state}"] = "taken"
            state, status, is_redriven = step.state, "", False
            marks |= {"state_Start": "visited", f"state_{state}": "visited"}
        elif step.event_type == "attempt" and step.state:
            marks[f"edge_{step.state}_{step.state}"] = "taken"
        elif step.event_type == "redriven":
            status, is_redriven = "", True
        elif step.event_type == "ended":
            status = str(step.detail.get("status"))
    if not marks:
        return {}
    if status == "SUCCEEDED" and state == "PerformEffect":
        # The only state that ends the execution without being its last one.
        return marks | {"edge_PerformEffect_End": "taken", "state_End": "visited ended"}
    end = {"": "current", "SUCCEEDED": "ended"}.get(status, "ended failed")
    return marks | {f"state_{state}": f"visited {end}"}
