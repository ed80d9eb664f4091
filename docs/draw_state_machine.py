"""Draws docs/pictures/process_message.svg from the state machine's definition.

    python docs/draw_state_machine.py      needs Graphviz's `dot`

Every transition of the definition is drawn, and a transition that has no words here is an error, so
the picture cannot leave out what the machine does. A test compares the picture with the definition.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
DEFINITION = PROJECT / "statemachine" / "process_message.asl.json"
PICTURE = PROJECT / "docs" / "pictures" / "process_message.svg"

Edge = tuple[str, str]

WORDS: dict[Edge, str] = {
    ("PerformEffect", "End"): "performed:\\nthe happy path is one state",
    ("PerformEffect", "PerformEffect"): "nothing happened: try again" + 6 * "\\n",
    ("PerformEffect", "TellDeadLetter"): "Rejected, or nothing\\nhappened each time",
    ("PerformEffect", "AwaitStraggler"): "no clear answer, or redriven:\\nit may have happened",
    ("AwaitStraggler", "FindEffect"): "nothing can be\\nat work any more",
    ("FindEffect", "FindEffect"): "look-up failed:\\ntry again",
    ("FindEffect", "Performed?"): "look-up answered",
    ("FindEffect", "TellDeadLetter"): "look-up failed\\neach time",
    ("Performed?", "Done"): "it happened",
    ("Performed?", "PerformEffect"): "it did not happen:\\nperform it,\\nin 3 rounds at most",
    ("Performed?", "TellDeadLetter"): "it did not happen in 3 rounds,\\nor no clear answer",
    ("TellDeadLetter", "TellDeadLetter"): "\\nevent failed:\\ntry again, twice",
    ("TellDeadLetter", "DeadLetter"): "event sent, or given up",
    ("DeadLetter", "DeadLetter"): "letter not posted:\\ntry again",
    ("DeadLetter", "TellDecision"): "a person decides",
    ("TellDecision", "TellDecision"): "event failed:\\ntry again, twice",
    ("TellDecision", "Decision"): "event sent, or given up",
    ("Decision", "PerformEffect"): "perform; or retry, where\\nit did not happen",
    ("Decision", "FindEffect"): "retry, where\\nit may have happened",
    ("Decision", "Done"): "resolve",
    ("Decision", "Failed"): "reject",
    ("Decision", "TellDeadLetter"): "none of the four:\\nask again",
}
_LOOKS: dict[Edge, str] = {
    ("PerformEffect", "End"): ", penwidth=2.5",
    ("Decision", "PerformEffect"): ", headport=ne",
}
_SHAPES = {"Choice": "diamond", "Wait": "octagon", "Succeed": "oval", "Fail": "oval"}
_FILLS = {"Succeed": "#d5f0d8", "Fail": "#f8d4d0", "Task": "#dbe9fb", "Wait": "#fdf0cd"}


def edges(definition: dict[str, Any]) -> Iterator[Edge]:
    """Every transition of the definition, in its order; a retry goes from a state to itself."""
    for name, state in definition["States"].items():
        if any(retrier.get("MaxAttempts") != 0 for retrier in state.get("Retry", [])):
            yield name, name
        for choice in state.get("Choices", []):
            yield name, choice["Next"]
        for key in ("Next", "Default"):
            if key in state:
                yield name, state[key]
        for catcher in state.get("Catch", []):
            yield name, catcher["Next"]
        if state.get("End"):
            yield name, "End"


def dot(definition: dict[str, Any]) -> str:
    """The picture as Graphviz reads it.

    Raises:
        KeyError: a transition has no words.
    """
    start = definition["StartAt"]
    lines = [
        "digraph process_message {",
        '  graph [bgcolor="white", pad=0.3, nodesep=0.7, ranksep=0.7, fontname="Helvetica"];',
        (
            '  node [style="filled,rounded", shape=box, fillcolor="#eeeeee", '
            'fontname="Helvetica", fontsize=15, margin="0.2,0.12"];'
        ),
        '  edge [fontname="Helvetica", fontsize=12, color="#555555", fontcolor="#222222"];',
        (
            '  Start [id="state_Start", class=start, shape=circle, label="", width=0.2, '
            'fillcolor="#333333"];'
        ),
        (
            '  End [id="state_End", class=succeed, shape=oval, label="end: performed", '
            'fillcolor="#d5f0d8"];'
        ),
        f'  Start -> "{start}" [id="edge_Start_{start}", penwidth=2];',
    ]
    for name, state in definition["States"].items():
        shape = _SHAPES.get(state["Type"], "box")
        style = "filled,rounded" if shape == "box" else "filled"
        fill = _FILLS.get(state["Type"], "#eeeeee")
        marked = f'id="state_{name}", class={state["Type"].lower()}'
        lines.append(f'  "{name}" [{marked}, shape={shape}, style="{style}", fillcolor="{fill}"];')
    for edge in dict.fromkeys(edges(definition)):
        look = _LOOKS.get(edge, "")
        # From the left, and set off from lines: a browser's font may be wider than this one.
        words = "".join(f"    {line}    \\l" for line in WORDS[edge].split("\\n"))
        marked = f'id="edge_{edge[0]}_{edge[1]}"'
        lines.append(f'  "{edge[0]}" -> "{edge[1]}" [{marked}, label="{words}"{look}];')
    return "\n".join([*lines, "}", ""])


def main() -> None:
    """Write the picture."""
    text = dot(json.loads(DEFINITION.read_text()))
    answer = subprocess.run(
        ["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        sys.exit(answer.stderr)
    PICTURE.write_text(answer.stdout)


if __name__ == "__main__":
    main()
