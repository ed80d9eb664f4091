"""Calls among thousands: through throttling, but not through a refusal."""

import random
import threading
from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError

T = TypeVar("T")

TRIES = 9
"""Of one call, on top of the SDK's own: about two minutes of throttling."""

_LONGEST_WAIT = 30.0  # seconds

TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500

# AWS's codes for "later, please" whose names do not say that they throttle.
_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "OverLimit",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)

_FORBIDDEN = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "KmsAccessDeniedException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)


def _code(error: ClientError) -> str:
    """Without a service's prefix."""
    return error.response["Error"]["Code"].rpartition("#")[2].rpartition(".")[2]


def is_transient(error: ClientError) -> bool:
    """Whether an error passes by itself, so that the call is worth repeating.

    Source: "Retry behavior", AWS SDKs and Tools Reference Guide (standard mode).
    """
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = _code(error)
    is_throttled = "Throttl" in code or code in _THROTTLED
    return status >= SERVER_ERROR or status == TOO_MANY_REQUESTS or is_throttled


def is_forbidden(error: ClientError) -> bool:
    """Whether AWS says that who asks may not: the next call would be told the same."""
    return _code(error) in _FORBIDDEN


def through_throttling(call: Callable[[], T], stopping: threading.Event) -> T:
    """Call until it is not throttled, with full jitter; once `stopping` is set, no more.

    Only for calls that may be made twice.

    Raises:
        ClientError: it was throttled for too long, or says something else.
    """
    for attempt in range(TRIES):
        try:
            return call()
        except ClientError as error:
            if not is_transient(error) or attempt == TRIES - 1:
                raise
            longest = min(_LONGEST_WAIT, 0.5 * 2**attempt)
            if stopping.wait(random.uniform(0, longest)):  # noqa: S311 - not for secrets
                raise
    raise AssertionError("the last try returns or raises")
