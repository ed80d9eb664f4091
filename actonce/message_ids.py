"""Where the stack was told that its messages' ids are."""

from actonce.aws import Stack
from actonce.deployed import MessageReader
from actonce.errors import WrongUse

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


def parameters(stack: Stack) -> dict[str, str]:
    """The stack's parameters, by name; empty for one that was deployed without any."""
    answer = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)
    return {
        parameter["ParameterKey"]: str(parameter["ParameterValue"])
        for parameter in answer["Stacks"][0].get("Parameters", [])
    }
