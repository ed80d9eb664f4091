"""Options that several commands share."""

from collections.abc import Sequence
from typing import Annotated

import typer

from actonce.errors import WrongUse

StackName = Annotated[
    str,
    typer.Option(
        "--stack-name",
        help="The stack to talk to; or yours, that it is nested in (PARENT/LogicalId, of several).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
All = Annotated[bool, typer.Option("--all", help="All that wait now, as far as not narrowed.")]
Before = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Only what waited there before: 2026-01-31T09:30 (UTC), or for longer than 90s, 30m, "
        "2h, 3d.",
    ),
]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="No more than N, the longest waiting first.")
]
Rate = Annotated[
    float | None,
    typer.Option(
        metavar="N", min=0.001, max=10_000, help="No more than N a second; for what comes after it."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and end.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Each = Annotated[bool, typer.Option("--each", help="Print a line for each, however many.")]


def check_id(text: str) -> str:
    """An id that was named.

    Raises:
        WrongUse: it is empty, as a shell's variable that is not set.
    """
    if not text:
        raise WrongUse("An empty id names nothing: is a variable of your shell not set?")
    return text


def named_values(option: str, texts: Sequence[str]) -> dict[str, str]:
    """An option's `NAME=VALUE` texts as a dictionary.

    Raises:
        WrongUse: a text has no `=`, or nothing before it.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise WrongUse(f"{option} {text!r}: write NAME=VALUE.")
        values[name] = value
    return values
