"""The options that say where a team's own effects are.

Each can be set for all commands, by a variable.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from actonce.cli.options import Decorator, gathered
from actonce.messages.own_effects import (
    DEFAULT_ID,
    DEFAULT_KEY,
    Attributes,
    EffectsFile,
    EffectsTable,
    OwnEffects,
)
from actonce.stack.clients import Stack
from actonce.terminal.errors import WrongUse


# Any: what Typer makes of an option is of a type that it keeps to itself.
def _option(name: str, told: str, metavar: str = "NAME") -> Any:
    return typer.Option(metavar=metavar, envvar=f"ACTONCE_EFFECTS_{name}", help=told)


_TABLE = (
    "The table of DynamoDB that a function of your own keeps its effects in: its name, or its "
    "logical id in your template."
)
_FILE = "Its effects as JSON Lines instead, gzip or not."
_KEY = "The attribute there that holds the message's id."
_TIME = (
    "The one that says when: ISO 8601 with its zone, or seconds or milliseconds since 1970  [the "
    "time of its execution, or row]"
)
_ID = "In a file, the one that tells two effects of a message apart; of a table its key does."
_SHOWN = "One that is shown; may be given several times."

EffectsTableName = Annotated[str | None, _option("TABLE", _TABLE, "TABLE")]
EffectsFileName = Annotated[Path | None, _option("FILE", _FILE, "FILE")]
EffectsKey = Annotated[str, _option("KEY", _KEY)]
EffectsTime = Annotated[str | None, _option("TIME", _TIME)]
EffectsId = Annotated[str, _option("ID", _ID)]
EffectsDescription = Annotated[list[str] | None, _option("DESCRIPTION", _SHOWN)]


@dataclass(frozen=True, slots=True)
class EffectsPlace:
    """The options by their names."""

    effects_table: str | None
    effects_file: Path | None
    effects_key: str
    effects_time: str | None
    effects_id: str
    effects_description: list[str] | None = None

    def effects(self, stack: Stack) -> OwnEffects | None:
        """What reads the effects; None: no option is given.

        Raises:
            WrongUse: a table and a file are given, or the file does not exist.
        """
        if self.effects_table is not None and self.effects_file is not None:
            raise WrongUse("--effects-table and --effects-file exclude each other: leave one out.")
        shown = tuple(self.effects_description or ())
        named = Attributes(self.effects_key, self.effects_time, shown, self.effects_id)
        if self.effects_table is not None:
            return EffectsTable(stack.dynamodb, self.effects_table, named, tables=stack.tables)
        return None if self.effects_file is None else EffectsFile(self.effects_file, named)


def of_own_effects(*, shown: bool) -> Decorator:
    """Give a command the options that say where effects are, as its argument `own`.

    Args:
        shown: it shows effects, so it has --effects-description as well.
    """
    options = {
        "effects_table": EffectsTableName,
        "effects_file": EffectsFileName,
        "effects_key": EffectsKey,
        "effects_time": EffectsTime,
        "effects_id": EffectsId,
    }
    described = {"effects_description": EffectsDescription} if shown else {}
    defaults = {"effects_key": DEFAULT_KEY, "effects_id": DEFAULT_ID}
    return gathered("own", options | described, EffectsPlace, defaults)
