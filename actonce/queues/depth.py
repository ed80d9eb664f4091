"""How much waits in a queue, and whether somebody has paused the stack that it feeds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from actonce.stack.clients import Aws, Stack

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_LOOK_BACK = timedelta(minutes=10)

PAUSED_SINCE = "actonce-paused-since"
PAUSED_BY = "actonce-paused-by"
PAUSED_NOTE = "actonce-paused-note"
"""Tags on RequestsQueue that describe a pause: since when, by whom, and why."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages a queue has.

    Attributes:
        waiting: can be received.
        in_flight: were received, and are not deleted yet.
        delayed: cannot be received yet.
        oldest_seconds: the age of the oldest by CloudWatch, a minute or two late; None: it does not
            say. On a standard queue CloudWatch leaves out messages that were received three times
            or more, so the oldest is at least this old.
    """

    waiting: int
    in_flight: int
    delayed: int
    oldest_seconds: int | None


def depth_of(stack: Stack, queue_url: str, now: datetime) -> Depth:
    """The depth of one of the stack's queues, by SQS's estimates."""
    attributes = stack.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])
    counts = attributes["Attributes"]
    waiting = int(counts["ApproximateNumberOfMessages"])
    in_flight = int(counts["ApproximateNumberOfMessagesNotVisible"])
    delayed = int(counts["ApproximateNumberOfMessagesDelayed"])
    if not waiting + in_flight + delayed:
        return Depth(0, 0, 0, None)
    queue = {"Name": "QueueName", "Value": queue_url.rpartition("/")[2]}
    metric = ("AWS/SQS", "ApproximateAgeOfOldestMessage")
    ages = highest_ages(stack.aws, metric, queue, now - _LOOK_BACK, now)
    return Depth(waiting, in_flight, delayed, ages[-1] if ages else None)


def highest_ages(
    aws: Aws, metric: tuple[str, str], dimension: dict[str, str], since: datetime, now: datetime
) -> list[int]:
    """The highest age in each minute (seconds), in order of time; none if CloudWatch refuses."""
    try:
        answer = aws.client("cloudwatch").get_metric_statistics(
            Namespace=metric[0],
            MetricName=metric[1],
            Dimensions=[dimension],
            StartTime=since,
            EndTime=now,
            Period=60,
            Statistics=["Maximum"],
        )
    except (ClientError, BotoCoreError):
        return []
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    return [round(point["Maximum"]) for point in points]


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of a stack: since when (ISO 8601, UTC), by whom, and why (may be empty)."""

    since: str
    by: str
    note: str

    @property
    def text(self) -> str:
        """For a person."""
        return f"{self.since} by {self.by}" + (f": {self.note}" if self.note else "")


def find_pause(sqs: "SQSClient", queue_url: str) -> Pause | None:
    """The pause by the queue's tags; None: it is not paused."""
    tags = sqs.list_queue_tags(QueueUrl=queue_url).get("Tags", {})
    if PAUSED_SINCE not in tags:
        return None
    return Pause(tags[PAUSED_SINCE], tags.get(PAUSED_BY, ""), tags.get(PAUSED_NOTE, ""))
