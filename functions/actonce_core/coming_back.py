"""When a delivery that failed comes back.

SQS brings it back when its visibility timeout is over, which is meant for a crash and takes
minutes. What failed otherwise says so, and comes back soon: after seconds the first time, later
each time, a quarter of an hour at most. Waiting in the queue costs nothing.
"""

import contextlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

FIRST_SECONDS = 4.0
LONGEST_SECONDS = 900.0
"""Between the half of it and all of it, after the first receive, and after many.

`maxReceiveCount` is 1,000: at such intervals it is not reached within five days.
"""

_LONGEST_ASKED = 43_200.0 - LONGEST_SECONDS
"""A message is invisible for twelve hours at most, counted from its receive
(ChangeMessageVisibility, API reference)."""


def seconds_until_back(error: BaseException, receive_count: int, chance: float) -> float:
    """Seconds after which a delivery shall come back.

    Args:
        error: that it failed with. Its attribute `comes_back_after` (seconds), if it has one, is
            believed.
        receive_count: how often it was received, this time included.
        chance: a number from 0 to 1, so that what failed together does not come back together.

    Without the error's own word, a delivery of a higher receive count never comes back sooner.
    """
    asked = getattr(error, "comes_back_after", None)
    if asked is not None:
        return min(max(float(asked), 0.0), _LONGEST_ASKED)
    most: float = min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** min(max(receive_count - 1, 0), 20))
    return most * (1 + chance) / 2


class RequestsQueue:
    """The edge to the queue that deliveries come from."""

    def __init__(self, sqs: "SQSClient", queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url

    def show_again(self, seconds: Mapping[str, float]) -> None:
        """Have deliveries visible again after so many seconds, by receipt handle; ten at most.

        If that fails, nothing is lost: they come back when their visibility timeout is over.
        """
        with contextlib.suppress(ClientError, BotoCoreError):
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": math.ceil(after)}
                    for n, (handle, after) in enumerate(seconds.items())
                ],
            )
