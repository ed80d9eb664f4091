"""Reads message ids where the stack's parameters say that they are."""

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


def parameters(stack: Stack) -> dict[str, str]:
    """The stack's parameters, by name; empty for one that was deployed without any."""
    given = described(stack.aws, stack.name).get("Parameters", [])
    return {one["ParameterKey"]: str(one["ParameterValue"]) for one in given}
