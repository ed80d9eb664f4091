"""DeadLettersFunction: copies a day's dead letters and decisions from the histories to S3.

The audit's state machine calls it in each slot of the day, and in the night after. It reads the
histories of executions that run, such as those whose dead letter waits, and of those that ended
without success. Those that succeeded are too many; their result and their effect say enough.
"""

import functools
import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import boto3
from aws_lambda_powertools import Logger
from botocore.config import Config

from actonce_core.histories.day_file import (
    folder_of,
    json_line,
    key_of,
    key_of_more,
    packed,
    unpacked,
)
from actonce_core.histories.reading import (
    HISTORIES_IN_FLIGHT,
    ExecutionSummary,
    executions_between,
    read_histories,
)
from actonce_core.histories.stays import VERSION, Record, dead_letter_records
from actonce_core.records import log_line, timestamp

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_stepfunctions import SFNClient
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType

STREAM: Final = "dead_letters"

# RUNNING first, so that an execution that fails in between is in both lists, not in neither.
STATUSES: Final[tuple["ExecutionStatusType", ...]] = ("RUNNING", "FAILED", "TIMED_OUT", "ABORTED")

MOST_EXECUTIONS: Final = 12_000
"""GetExecutionHistory refills at 20 a second ("Service quotas"): ten minutes of the fifteen."""

RETRY_FOR_SECONDS: Final = 60.0
RESERVED_SECONDS: Final = 90.0
"""For the calls in flight and for writing; more than `RETRY_FOR_SECONDS`."""

logger = Logger(json_serializer=log_line)


class TooManyExecutions(Exception):
    """There are more executions than one invocation can read."""


class OutOfTime(Exception):
    """The function's time is too short to read all histories."""


class UnreadableRecords(Exception):
    """A file of the day cannot be read, so nobody knows which records are new."""


@dataclass(frozen=True, slots=True)
class DeadLettersOfDay:
    """Records the dead letters of a day.

    Invariant: a file is written once, as a whole, so an audited day stays as it was. New records go
    into a further file. Records that a later call no longer finds stay, too: an execution whose
    letter waited may have succeeded since.

    Attributes:
        state_machine: ARN of ProcessMessage.
        bucket: of the records.
        most: executions that are read.
    """

    stepfunctions: "SFNClient"
    s3: "S3Client"
    state_machine: str
    bucket: str
    most: int = MOST_EXECUTIONS

    def record(
        self, day: date, seconds_left: Callable[[], float], until: str | None = None
    ) -> dict[str, Any]:
        """Find a UTC day's dead letters, and write those that no file of the day has.

        Args:
            day: the UTC day.
            seconds_left: how long this may take.
            until: a past time of the day; a heartbeat says that the files are complete up to it.

        Returns:
            For the log: the file's `key`, null if nothing is new; how many `executions` were read,
            and `lines` found.

        Raises:
            TooManyExecutions, OutOfTime, UnreadableRecords: nothing was written.
        """
        listed = self._listed(day, seconds_left)
        found: list[Record] = []
        for one in read_histories(
            self.stepfunctions, listed, dead_letter_records, RETRY_FOR_SECONDS
        ):
            # Step Functions forgets an execution (None) 90 days after its end.
            found += of_day(one.records or (), day)
            _check(seconds_left)
        lines = len(found)
        if until is not None:
            beat = {"stream": STREAM, "version": VERSION, "at": until, "event": "heartbeat"}
            found.append(beat | {"source": self.state_machine})
        return {"key": self._add(day, found), "executions": len(listed), "lines": lines}

    def _listed(self, day: date, seconds_left: Callable[[], float]) -> list[ExecutionSummary]:
        """The executions that may have had a dead letter on the day, each once."""
        found: dict[str, ExecutionSummary] = {}
        for status in STATUSES:
            for page in executions_between(
                self.stepfunctions,
                self.state_machine,
                _between(day),
                retry_for=RETRY_FOR_SECONDS,
                status=status,
            ):
                found |= {one.arn: one for one in page}
                if len(found) > self.most:
                    raise TooManyExecutions(
                        f"More than {self.most} executions run or ended without success on {day}."
                    )
                _check(seconds_left)
        return list(found.values())

    def _add(self, day: date, records: Sequence[Record]) -> str | None:
        # GetObject would not do: without the right to list, S3 denies access to a missing file.
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=f"{folder_of(STREAM, day)}/"
        )
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
        lines = {json_line(record) for record in records}
        for key in keys:
            file = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            try:
                lines -= unpacked(file)
            except (EOFError, OSError, zlib.error) as error:
                raise UnreadableRecords(f"s3://{self.bucket}/{key}: {error}") from error
        if keys and not lines:
            return None
        content = packed(lines)
        key = key_of_more(STREAM, day, content) if keys else key_of(STREAM, day)
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=content)
        return key


def of_day(records: Sequence[Record], day: date) -> list[Record]:
    """The records of the UTC day."""
    first, after = (timestamp(moment) for moment in _between(day))
    return [record for record in records if first <= record["at"] < after]


def _between(day: date) -> tuple[datetime, datetime]:
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return since, since + timedelta(days=1)


def _check(seconds_left: Callable[[], float]) -> None:
    if seconds_left() < RESERVED_SECONDS:
        raise OutOfTime("Step Functions gave the histories too slowly.")


@functools.cache
def _from_environment() -> DeadLettersOfDay:
    """One per process, built from the variables that audit.yaml sets."""
    config = Config(
        connect_timeout=5,
        read_timeout=30,
        max_pool_connections=HISTORIES_IN_FLIGHT,
        retries={"mode": "standard", "total_max_attempts": 3},
    )
    return DeadLettersOfDay(
        stepfunctions=boto3.client("stepfunctions", config=config),
        s3=boto3.client("s3", config=config),
        state_machine=os.environ["STATE_MACHINE_ARN"],
        bucket=os.environ["RECORDS_BUCKET"],
    )


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point; `event` is `{"day": "2026-01-31"}`, and `until` as of `record`."""
    ends_at = time.monotonic() + context.get_remaining_time_in_millis() / 1000
    try:
        recorded = _from_environment().record(
            date.fromisoformat(event["day"]),
            lambda: ends_at - time.monotonic(),
            event.get("until"),
        )
    except Exception:
        logger.exception("The dead letters were not recorded", extra={"day": event.get("day")})
        raise
    logger.info("The dead letters were recorded", extra=recorded)
    return recorded
