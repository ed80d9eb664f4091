"""Ids by their beginnings, as people type what they see; only among what can be listed cheaply.

Neither Step Functions nor DynamoDB can be asked for the names that begin so. An id that is there
whole is never taken for the beginning of another: who asks here has looked for it before.
"""

from collections.abc import Mapping
from typing import Final

from actonce.terminal.errors import WrongUse

SHORTEST: Final = 4
"""Characters; fewer are a slip more often than a beginning."""

_MOST_TOLD: Final = 10
_LONGEST_TOLD: Final = 80


def only_one(beginning: str, names: Mapping[str, str]) -> str | None:
    """What the only name that begins so names.

    Args:
        beginning: what was typed.
        names: each name, and the id of what it names: several may name the same.

    Returns:
        An id; None: no name begins so, or the beginning is shorter than `SHORTEST`.

    Raises:
        WrongUse: names of several things begin so; they are told.
    """
    if len(beginning) < SHORTEST:
        return None
    found = {name: named for name, named in names.items() if name.startswith(beginning)}
    if len(set(found.values())) > 1:
        told = ", ".join(_short(name) for name in sorted(found)[:_MOST_TOLD])
        more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
        raise WrongUse(f"{beginning!r} is the beginning of {len(found)} ids: {told}{more}.")
    return next(iter(found.values()), None)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_TOLD else f"{name[: _LONGEST_TOLD - 1]}…"
