"""What a function may answer, whatever it should, sorted by what that says."""

from typing import Any

CLEAR_YES: list[Any] = [
    {"performed": True, "effect": effect} for effect in ({"slot": 7}, None, [1], {}, False)
]

AS_A_TEXT = '{"performed": false}'

SAYS_NOTHING: list[Any] = [
    # A path of JSONata goes through lists, and takes a list of one for what is in it.
    *([{"performed": value, "effect": {}}] for value in (True, False)),
    *([[{"performed": value, "effect": {}}]] for value in (True, False)),
    *([{"performed": True, "effect": {}}, one] for one in ({}, {"performed": True, "effect": {}})),
    [{"performed": False}, {"performed": False}],
    *({"performed": [value], "effect": {}} for value in (True, False)),
    {"performed": [[False]], "effect": {}},
    *({"performed": {"performed": value}, "effect": {}} for value in (True, False)),
    # What is like a boolean is none.
    *({"performed": value, "effect": {}} for value in ("true", "false", "", 1, 0, None)),
    *({"performed": [], "effect": {}}, {"performed": {}, "effect": {}}),
    # Whoever reads a body as AWS's proxy integration wants it answers like this.
    {"statusCode": 200, "body": '{"performed": true, "effect": {}}'},
    *({"Performed": value, "effect": {}} for value in (True, False)),
    *({"effect": {}}, {}, [], None, True, False, 0, 1, "", "true", AS_A_TEXT),
]
"""Neither yes nor no, so that the outcome is unknown, or could not be looked up."""

NO_CLEAR_YES: list[Any] = [*SAYS_NOTHING, {"performed": False, "effect": None}, {"performed": True}]
"""To `perform`, which must describe what it did."""

LOOKED = ["PerformEffect", "AwaitStraggler", "FindEffect", "Performed?"]
ASKED = [*LOOKED, "TellDeadLetter", "DeadLetter"]
ANSWERED: list[tuple[list[Any], list[str]]] = [
    *(([answer], LOOKED[:1]) for answer in CLEAR_YES),
    *(([answer, {"performed": True}], [*LOOKED, "Done"]) for answer in NO_CLEAR_YES),
    *(([None, answer], ASKED) for answer in SAYS_NOTHING),
    ([None, {"performed": False}, CLEAR_YES[0]], [*LOOKED, "PerformEffect"]),
]
"""What the function answers, one call after another, and the states that follow from it."""
