"""Where the stack was told that its messages' ids are."""

import shlex

from actonce.stack.clients import Stack
from actonce.terminal.errors import WrongUse
from actonce_core.message import MessageReader
from pipeline.visible import visible

DEFAULT = "body:message_id"


def message_reader(stack: Stack, message_id_from: str | None = None) -> MessageReader:
    """Read messages as the stack's starter does.

    `message_id_from` stands in for the stack's parameter MessageIdFrom.

    Raises:
        WrongUse: it cannot be understood.
    """
    try:
        return MessageReader(message_id_from or parameters(stack).get("MessageIdFrom", DEFAULT))
    except ValueError as error:
        raise WrongUse(f"{error}.") from error


def as_argument(message_id: str, execution_name: str) -> str:
    """A message as an argument that can be copied into a shell.

    Its id, or where that cannot be seen the name of its execution.
    """
    if visible(message_id) != message_id:
        return execution_name
    return f"{'-- ' if message_id.startswith('-') else ''}{shlex.quote(message_id)}"


def parameters(stack: Stack) -> dict[str, str]:
    """The stack's parameters, by name; empty for one that was deployed without any."""
    answer = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)
    return {
        parameter["ParameterKey"]: str(parameter["ParameterValue"])
        for parameter in answer["Stacks"][0].get("Parameters", [])
    }
