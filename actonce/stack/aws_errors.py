"""Says in one sentence what AWS, or the network on the way to it, answered with an error."""

from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    HTTPClientError,
)
from botocore.exceptions import ConnectionError as NotConnected

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


def describe_error(error: Exception) -> str | None:
    """The sentence; None if the error is not one of AWS or of the network."""
    description = f"AWS: {error}"
    if isinstance(error, ClientError):
        if is_missing(error):
            description += " The stack, or a part of it, may be gone: actonce status looks."
        if error.response.get("Error", {}).get("Code") in _EXPIRED:
            description += " The credentials have expired: get new ones, as by aws sso login."
        return description
    if isinstance(error, EndpointConnectionError | ConnectionClosedError):
        return (
            f"{description}. Nothing answers there; the embedded AWS is brought up by actonce up."
        )
    return description if isinstance(error, (BotoCoreError, unreadable_answer())) else None


def unreadable_answer() -> type[Exception]:
    """What botocore raises for an answer that it cannot read, which is no `BotoCoreError`."""
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - most of boto3's time

    return ResponseParserError


def is_missing(error: ClientError) -> bool:
    """Whether a service says that it has no such queue, table, function or state machine."""
    return error.response.get("Error", {}).get("Code") in _MISSING


def is_forbidden(error: Exception) -> bool:
    """Whether AWS denies access, as it would the next call."""
    return isinstance(error, ClientError) and error_code(error) in _FORBIDDEN


def error_text(error: Exception) -> str:
    """An error in one sentence, for code that goes on without what failed."""
    if isinstance(error, Failed):
        return str(error)
    return describe_error(error) or f"{type(error).__name__}: {error}"


def may_be_done(error: Exception) -> bool:
    """Whether AWS may have done it all the same, because no answer says that it did not.

    The error is that of the last attempt. An earlier one may have reached AWS.
    """
    if isinstance(error, ClientError):
        return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= _SERVER_ERROR
    return isinstance(error, (HTTPClientError, NotConnected, unreadable_answer()))
