"""What a person is told of an error that AWS, or the way to it, has made: one sentence.

Imports nothing of boto3: where that is not loaded, nobody called AWS.
"""

import sys
from typing import Final

_GONE: Final = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
        "StateMachineDoesNotExist",
    }
)
"""Codes by which a service says that it has no such queue, table, function or state machine."""

_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})


def told_of(error: Exception) -> str | None:
    """What to tell of it; None: neither AWS nor the way to it has made it."""
    known = sys.modules.get("botocore.exceptions")
    if known is None:
        return None
    if isinstance(error, known.ClientError):
        told = f"AWS: {error}"
        code = error.response.get("Error", {}).get("Code")
        if code in _GONE:
            told += " The stack, or a part of it, may be gone: actonce status looks."
        if code in _EXPIRED:
            told += " The credentials have expired: get new ones, as by aws sso login."
        return told
    unread = sys.modules["botocore.parsers"].ResponseParserError
    if isinstance(error, known.EndpointConnectionError | known.ConnectionClosedError):
        return f"AWS: {error}. Nothing answers there; the embedded AWS is brought up by actonce up."
    if isinstance(error, known.BotoCoreError | unread):
        return f"AWS: {error}"
    return None
