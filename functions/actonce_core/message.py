"""Reads the message in a delivery: its id, its body and its content's fingerprint."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

from actonce_core import strict_json
from actonce_core.delivery import Delivery
from actonce_core.execution import (
    MAX_INPUT_BYTES,
    execution_input,
    execution_name,
    too_large,
    unusable_id,
)
from actonce_core.reason import Reason
from actonce_core.strict_json import JsonValue

# Threads parse no faster side by side, and ten half-parsed bodies would take ten times the memory.
_ONE_AT_A_TIME = threading.Lock()

# What a JMESPath search may raise over an unexpected body: a function met a type that it does not
# take (JMESPathError is a ValueError), `contains('text', `1`)`, a sum that no double holds.
_SEARCH_FAILED = (ValueError, TypeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason, and a sentence for the person who finds the message in UnstartedQueue.

    `detail` is logged, so it never quotes the body.
    """

    reason: Reason
    detail: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message that can be started.

    Invariant: deliveries of one message id have the same `execution_name`; with the same body they
    also have the same `execution_input`, byte for byte. Nothing here depends on the delivery.

    Attributes:
        message_id: the producer's id; an integer as its decimal digits.
        body: verbatim.
        fingerprint: SHA-256 of the content's canonical JSON, 64 hex digits.
    """

    message_id: str
    body: str
    fingerprint: str

    @property
    def execution_name(self) -> str:
        """See `execution.execution_name`."""
        return execution_name(self.message_id)

    @property
    def execution_input(self) -> str:
        """See `execution.execution_input`."""
        return execution_input(self.message_id, self.body)


def conflict(message: Message, known: str, seen: str = "") -> Refusal:
    """The refusal of a message whose id was first seen with other content.

    Args:
        message: the delivered one.
        known: fingerprint of the first content.
        seen: when that was, as ` at 2026-01-31T09:30:00.000Z`; empty if unknown.
    """
    return Refusal(
        Reason.CONFLICT,
        f"Its id was first used{seen} for other content (that one's fingerprint is "
        f"{known[:12]}…, this one's {message.fingerprint[:12]}…).",
        message.message_id,
    )


class MessageReader:
    """Reads messages as the stack's parameters MessageIdFrom and ContentFrom say.

    Args:
        message_id_from: `body:<JMESPath>`, `attribute:<name>`, `deduplication-id` or
            `sqs-message-id`.
        content_from: JMESPath of the content: two messages with the same id and content are the
            same message; empty for the whole body, which also counts where a part of the expression
            finds nothing.

    Raises:
        ValueError: either of them is invalid.
    """

    def __init__(self, message_id_from: str = "body:message_id", content_from: str = "") -> None:
        self._where, self._find_id = _id_finder(message_id_from)
        self._id_is_in_body = message_id_from.startswith("body:")
        self.id_is_deduplication_id = message_id_from == "deduplication-id"
        self._content = _compile("ContentFrom", content_from) if content_from.strip() else None

    def read(self, delivery: Delivery) -> Message | Refusal:
        """Read the message, or say why it is refused.

        Never parses a body that no execution takes, nor two bodies at once: whatever its shape,
        what is parsed is small enough not to end the process.
        """
        size = len(delivery.body.encode("utf-8", "surrogatepass"))
        if size <= MAX_INPUT_BYTES:
            with _ONE_AT_A_TIME:
                return self.read_whole(delivery)
        message_id = None if self._id_is_in_body else _as_message_id(self._find_id(delivery, None))
        if message_id is not None and unusable_id(message_id):
            message_id = None
        return Refusal(
            Reason.TOO_LARGE,
            f"The body was not read: it has {size:,} bytes of UTF-8; an execution takes at most "
            f"{MAX_INPUT_BYTES:,}.",
            message_id,
        )

    def read_whole(self, delivery: Delivery) -> Message | Refusal:
        """As `read`, but parses a body of any size: for a person's machine, never in Lambda."""
        try:
            body = strict_json.parse(delivery.body)
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
        if wrong := unusable_id(message_id):
            return Refusal(Reason.NO_MESSAGE_ID, f"The message id at {self._where} {wrong}.")
        message = Message(message_id, delivery.body, self._fingerprint(body))
        if beyond := too_large(message.execution_input):
            return Refusal(Reason.TOO_LARGE, beyond, message.message_id)
        return message

    def _fingerprint(self, body: JsonValue) -> str:
        if self._content is None:
            return _sha256(strict_json.canonical(body))
        content = _search(self._content, body)
        if content is not None:
            with contextlib.suppress(TypeError, ValueError):  # what it made may not be JSON
                return _sha256(strict_json.canonical(content))
        # Without its content a body is compared whole; no content has this text, which is not JSON.
        return _sha256(f"whole body: {strict_json.canonical(body)}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


_Finder = Callable[[Delivery, JsonValue], JsonValue]


def _id_finder(source: str) -> tuple[str, _Finder]:
    """Where the id is, in words, and a function that finds it."""
    kind, _, argument = source.partition(":")
    argument = argument.strip()
    if kind == "body" and argument:
        expression = _compile("MessageIdFrom", argument)
        return f"'{argument}' in the body", lambda _, body: _search(expression, body)
    if kind == "attribute" and argument:
        return (
            f"the message attribute '{argument}'",
            lambda delivery, _: delivery.text_attribute(argument),
        )
    if source == "deduplication-id":
        return "the deduplication id", lambda delivery, _: delivery.deduplication_id
    if source == "sqs-message-id":
        return "the SQS message id", lambda delivery, _: delivery.original_sqs_message_id
    raise ValueError(
        f"MessageIdFrom {source!r}: expected body:<JMESPath>, attribute:<name>, "
        "deduplication-id or sqs-message-id"
    )


def _compile(parameter: str, expression: str) -> jmespath.parser.ParsedResult:
    try:
        compiled = jmespath.compile(expression)
    except JMESPathError as error:
        raise ValueError(f"{parameter}: {expression!r} is not a JMESPath expression") from error
    # JMESPath itself notices only when it searches a body, and would then fail for every body.
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


class _FoundNothing(ValueError):
    """A part of an expression found nothing, or null."""


class _StrictInterpreter(TreeInterpreter):  # type: ignore[misc]
    """JMESPath in which an expression finds something only where each of its parts does.

    JMESPath itself goes on with null: `{amount: amount}` or `to_string(amount)` finds the same in
    every body without an amount, and a projection or a filter leaves such elements out. Two
    messages would be the same by what both lack. Only `||` names what stands for a missing part.
    """

    def visit(self, node: dict[str, JsonValue], value: JsonValue) -> JsonValue:
        found = super().visit(node, value)
        if found is None or (found == [] and node["type"] in ("filter_projection", "slice")):
            raise _FoundNothing
        return found

    def visit_or_expression(self, node: dict[str, JsonValue], value: JsonValue) -> JsonValue:
        first, second = node["children"]
        # The second only where nothing is found: it does not stand for the half of an object.
        is_missing = self._is_false(TreeInterpreter().visit(first, value))
        return self.visit(second if is_missing else first, value)


def _search(expression: jmespath.parser.ParsedResult, body: JsonValue) -> JsonValue:
    """What the expression finds; None if nothing, or if it fails."""
    try:
        return _StrictInterpreter().visit(expression.parsed, body)
    except _SEARCH_FAILED:
        return None


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
