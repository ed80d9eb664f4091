"""From a delivery to the message in it: its id, its content's fingerprint, its execution."""

import contextlib
import gc
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions

from actonce_core import strict_json
from actonce_core.delivery import Delivery
from actonce_core.execution_input import (
    MAX_EXECUTION_INPUT_BYTES,
    execution_input,
    too_large,
)
from actonce_core.identity import execution_name, stored_message_id
from actonce_core.refusal import Reason, Refusal
from actonce_core.strict_json import JsonValue

# What a JMESPath search may raise over a body that it was not written for: a function met a type it
# does not take (JMESPathError is a ValueError), `contains('text', `1`)`, a sum beyond all doubles.
_SEARCH_FAILED = (ValueError, TypeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class Message:
    """A message that can be started.

    Invariant: deliveries of one message id have one `execution_name`; with the same body they have
    the same `execution_input`, byte for byte. Nothing here changes from delivery to delivery.

    Attributes:
        message_id: the producer's id; an integer id in decimal.
        fingerprint: SHA-256 of the content's canonical JSON, 64 hex digits.
        execution_input: see `actonce_core.execution_input`. `effect.answer` undoes it.
    """

    message_id: str
    fingerprint: str
    execution_input: str

    @property
    def execution_name(self) -> str:
        """See `identity.execution_name`."""
        return execution_name(self.message_id)

    @property
    def stored_message_id(self) -> str:
        """See `identity.stored_message_id`."""
        return stored_message_id(self.message_id)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Let the garbage collector rest: it would go through a large body, and all else, many times.

    What a body is parsed into has no cycles, so it is freed all the same.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class MessageReader:
    """Reads messages as the stack's parameters MessageIdFrom and ContentFrom say.

    Args:
        message_id_from: `body:<JMESPath>`, `attribute:<name>`, `deduplication-id` or
            `sqs-message-id`.
        content_from: JMESPath of what makes two messages with one id the same message; empty for
            the whole body.

    Raises:
        ValueError: if either cannot be understood.
    """

    def __init__(self, message_id_from: str = "body:message_id", content_from: str = "") -> None:
        self._where, self._find_id, self._id_path = _id_finder(message_id_from)
        self.id_is_deduplication_id = message_id_from == "deduplication-id"
        self._content = _compile("ContentFrom", content_from) if content_from.strip() else None
        self._id_is_in_body = message_id_from.startswith("body:")
        self._reading = threading.Lock()

    def read(self, delivery: Delivery) -> Message | Refusal:
        """Read the message, or say why there is none.

        One at a time: reading waits for nothing, so that side by side it would be no faster, and
        ten bodies would take the memory of ten. Of a body that is larger than an execution takes no
        more is read than its size: what is left is small enough to end no process.
        """
        with self._reading, _no_collections():
            return self._too_large_to_read(delivery) or self._read(delivery)

    def read_whole(self, delivery: Delivery) -> Message | Refusal:
        """As `read`, whatever the body costs: for who looks at one, never in a function."""
        return self._read(delivery)

    def _too_large_to_read(self, delivery: Delivery) -> Refusal | None:
        size = len(delivery.body.encode("utf-8", "surrogatepass"))
        if size <= MAX_EXECUTION_INPUT_BYTES:
            return None
        message_id = None if self._id_is_in_body else _as_message_id(self._find_id(delivery, None))
        return Refusal(
            Reason.TOO_LARGE,
            f"The body was not read: it has {size:,} bytes of UTF-8; an execution takes at most "
            f"{MAX_EXECUTION_INPUT_BYTES:,}.",
            message_id and stored_message_id(message_id),
        )

    def _read(self, delivery: Delivery) -> Message | Refusal:
        try:
            body, written, is_plain = strict_json.read(delivery.body)
        except strict_json.NotJson as error:
            return Refusal(Reason.NOT_JSON, f"The body is not strict JSON: {error}.")

        found = self._find_id(delivery, body)
        message_id = _as_message_id(found)
        if message_id is None:
            return Refusal(
                Reason.NO_MESSAGE_ID,
                f"There is no message id at {self._where}: expected a string that is not empty, "
                f"or an integer, and found {_kind(found)}.",
            )
        if strict_json.has_noncharacters(message_id):
            return Refusal(
                Reason.NO_MESSAGE_ID,
                f"The message id at {self._where} has a U+FFFE or U+FFFF in it, which are no "
                "characters, and which SQS does not carry.",
            )

        message = Message(
            message_id=message_id,
            fingerprint=self._fingerprint(body, written, found),
            execution_input=execution_input(message_id, written, is_plain=is_plain),
        )
        if beyond := too_large(message.execution_input):
            return Refusal(
                Reason.TOO_LARGE,
                beyond,
                message.stored_message_id,
            )
        return message

    def _fingerprint(self, body: JsonValue, written: str, found: JsonValue) -> str:
        # 1 and "1" are one id, so bodies that differ in nothing else have one content.
        if self._id_path and isinstance(found, int):
            body = _with_value_at(body, self._id_path, str(found))
            written = strict_json.canonical(body)
        content = self._content_of(body) or written.encode("utf-8")
        return hashlib.sha256(content).hexdigest()

    def _content_of(self, body: JsonValue) -> bytes | None:
        # A body that has no such content is compared whole: stricter, and never by accident equal.
        if self._content is None:
            return None
        try:
            content = self._content.search(body)
            return None if content is None else strict_json.canonical(content).encode("utf-8")
        except _SEARCH_FAILED:
            return None


_Finder = Callable[[Delivery, JsonValue], JsonValue]


def _id_finder(source: str) -> tuple[str, _Finder, list[str]]:
    """Where the id is, in words; how to find it; the names that lead to it in the body."""
    kind, _, argument = source.partition(":")
    argument = argument.strip()
    if kind == "body" and argument:
        expression = _compile("MessageIdFrom", argument)

        def search(_: Delivery, body: JsonValue) -> JsonValue:
            try:
                return expression.search(body)
            except _SEARCH_FAILED:
                return None

        return f"'{argument}' in the body", search, _plain_path(expression.parsed)
    if kind == "attribute" and argument:
        return (
            f"the message attribute '{argument}'",
            lambda delivery, _: delivery.text_attribute(argument),
            [],
        )
    if source == "deduplication-id":
        return (
            "the deduplication id",
            lambda delivery, _: delivery.deduplication_id,
            [],
        )
    if source == "sqs-message-id":
        return "the SQS message id", lambda delivery, _: delivery.original_sqs_message_id, []
    raise ValueError(
        f"MessageIdFrom {source!r}: expected body:<JMESPath>, attribute:<name>, "
        "deduplication-id or sqs-message-id"
    )


def _compile(parameter: str, expression: str) -> jmespath.parser.ParsedResult:
    try:
        compiled = jmespath.compile(expression)
    except JMESPathError as error:
        raise ValueError(f"{parameter}: {expression!r} is not a JMESPath expression") from error
    # JMESPath itself tells only when it first meets a body, and then every body would look wrong.
    for name in _functions(compiled.parsed):
        if name not in Functions.FUNCTION_TABLE:
            raise ValueError(f"{parameter}: JMESPath has no function {name!r}")
    return compiled


def _functions(node: dict[str, JsonValue]) -> Iterator[str]:
    if node["type"] == "function_expression":
        yield node["value"]
    for child in node["children"]:
        if isinstance(child, dict):  # a slice has plain numbers for children
            yield from _functions(child)


def _plain_path(node: dict[str, JsonValue]) -> list[str]:
    """`a.b.c` as names; empty for any expression that is more than names."""
    if node["type"] == "field":
        return [node["value"]]
    if node["type"] == "subexpression":
        parts = [_plain_path(child) for child in node["children"]]
        return [name for part in parts for name in part] if all(parts) else []
    return []


def _with_value_at(value: JsonValue, path: list[str], replacement: str) -> JsonValue:
    name, *rest = path
    return {**value, name: _with_value_at(value[name], rest, replacement) if rest else replacement}


def _as_message_id(found: JsonValue) -> str | None:
    if isinstance(found, bool):
        return None
    if isinstance(found, int):
        return str(found)
    return found if isinstance(found, str) and found else None


def _kind(value: JsonValue) -> str:
    if value is None:
        return "nothing, or null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return "a number with a fraction or an exponent"
    if isinstance(value, str):
        return "an empty string"
    return "an array" if isinstance(value, list) else "an object"
