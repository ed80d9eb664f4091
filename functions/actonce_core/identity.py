"""Names that follow from a message id and from nothing else."""

import hashlib
import re

MAX_KEY_BYTES = 2048
"""Longest DynamoDB partition key, in UTF-8 bytes (DynamoDB: "Quotas", partition keys)."""

_SAFE_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")
_HASHED_FORM = re.compile(r"sha256-[0-9a-f]{64}")


def execution_name(message_id: str) -> str:
    """The name of the message's execution: the id itself where that is safe, else its hash.

    Invariant: two ids never share a name, and one id never has two. An id is never truncated; one
    that looks like a hash is hashed too, so no id can pose as another's hash.

    Source: StartExecution, "name" (1 to 80 characters; non-ASCII breaks CloudWatch).
    """
    if _SAFE_NAME.fullmatch(message_id) and not _HASHED_FORM.fullmatch(message_id):
        return message_id
    return _hashed(message_id)


def stored_message_id(message_id: str) -> str:
    """The message id as tables, logs and records keep it: itself, or its hash beyond 2,048 bytes.

    Invariant: as for `execution_name`, two ids never share a stored form.
    """
    if len(message_id.encode("utf-8")) <= MAX_KEY_BYTES and not _HASHED_FORM.fullmatch(message_id):
        return message_id
    return _hashed(message_id)


def execution_name_of_stored(stored: str) -> str:
    """The name of the execution of a message whose id is known in its stored form."""
    return stored if _HASHED_FORM.fullmatch(stored) else execution_name(stored)


def _hashed(message_id: str) -> str:
    return "sha256-" + hashlib.sha256(message_id.encode("utf-8")).hexdigest()
