"""How long a second effect stays unnoticed: from its row to the alarm, on the embedded AWS.

    python -m lab.bench.detection [--rounds 10] [--messages 100]

Each round writes a second effect of another message without the stack. Then a slot follows: the
day's records are collected and put into their bucket, and the audit's state machine runs its job on
this machine. The round ends with the message from the alarm topic. On AWS add the time to the next
slot and the five minutes before it, Firehose's buffering, the export, and the start of a job on EMR
Serverless.
"""

import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.records.collect import CollectRequest, collect
from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed
from lab.bench.machine import machine

_SAY = Console(stderr=True)
_LONGEST_SECONDS = 600.0
_POLL_SECONDS = 0.2
_STEPS = ("collect and put", "slot to alarm", "whole")


@dataclass(frozen=True, slots=True)
class Audited:
    """The audited example on an embedded AWS, and a queue subscribed to its alarm topic.

    Attributes:
        folder: for what is collected.
    """

    state: State
    stack: Stack
    queue: str
    folder: Path

    @classmethod
    def up(cls, folder: Path) -> "Audited":
        """Bring it up, with the audit's code in its bucket."""
        paths = Paths(folder / "embedded", PROJECT / "examples" / "audited", is_project=True)
        state, stack = lifecycle.up(paths, lambda _: None, parameters={"AuditEvery": "15 minutes"})
        queue = stack.sqs.create_queue(QueueName="told")["QueueUrl"]
        arn = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
        stack.aws.client("sns").subscribe(
            TopicArn=stack.outputs["AlarmTopicArn"],
            Protocol="sqs",
            Endpoint=arn["Attributes"]["QueueArn"],
        )
        code = f"s3://{stack.outputs['AuditBucketName']}/code/"
        subprocess.run(
            [Path(sys.executable).with_name("actonce"), "audit", "package", "--to", code],
            env=EMBEDDED_CREDENTIALS
            | {"AWS_ENDPOINT_URL": state.endpoint_url, "AWS_DEFAULT_REGION": EMBEDDED_REGION},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return cls(state, stack, queue, folder / "records")

    def perform(self, messages: list[str]) -> None:
        """Send messages, and wait until each was acted on."""
        for message_id in messages:
            body = json.dumps({"message_id": message_id})
            self.stack.sqs.send_message(QueueUrl=self.stack.requests_queue, MessageBody=body)
        _wait(lambda: all(self.effects_of(message_id) for message_id in messages))

    def effects_of(self, message_id: str) -> list[dict[str, Any]]:
        """Its rows."""
        return self.stack.dynamodb.query(
            TableName=self.stack.effects_table,
            KeyConditionExpression="message_id = :message_id",
            ExpressionAttributeValues={":message_id": {"S": message_id}},
        )["Items"]

    def repeat_effect(self, message_id: str) -> None:
        """Write a second effect of a message, as something outside the stack would."""
        item = self.effects_of(message_id)[0]
        self.stack.dynamodb.put_item(
            TableName=self.stack.effects_table,
            Item=item | {"appointment_id": {"S": "appointment-by-hand"}},
        )

    def put_records(self, now: datetime) -> None:
        """Collect the day and put it into the bucket; the slot itself records the dead letters."""
        s3, bucket = self.stack.aws.client("s3"), self.stack.outputs["RecordsBucketName"]
        streams = frozenset({"deliveries", "executions", "effects"})
        collected = collect(self.stack, CollectRequest([now.date()], self.folder, streams=streams))
        if collected.missing:
            raise Failed(collected.missing[0])
        for file in self.folder.rglob("*.gz"):
            s3.upload_file(str(file), bucket, str(file.relative_to(self.folder)))
        for stream in streams:  # on the day before nothing happened
            key = f"{stream}/dt={now.date() - timedelta(days=1)}/lines.jsonl.gz"
            s3.put_object(Bucket=bucket, Key=key, Body=gzip.compress(b"", mtime=0))

    def start_slot(self, name: str, now: datetime) -> None:
        """As the schedule's execution does."""
        until = now - timedelta(minutes=5)
        at = {"day": f"{until:%Y-%m-%d}", "until": f"{until:%Y-%m-%dT%H:%M}:00.000Z"}
        self.stack.stepfunctions.start_execution(
            stateMachineArn=self.stack.outputs["AuditStateMachineArn"],
            name=name,
            input=json.dumps(at),
        )

    def has_alarm(self, text: str) -> bool:
        """Whether the alarm topic has just published a message with this text."""
        received = self.stack.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10)
        messages = received.get("Messages", [])
        for message in messages:
            self.stack.sqs.delete_message(
                QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"]
            )
        return any(text in json.loads(message["Body"])["Message"] for message in messages)


def rounds(audited: Audited, messages: int, count: int) -> Iterator[dict[str, float]]:
    """The seconds of each round, by its steps.

    Raises:
        Failed: an alarm is missing, or a message was not acted on.
    """
    audited.perform([f"message-{number}" for number in range(messages)])
    for number in range(count):
        audited.repeat_effect(f"message-{number}")
        began, now = time.monotonic(), datetime.now(UTC)
        audited.put_records(now)
        put = time.monotonic()
        audited.start_slot(f"audit-round-{number}", now)
        text = f"{number + 1} acted on more than once"
        _wait(lambda text=text: audited.has_alarm(text))  # type: ignore[misc]
        ended = time.monotonic()
        _SAY.print(f"round {number + 1} of {count}: {ended - began:.1f} s", style="dim")
        yield dict(zip(_STEPS, (put - began, ended - put, ended - began), strict=True))


def _wait(predicate: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not predicate():
        if time.monotonic() > deadline:
            raise Failed(f"It did not happen within {_LONGEST_SECONDS:.0f} s.")
        time.sleep(_POLL_SECONDS)


def figures(found: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Seconds of each step: median and 99th percentile (for few rounds the longest)."""
    rows = []
    for step in _STEPS:
        taken = sorted(one[step] for one in found)
        last = taken[min(len(taken) - 1, len(taken) * 99 // 100)]
        rows.append(
            {"step": step, "median": round(statistics.median(taken), 1), "p99": round(last, 1)}
        )
    return rows


def main(
    rounds_: Annotated[int, typer.Option("--rounds", min=1)] = 10,
    messages: Annotated[int, typer.Option(min=1, help="Of the day; no fewer than rounds.")] = 100,
) -> None:
    """Bring it up, measure and print."""
    with tempfile.TemporaryDirectory(prefix="actonce-detection-") as temporary:
        folder = Path(temporary).resolve()
        try:
            audited = Audited.up(folder)
            found = list(rounds(audited, max(messages, rounds_), rounds_))
        finally:
            lifecycle.down(Paths(folder / "embedded"))
    inputs = {"rounds": rounds_, "messages": max(messages, rounds_)}
    about = machine("ministack", "pyspark", "boto3")
    print(json.dumps({"inputs": inputs, "machine": about, "rows": figures(found)}, indent=1))


if __name__ == "__main__":
    typer.run(main)
