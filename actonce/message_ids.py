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
        return MessageReader(message_id_from or _parameter(stack))
    except ValueError as error:
        raise WrongUse(f"{error}.") from error


def _parameter(stack: Stack) -> str:
    answer = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)
    for parameter in answer["Stacks"][0].get("Parameters", []):
        if parameter["ParameterKey"] == "MessageIdFrom":
            return str(parameter["ParameterValue"])
    return DEFAULT
