"""Reads message ids where the stack's parameters say that they are, and puts them there."""

import re
from copy import deepcopy
from typing import Any

from actonce.stack.clients import Stack, described
from actonce.terminal.errors import UsageError
from actonce_core.message import MessageReader

DEFAULT = "body:message_id"


def message_reader(stack: Stack) -> MessageReader:
    """Read messages as the stack's starter does.

    Raises:
        UsageError: its parameter MessageIdFrom cannot be understood.
    """
    try:
        return MessageReader(parameters(stack).get("MessageIdFrom", DEFAULT))
    except ValueError as error:
        raise UsageError(f"{error}.") from error


_PLACE = re.compile(r"body:\s*(\w+(?:\.\w+)*)\s*")


def put_id(body: Any, message_id_from: str, message_id: str) -> Any:
    """A copy of the body with this id where `MessageIdFrom` names one place in an object.

    The body as it is where it has no such place: its id is made of several, or not in it.
    """
    place = _PLACE.fullmatch(message_id_from)
    if place is None:
        return body
    *outer, last = place[1].split(".")
    changed = inner = deepcopy(body)
    for name in outer:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        return body
    inner[last] = message_id
    return changed


def parameters(stack: Stack) -> dict[str, str]:
    """The stack's parameters, by name; empty for one that was deployed without any."""
    given = described(stack.aws, stack.name).get("Parameters", [])
    return {one["ParameterKey"]: str(one["ParameterValue"]) for one in given}
