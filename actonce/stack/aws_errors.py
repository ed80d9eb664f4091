"""What a person is told of an error that AWS, or the way to it, has made: one sentence."""

from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    HTTPClientError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from actonce.terminal.errors import Failed
from actonce_core.transient import error_code

_MISSING: Final = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
        "StateMachineDoesNotExist",
    }
)

_SERVER_ERROR: Final = 500

_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_FORBIDDEN: Final = _EXPIRED | {
    "AccessDenied",
    "AccessDeniedException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "KmsAccessDeniedException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}


def told_of(error: Exception) -> str | None:
    """What to tell of it; None: neither AWS nor the way to it has made it."""
    told = f"AWS: {error}"
    if isinstance(error, ClientError):
        if is_missing(error):
            told += " The stack, or a part of it, may be gone: actonce status looks."
        if error.response.get("Error", {}).get("Code") in _EXPIRED:
            told += " The credentials have expired: get new ones, as by aws sso login."
        return told
    if isinstance(error, EndpointConnectionError | ConnectionClosedError):
        return f"{told}. Nothing answers there; the embedded AWS is brought up by actonce up."
    return told if isinstance(error, BotoCoreError | ResponseParserError) else None


def is_missing(error: ClientError) -> bool:
    """Whether a service says that it has no such queue, table, function or state machine."""
    return error.response.get("Error", {}).get("Code") in _MISSING


def is_forbidden(error: Exception) -> bool:
    """Whether AWS says that who asks may not: the next call would be told the same."""
    return isinstance(error, ClientError) and error_code(error) in _FORBIDDEN


def error_text(error: Exception) -> str:
    """An error in one sentence, for whoever goes on without what it kept from them."""
    if isinstance(error, Failed):
        return str(error)
    return told_of(error) or f"{type(error).__name__}: {error}"


def may_be_done(error: Exception) -> bool:
    """Whether what was asked for may have been done all the same: no answer came that says no.

    Of several attempts the last one's error is told, so also where nobody was reached by that.
    """
    if isinstance(error, ClientError):
        return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= _SERVER_ERROR
    return isinstance(error, HTTPClientError | NotConnected | ResponseParserError)
