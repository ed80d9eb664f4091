"""How a queue stands: how much waits in it, and whether a person has paused what it feeds."""

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
"""The tags on RequestsQueue that say of a pause since when it is, by whom, and why."""


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue's messages.

    Attributes:
        waiting: that can be received.
        in_flight: received, and not deleted yet.
        delayed: that cannot be received yet.
        oldest_seconds: age of the oldest one, as CloudWatch has it, a minute or two late; None: it
            does not say. Of a standard queue it leaves out what was received three times and more,
            so the oldest is as old as this, or older.
    """

    waiting: int
    in_flight: int
    delayed: int
    oldest_seconds: int | None


def depth_of(stack: Stack, queue_url: str, now: datetime) -> Depth:
    """How much waits in one of its queues, by SQS's own counts."""
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
    """Each minute's highest (seconds), the last one last; without leave to ask, none.

    `metric` is CloudWatch's namespace, and the name of the metric in it.
    """
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
    """That a stack is paused: since when (ISO 8601, UTC), by whom, and why (may be empty)."""

    since: str
    by: str
    note: str

    @property
    def told(self) -> str:
        """For a person."""
        return f"{self.since} by {self.by}" + (f": {self.note}" if self.note else "")


def find_pause(sqs: "SQSClient", queue_url: str) -> Pause | None:
    """What the queue's tags say; None: nobody paused it."""
    tags = sqs.list_queue_tags(QueueUrl=queue_url).get("Tags", {})
    if PAUSED_SINCE not in tags:
        return None
    return Pause(tags[PAUSED_SINCE], tags.get(PAUSED_BY, ""), tags.get(PAUSED_NOTE, ""))
