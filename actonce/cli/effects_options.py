"""The options that say where a team's own effects are.

Each can be set for all commands, by a variable.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from actonce.cli.options import Decorator, group_options
from actonce.messages.effect_store import (
    DynamoDbEffects,
    EffectStore,
    FileEffects,
    find_effect_store,
)
from actonce.stack.clients import Stack
from actonce.terminal.errors import UsageError
from actonce_pipeline.audit.reading.effects import DEFAULT_ID, DEFAULT_KEY, Attributes


# Any: what Typer makes of an option is of a type that it keeps to itself.
def _option(name: str, told: str, metavar: str = "NAME") -> Any:
    return typer.Option(metavar=metavar, envvar=f"ACTONCE_EFFECTS_{name}", help=told)


_TABLE = "The table of DynamoDB that has the effects  [the stack's EffectsTableName]"
_FILE = "Its effects as JSON Lines instead, gzip or not."
_KEY = f"The attribute there that holds the message's id  [the stack's, or {DEFAULT_KEY}]"
_TIME = (
    "The one that says when: ISO 8601 with its zone, or seconds or milliseconds since 1970  [the "
    "stack's]"
)
_ID = (
    "In a file, the one that tells two effects of a message apart; of a table its key does  "
    f"[{DEFAULT_ID}]"
)
_SHOWN = "One that is shown; may be given several times  [the stack's]"

EffectsTableName = Annotated[str | None, _option("TABLE", _TABLE, "TABLE")]
EffectsFileName = Annotated[Path | None, _option("FILE", _FILE, "FILE")]
EffectsKey = Annotated[str | None, _option("KEY", _KEY)]
EffectsTime = Annotated[str | None, _option("TIME", _TIME)]
EffectsId = Annotated[str | None, _option("ID", _ID)]
EffectsDescription = Annotated[list[str] | None, _option("DESCRIPTION", _SHOWN)]


@dataclass(frozen=True, slots=True)
class EffectsOptions:
    """The options by their names."""

    effects_table: str | None
    effects_file: Path | None
    effects_key: str | None
    effects_time: str | None
    effects_id: str | None
    effects_description: list[str] | None = None

    def effects(self, stack: Stack) -> EffectStore | None:
        """What reads the effects: by the options, or by the stack's outputs where none is given.

        Raises:
            UsageError: a table and a file are given, or the file does not exist.
        """
        if self.effects_table is not None and self.effects_file is not None:
            raise UsageError(
                "--effects-table and --effects-file exclude each other: leave one out."
            )
        of_stack = find_effect_store(stack)
        if self.effects_table is not None:
            named = self._attributes(Attributes())
            return DynamoDbEffects(stack.dynamodb, self.effects_table, named)
        if self.effects_file is not None:
            return FileEffects(self.effects_file, self._attributes(Attributes()))
        if of_stack is not None:
            of_stack.attributes = self._attributes(of_stack.attributes)
        return of_stack

    def _attributes(self, otherwise: Attributes) -> Attributes:
        """Those that the options name, and for each that they do not, the other."""
        return Attributes(
            self.effects_key or otherwise.key,
            self.effects_time or otherwise.time,
            tuple(self.effects_description or otherwise.description),
            self.effects_id or otherwise.own_id,
        )


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
    return group_options("own", options | described, EffectsOptions)
