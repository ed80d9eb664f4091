"""An effect as a team keeps it: its message, when it was, and which effect it is.

By one rule for the audit, which reads exports and files, and the commands, which read the table:
what both have seen is one effect.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

DEFAULT_KEY: Final = "message_id"
DEFAULT_ID: Final = "effect_id"

_LARGEST_EXPONENT: Final = 131  # of DynamoDB's numbers, none of which is larger
_SECONDS_TO: Final = 10**11  # a number of seconds as large as this is of the year 5138


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of an item, or names of a line, that are read.

    Attributes:
        key: has the message's id.
        time: has the time of the effect; None: nothing has.
        description: are shown.
        own_id: of a line: tells one effect of a message from another.
    """

    key: str = DEFAULT_KEY
    time: str | None = None
    description: tuple[str, ...] = ()
    own_id: str = DEFAULT_ID

    @classmethod
    def of_output(cls, text: str) -> "Attributes":
        """Read the stack's output EffectsAttributes: the key, the time or nothing, and the rest."""
        key, time, *description = (name.strip() for name in f"{text},".split(","))
        return cls(key, time or None, tuple(filter(None, description)))


def effect_id_of(keys: Mapping[str, Any], message: str) -> str | None:
    """What tells an item from another effect of its message.

    Args:
        keys: the attributes of the table's key, each as DynamoDB writes it: `{"S": "order-1"}`.
        message: the one that has the message's id, which tells no effect from another.

    Returns:
        None: the id alone is the key, so there is room for one effect.

    Raises:
        ValueError: an attribute is none that a key may have.
    """
    parts = [_text_of(keys[name]) for name in sorted(keys) if name != message]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False)


def _text_of(attribute: Any) -> str:
    if isinstance(attribute, dict) and (code := attribute.get("B")) is not None:
        return (b64decode(code) if isinstance(code, str) else bytes(code)).hex()
    plain = plain_attribute(attribute)
    return exactly(plain) if isinstance(plain, Decimal) else str(plain)


def plain_attribute(attribute: Any) -> str | Decimal | None:
    """The value of an attribute as DynamoDB writes it; None: there is none.

    Raises:
        ValueError: it is neither a text nor a number.
    """
    match attribute:
        case None | {"NULL": True}:
            return None
        case {"S": str(text)}:
            return text
        case {"N": str(number)}:
            with suppress(InvalidOperation):
                plain = Decimal(number)
                if abs(plain.adjusted()) < _LARGEST_EXPONENT:
                    return plain
    raise ValueError("neither a text nor a number")


def exactly(number: Decimal) -> str:
    """Every digit of a number; normalize() would round."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_time(value: Any) -> datetime | None:
    """A time: ISO 8601 with its zone, or (milli-, micro-, nano-)seconds since 1970; else None."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read.astimezone(UTC) if read.tzinfo else None
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return None
        value = float(value)
        for unit in (1, 10**3, 10**6, 10**9):
            if abs(value) < unit * _SECONDS_TO:
                return datetime.fromtimestamp(value / unit, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
