"""From an archive's row to the message that is sent for it.

What is JSON, what a message id is and how large a message may be are the starter's rules, and this
reads by them (`actonce_core`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actonce_core import strict_json
from actonce_core.execution import execution_input, too_large, unusable_id

MESSAGE_ID = "message_id"
"""The field of the body that carries the id; the stack's default MessageIdFrom finds it there."""

# JSON may have them raw; SQS does not take them (SendMessage, API reference).
_NONCHARACTERS = re.compile("[\ufffe\uffff]")
_NOTHING = frozenset({"\\N", "NULL", "NA", "NaN"})  # as exporters write it


class BackfillFailed(Exception):
    """It could not be done (exit status 1); the text is one sentence for a person."""


class WrongRequest(BackfillFailed):
    """It cannot be asked for like this (exit status 2)."""


class BadRow(ValueError):
    """A row that is no message; the text says why, and quotes no value."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which fields make the id and the body.

    A field is a column's name, or a dotted path into nested objects; a field whose whole name has
    the dots goes before.

    Attributes:
        message_id: fields whose values, joined by `/`, are the id.
        leave_out: fields that the body does not get.
    """

    message_id: tuple[str, ...]
    leave_out: tuple[str, ...] = ()

    @classmethod
    def of_options(cls, message_id: str, leave_out: str = "") -> "Selection":
        """Read two lists of fields, separated by commas.

        Raises:
            WrongRequest: one cannot be understood.
        """
        selection = cls(_fields("--message-id", message_id), _fields("--leave-out", leave_out))
        if not selection.message_id:
            raise WrongRequest("--message-id names no field.")
        return selection

    def check_columns(self, file: str, columns: Sequence[str]) -> None:
        """Check that a CSV file has what is asked for.

        Raises:
            WrongRequest: a column is not there, or has no name of its own.
        """
        asked = self.message_id + self.leave_out
        if "" in columns or len({*columns}) < len(columns) or not {*asked} <= {*columns}:
            raise WrongRequest(
                f"{file} has the columns {', '.join(map(repr, columns))}: each has to have a name "
                "of its own (row numbers: pandas index=False, R row.names=FALSE), and "
                f"{', '.join(map(repr, asked))} to be among them."
            )

    def message(self, row: dict[str, Any]) -> tuple[str, str]:
        """The row's message id, and the body that is sent: the same only if the content is.

        Raises:
            BadRow: the starter would refuse it: it has no id, or is too large for an execution.
        """
        message_id = self._id(row)
        if wrong := unusable_id(message_id):
            raise BadRow(f"Its message id {wrong}.")
        body = row
        for field in self.leave_out:
            body = _without(body, field)
        if body.get(MESSAGE_ID, message_id) != message_id and self.message_id != (MESSAGE_ID,):
            raise BadRow(
                f"Its {MESSAGE_ID!r} is another than the id that its fields make: take it as the "
                "id, or leave it out."
            )
        body = body | {MESSAGE_ID: message_id}
        text = strict_json.canonical(body)
        sent = _NONCHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        if beyond := too_large(execution_input(message_id, sent)):
            raise BadRow(beyond)
        return message_id, sent

    def _id(self, row: dict[str, Any]) -> str:
        parts = [_id_part(field, _find(row, field)) for field in self.message_id]
        if len(parts) == 1:
            return parts[0]
        # Two ids never become one: without this, ("a/b", "c") and ("a", "b/c") would.
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def _fields(option: str, text: str) -> tuple[str, ...]:
    fields = tuple(field.strip() for field in text.split(",")) if text else ()
    if "" in fields:
        raise WrongRequest(f"{option} {text!r} has a field without a name.")
    return fields


def _find(row: dict[str, Any], field: str) -> Any:
    """The value of a field; None: there is none."""
    if field in row:
        return row[field]
    value: Any = row
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _without(row: dict[str, Any], field: str) -> dict[str, Any]:
    if field in row:
        return {name: value for name, value in row.items() if name != field}
    name, _, rest = field.partition(".")
    inner = row.get(name)
    return row | {name: _without(inner, rest)} if rest and isinstance(inner, dict) else row


def _id_part(field: str, value: Any) -> str:
    if isinstance(value, str) and value in _NOTHING:
        raise BadRow(f"It has no message id: {field!r} is {value}, as exporters write nothing.")
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadRow(f"It has no message id: {field!r} is neither a filled string nor an integer.")
