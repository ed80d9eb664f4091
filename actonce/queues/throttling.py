"""Calls among thousands: through throttling, but not through a refusal."""

import threading
from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError

from actonce_core.transient import error_code, patiently

T = TypeVar("T")

_RETRY_FOR = 120.0
"""Seconds of throttling that a call lasts, on top of the SDK's own retries."""

_FORBIDDEN = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "KmsAccessDeniedException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)


def is_forbidden(error: ClientError) -> bool:
    """Whether AWS says that who asks may not: the next call would be told the same."""
    return error_code(error) in _FORBIDDEN


def through_throttling(call: Callable[[], T], stopping: threading.Event) -> T:
    """Call until it is not throttled, as `patiently`; once `stopping` is set, no more.

    Raises:
        ClientError: it was throttled for too long, or says something else.
    """
    return patiently(call, _RETRY_FOR, stopping.wait)
