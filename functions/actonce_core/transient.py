"""Which errors of AWS pass by themselves, and calls that wait until they have."""

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from botocore.exceptions import ClientError

T = TypeVar("T")

_CODES: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "InternalError",
        "InternalFailure",
        "LimitExceededException",
        "OverLimit",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Those that do not say that they throttle. Sources: "Retry behavior", AWS SDKs and Tools Reference
Guide (standard mode); "Common Errors", Amazon SQS API Reference."""

_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500
_LONGEST_PAUSE: Final = 10.0  # seconds


def error_code(error: ClientError) -> str:
    """The error's code, without the prefix of an older protocol, or of a service."""
    return _plain(error.response["Error"]["Code"])


def is_transient(error: ClientError) -> bool:
    """Whether the whole request may be made again; throttling comes with statuses below 500."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    is_late = status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS
    return is_late or is_transient_code(error_code(error))


def is_transient_code(code: str) -> bool:
    """The same by the code alone, as an entry of a batch has it."""
    return "Throttl" in code or _plain(code) in _CODES


def _plain(code: str) -> str:
    return code.rpartition("#")[2].rpartition(".")[2]


def retry_throttled(
    call: Callable[[], T], retry_for: float, sleep: Callable[[float], object] = time.sleep
) -> T:
    """Make a call until its errors are none that pass by themselves, with back-off and full jitter.

    Only for calls that may be made twice. The client's own retries are for a moment's throttling;
    this waits for minutes, at the very rate of a quota.

    Args:
        call: what to call.
        retry_for: seconds after which the error is raised.
        sleep: waits so many seconds; true if all is being stopped, and the error is raised.

    Raises:
        ClientError: what AWS answered.
    """
    give_up_at = time.monotonic() + retry_for
    attempt = 0
    while True:
        try:
            return call()
        except ClientError as error:
            pause = random.uniform(0, min(_LONGEST_PAUSE, 0.5 * 2**attempt))  # noqa: S311 - jitter
            is_late = time.monotonic() + pause > give_up_at
            if not is_transient(error) or is_late or sleep(pause):
                raise
            attempt += 1
