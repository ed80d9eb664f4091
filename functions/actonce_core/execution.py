"""A message's execution: its name and its input, derived from the message alone.

Invariant: two message ids never share a name, and an id never has two; deliveries with the same
body have the same input, byte for byte.
"""

import hashlib
import re
from collections.abc import Mapping

from actonce_core.strict_json import JsonValue, canonical

MAX_MESSAGE_ID_BYTES = 2048
"""Longest message id, in bytes of UTF-8: it is the tables' partition key, and DynamoDB takes no
longer one ("Quotas", partition keys)."""

MAX_INPUT_BYTES = 256 * 1024 - 1024
"""Largest execution input that the starter starts, in bytes of UTF-8.

Step Functions takes 256 KiB ("Quotas", Maximum input size), and no more for a state's arguments,
which contain the message and the function's ARN. An execution that outgrows that fails past every
Catch (States.DataLimitExceeded), so 1 KiB is left for the rest. A first attempt's `version`, with
two ARNs as long as Lambda allows, takes some 600 bytes of that.
"""

SAFE_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")
"""An id that may be its execution's name, unless it looks like a hash."""

HASHED_NAME_PREFIX = "sha256-"
"""What the name of an execution begins with that is a hash of its message's id."""

HASHED_NAME = re.compile(rf"{HASHED_NAME_PREFIX}[0-9a-f]{{64}}")
"""Such a name; nobody's id is one."""

# SQS does not take them, not even in a dead letter (SendMessage, API reference: `#xE000-#xFFFD`).
_NONCHARACTERS = re.compile("[\ufffe\uffff]")


def execution_name(message_id: str) -> str:
    """The id itself where it is a safe name, otherwise its hash.

    An id is never truncated. One that looks like a hash is hashed, too, so no id can pose as
    another's hash.
    Source: StartExecution, "name" (1 to 80 characters; non-ASCII breaks CloudWatch).
    """
    if SAFE_NAME.fullmatch(message_id) and not HASHED_NAME.fullmatch(message_id):
        return message_id
    return HASHED_NAME_PREFIX + hashlib.sha256(message_id.encode("utf-8")).hexdigest()


def execution_input(
    message_id: str, body: str, attempted: Mapping[str, JsonValue] | None = None
) -> str:
    """Canonical JSON of `{"body": text, "message_id": text}`.

    The body stays a text, so nothing that parses JSON on the way changes it, above all not a
    number of many digits.

    Args:
        message_id: the producer's.
        body: verbatim.
        attempted: the version that a first attempt called, in the state machine's form: `perform`,
            `find`, `timeout`, `margin`. No execution has been redriven -1 times, so `PerformEffect`
            waits and looks first, as after a redrive.
    """
    more = {"redrives": -1, "version": dict(attempted)} if attempted else {}
    return canonical({"body": body, "message_id": message_id, **more})


def unusable_id(message_id: str) -> str | None:
    """What is wrong with an id, as the end of a sentence; None if nothing is."""
    size = len(message_id.encode("utf-8"))
    if size > MAX_MESSAGE_ID_BYTES:
        return f"has {size:,} bytes of UTF-8, and may have {MAX_MESSAGE_ID_BYTES:,}"
    if _NONCHARACTERS.search(message_id):
        return "has a U+FFFE or U+FFFF in it, which are no characters, and which SQS does not carry"
    return None


def too_large(execution_input: str) -> str | None:
    """What is wrong with an input that is too large to start; None if nothing is."""
    size = len(execution_input.encode("utf-8"))
    if size <= MAX_INPUT_BYTES:
        return None
    return (
        f"As the input of an execution the message has {size:,} bytes of UTF-8, in which each "
        f"quote, backslash, tab and line break of its body takes two; an execution takes at most "
        f"{MAX_INPUT_BYTES:,}."
    )
