"""The options by which a team says where its own effects are, and what comes of them.

Each may be said once for all commands, in a variable.
"""

from pathlib import Path
from typing import Annotated

import typer

from actonce.messages.own_effects import Attributes, EffectsFile, EffectsTable, OwnEffects
from actonce.stack.clients import Stack
from actonce.terminal.errors import WrongUse

EffectsTableName = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE",
        envvar="ACTONCE_EFFECTS_TABLE",
        help="The table of DynamoDB that a function of your own keeps its effects in.",
    ),
]
EffectsFileName = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="ACTONCE_EFFECTS_FILE",
        help="Its effects as JSON Lines instead, gzip or not.",
    ),
]
EffectsKey = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="ACTONCE_EFFECTS_KEY",
        help="The attribute there that holds the message's id.",
    ),
]
EffectsTime = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        envvar="ACTONCE_EFFECTS_TIME",
        help="The one that says when: ISO 8601 with its zone, or seconds or milliseconds since "
        "1970  [the time of its execution, or row]",
    ),
]
EffectsId = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="ACTONCE_EFFECTS_ID",
        help="In a file, the one that tells two effects of a message apart; of a table its key "
        "does.",
    ),
]
EffectsDescription = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        envvar="ACTONCE_EFFECTS_DESCRIPTION",
        help="One that is shown; may be given several times.",
    ),
]


def own_effects(
    stack: Stack, table: str | None, file: Path | None, named: Attributes
) -> OwnEffects | None:
    """Where a team's effects are; None where it did not say.

    Raises:
        WrongUse: it said two places, or a file that is not there.
    """
    if table is not None and file is not None:
        raise WrongUse("--effects-table and --effects-file exclude each other: leave one out.")
    if table is not None:
        return EffectsTable(stack.dynamodb, table, named)
    return None if file is None else EffectsFile(file, named)
