"""Values that are odd and possible, and an AWS that refuses what the real one refuses."""

import re
from typing import Any, Final

from botocore.exceptions import ClientError

from actonce.stack.clients import Stack

ODD: Final = (
    "",
    " ",
    "-1",
    "nan",
    "1" * 400,
    "é" * 1_025,
    "\x01\x1b[31m\n\r\t\u202e",
    "\ufffe",
    "0001-01-01T00:00+14:00",
    "9" * 20 + "d",
    "0:garbage",
    "[" * 2_000,
)
"""What a field or an option may be given."""

_LONGEST_KEY = 2048
_KEYS = re.compile(r"message_id|:id")


def refuse_as_aws(stack: Stack, *services: str) -> None:
    """Refuse arguments beyond the lengths and patterns of AWS's service models, as AWS does."""
    for service in services:
        client = stack.aws.client(service)
        client.meta.events.register(f"provide-client-params.{service}", _refuse)


# Any: botocore's event, with whatever it hands on.
def _refuse(params: Any, model: Any, **_: Any) -> None:
    shape = model.input_shape
    wrong = _wrong(params, shape) if shape is not None else None
    if wrong is None and model.service_model.service_name == "dynamodb":
        wrong = _wrong_key(params)
    if wrong is not None:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": wrong}}, model.name)


def _wrong(value: Any, shape: Any) -> str | None:
    """What is wrong with an argument; None: nothing is."""
    if shape.type_name == "structure":
        found = (
            _wrong(value[name], shape.members[name]) for name in value if name in shape.members
        )
    elif shape.type_name == "list":
        found = (_wrong(one, shape.member) for one in value)
    elif shape.type_name == "string":
        return _wrong_text(str(value), shape)
    else:
        return None
    return next((one for one in found if one), None)


def _wrong_text(text: str, shape: Any) -> str | None:
    told = shape.metadata
    is_long = len(text) > told.get("max", len(text)) or len(text) < told.get("min", 0)
    return f"{text[:40]!r} is no {shape.name}" if is_long else None


def _wrong_key(params: Any) -> str | None:
    for name in ("Key", "ExpressionAttributeValues"):
        for key, typed in params.get(name, {}).items():
            text = typed.get("S", "a") if isinstance(typed, dict) else "a"
            if _KEYS.search(key) and not 0 < len(text.encode()) <= _LONGEST_KEY:
                return "One or more parameter values were invalid: the size of a hash key"
    return None
