"""How a stack is: whether it takes messages, and what waits where."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.aws import Stack
from actonce.pausing import Feed, Pause, feeds, find_pause

_LOOK_BACK = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue's messages.

    Attributes:
        waiting: that can be received.
        in_flight: received, and not deleted yet.
        delayed: that cannot be received yet.
        oldest_seconds: age of the oldest one, as CloudWatch has it, a minute or two late; None: it
            does not say.
    """

    waiting: int
    in_flight: int
    delayed: int
    oldest_seconds: int | None

    def as_json(self) -> dict[str, int | None]:
        """For machines."""
        return {
            "waiting": self.waiting,
            "in_flight": self.in_flight,
            "delayed": self.delayed,
            "oldest_seconds": self.oldest_seconds,
        }


@dataclass(frozen=True, slots=True)
class Status:
    """A stack's.

    Attributes:
        stack: its name.
        pause: None where it is not paused.
        feeds: what its queue feeds.
        queues: by `requests`, `unstarted` and `dead_letters`.
    """

    stack: str
    pause: Pause | None
    feeds: tuple[Feed, ...]
    queues: Mapping[str, Depth]

    @property
    def is_fed_all_the_same(self) -> bool:
        """It says that it is paused, and messages are taken: the mapping was enabled by others.

        A deployment does that where it makes the mapping anew, or changes it.
        """
        return self.pause is not None and any(one.is_enabled for one in self.feeds)

    def as_json(self) -> dict[str, Any]:
        """For machines; fields may be added."""
        return {
            "stack": self.stack,
            "paused": self.pause.as_json() if self.pause else None,
            "fed_all_the_same": self.is_fed_all_the_same,
            "feeds": [{"function": one.function, "state": one.state} for one in self.feeds],
            "queues": {name: depth.as_json() for name, depth in self.queues.items()},
        }


def status(stack: Stack, now: datetime) -> Status:
    """Look at the stack; it receives nothing, so it hides no message from anybody."""
    queues = {
        "requests": stack.requests_queue,
        "unstarted": stack.unstarted_queue,
        "dead_letters": stack.dead_letter_queue,
    }
    return Status(
        stack=stack.called,
        pause=find_pause(stack.sqs, stack.requests_queue),
        feeds=tuple(feeds(stack)),
        queues={name: _depth(stack, url, now) for name, url in queues.items()},
    )


def _depth(stack: Stack, queue_url: str, now: datetime) -> Depth:
    attributes = stack.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])
    counts = attributes["Attributes"]
    waiting = int(counts["ApproximateNumberOfMessages"])
    in_flight = int(counts["ApproximateNumberOfMessagesNotVisible"])
    delayed = int(counts["ApproximateNumberOfMessagesDelayed"])
    is_empty = not waiting + in_flight + delayed
    return Depth(waiting, in_flight, delayed, None if is_empty else _oldest(stack, queue_url, now))


def _oldest(stack: Stack, queue_url: str, now: datetime) -> int | None:
    """The latest that CloudWatch has; without leave to ask it, nothing."""
    try:
        answer = stack.aws.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/SQS",
            MetricName="ApproximateAgeOfOldestMessage",
            Dimensions=[{"Name": "QueueName", "Value": queue_url.rpartition("/")[2]}],
            StartTime=now - _LOOK_BACK,
            EndTime=now,
            Period=60,
            Statistics=["Maximum"],
        )
    except (ClientError, BotoCoreError):
        return None
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    return round(points[-1]["Maximum"]) if points else None
