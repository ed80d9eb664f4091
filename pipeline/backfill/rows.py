"""From an archive's row to the message that is sent for it.

What is JSON, what a message id is and how large a message may be are the starter's rules. They are
written once more here because this runs where Spark's workers are and the starter's package is not;
tests hold the two together.
"""

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipeline.backfill.errors import WrongRequest

MAX_EXECUTION_INPUT_BYTES = 256 * 1024 - 1024
"""Largest execution input that the starter starts, in bytes of UTF-8."""

MAX_KEY_BYTES = 2048
"""Longest message id that records keep as it is, in bytes of UTF-8; longer ones are hashed."""

MESSAGE_ID = "message_id"
"""The field of the body that carries the id; the stack's default MessageIdFrom finds it there."""

_HASHED_FORM = re.compile(r"sha256-[0-9a-f]{64}")
# In canonical JSON only U+FFFE and U+FFFF are left of what SQS does not take.
_NOT_TAKEN_BY_SQS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
_ABSENT = object()


class BadRow(ValueError):
    """A row that is no message; the text says why, and quotes no value."""


@dataclass(frozen=True, slots=True)
class RowMessage:
    """The message of a row.

    Attributes:
        message_id: what the starter will read out of the body.
        fingerprint: SHA-256 of the content's canonical JSON, 64 hex digits; with the whole row as
            content it is the starter's fingerprint.
        body: canonical JSON of the row, with `message_id`.
    """

    message_id: str
    fingerprint: str
    body: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which fields make the id, the content and the body.

    A field is a column's name, or a dotted path into nested objects; a field whose whole name has
    the dots goes before.

    Attributes:
        message_id: fields whose values, joined by `/`, are the id.
        content: fields that say whether two rows with one id are the same message; empty for all.
        leave_out: fields that the body does not get.
    """

    message_id: tuple[str, ...]
    content: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()

    @classmethod
    def of_options(cls, message_id: str, content: str = "", leave_out: str = "") -> "Selection":
        """Read three lists of fields, separated by commas, in quotes where a name has a comma.

        Raises:
            WrongRequest: one cannot be understood, or they contradict each other.
        """
        selection = cls(
            _fields("--message-id", message_id),
            _fields("--content", content),
            _fields("--leave-out", leave_out),
        )
        if not selection.message_id:
            raise WrongRequest("--message-id names no field.")
        for field in selection.content:
            if field in selection.leave_out:
                raise WrongRequest(
                    f"--content names {field!r}, which --leave-out keeps out of the message: the "
                    "starter would not see it."
                )
        return selection

    def check_columns(self, file: str, columns: Iterable[str]) -> None:
        """Check that a CSV file has what is asked for.

        Raises:
            WrongRequest: a column is not there, or stands twice, or `message_id` would be lost.
        """
        columns = list(columns)
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise WrongRequest(f"{file}: the column {twice[0]!r} stands twice in the first line.")
        asked = {
            "--message-id": self.message_id,
            "--content": self.content,
            "--leave-out": self.leave_out,
        }
        for option, fields in asked.items():
            for field in fields:
                if field not in columns:
                    raise WrongRequest(
                        f"{file} has no column {field!r}, which {option} names; it has "
                        f"{', '.join(columns)}."
                    )
        taken = MESSAGE_ID in columns and MESSAGE_ID not in self.leave_out
        if taken and self.message_id != (MESSAGE_ID,):
            raise WrongRequest(
                f"{file} has a column {MESSAGE_ID!r} that is not the id that --message-id makes: "
                f"leave it out with --leave-out {MESSAGE_ID}, or take it as the id."
            )

    def message(self, row: dict[str, Any]) -> RowMessage:
        """The row's message.

        Raises:
            BadRow: the row has no id, or is larger than an execution can take.
        """
        message_id = self._id(row)
        body = row
        for field in self.leave_out:
            body = _without(body, field)
        if body.get(MESSAGE_ID, message_id) != message_id and self.message_id != (MESSAGE_ID,):
            raise BadRow(f"Its {MESSAGE_ID!r} is another than the id that its fields make.")
        body = body | {MESSAGE_ID: message_id}
        text = canonical(body)
        size = len(canonical({"body": body, MESSAGE_ID: message_id}).encode("utf-8"))
        if size > MAX_EXECUTION_INPUT_BYTES:
            raise BadRow(
                f"As the input of an execution it has {size:,} bytes of UTF-8; an execution takes "
                f"at most {MAX_EXECUTION_INPUT_BYTES:,}."
            )
        return RowMessage(
            message_id, self._fingerprint(body, text), text.translate(_NOT_TAKEN_BY_SQS)
        )

    def _id(self, row: dict[str, Any]) -> str:
        parts = [_id_part(field, _find(row, field)) for field in self.message_id]
        if len(parts) == 1:
            return parts[0]
        # Two ids never become one: without this, ("a/b", "c") and ("a", "b/c") would.
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)

    def _fingerprint(self, body: dict[str, Any], text: str) -> str:
        if self.content:
            found = {field: _find(body, field) for field in self.content}
            text = canonical({k: value for k, value in found.items() if value is not _ABSENT})
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


def stored_message_id(message_id: str) -> str:
    """The id as the `sent` and `deliveries` streams have it: itself, or its hash if it is long."""
    if len(message_id.encode("utf-8")) <= MAX_KEY_BYTES and not _HASHED_FORM.fullmatch(message_id):
        return message_id
    return "sha256-" + hashlib.sha256(message_id.encode("utf-8")).hexdigest()


def parse(text: str) -> Any:
    """Parse strict JSON, as the starter does.

    Raises:
        BadRow: it is not JSON, or two parsers could read it differently.
    """
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_int=_exact_int,
            parse_float=_finite_float,
            object_pairs_hook=_unique_names,
        )
        # Two levels deeper than the value: what wraps it later must not be what fails.
        canonical([[value]]).encode("utf-8")
    except BadRow:
        raise
    except json.JSONDecodeError as error:
        raise BadRow(f"It is not JSON: {error.msg} at character {error.pos + 1}.") from None
    except UnicodeEncodeError:
        raise BadRow("It is not JSON: it has a lone surrogate.") from None
    except RecursionError:
        raise BadRow("It is not JSON that can be read: it is nested too deeply.") from None
    return value


def canonical(value: Any) -> str:
    """Canonical JSON: sorted names, no blanks, no needless escapes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    kinds = {bool: "true or false", int: "an integer", list: "an array", dict: "an object"}
    kinds |= {float: "a number with a fraction or an exponent"}
    return kinds.get(type(value), "null")


def _fields(option: str, text: str) -> tuple[str, ...]:
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise WrongRequest(f"{option} {text!r} is no list of fields: {error}.") from None
    fields = tuple(field.strip() for field in rows[0]) if rows else ()
    if "" in fields:
        raise WrongRequest(f"{option} {text!r} has a field without a name.")
    return fields


def _find(row: dict[str, Any], field: str) -> Any:
    if field in row:
        return row[field]
    value: Any = row
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _without(row: dict[str, Any], field: str) -> dict[str, Any]:
    if field in row:
        return {name: value for name, value in row.items() if name != field}
    name, _, rest = field.partition(".")
    inner = row.get(name)
    return row | {name: _without(inner, rest)} if rest and isinstance(inner, dict) else row


def _id_part(field: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    found = "nothing" if value is _ABSENT else kind(value)
    raise BadRow(
        f"It has no message id: at {field!r} a string that is not empty, or an integer, was "
        f"expected, and {found} found."
    )


def _refuse_constant(name: str) -> Any:
    raise BadRow(f"It is not JSON: {name} is no number.")


def _finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadRow("It is not JSON: a number is too large for an IEEE 754 double.")
    return number


def _exact_int(text: str) -> int:
    _finite_float(text)  # before int(), which refuses more than 4,300 digits in words of its own
    return int(text)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise BadRow("It is not JSON: a name stands twice in one object.")
    return value
