"""ExecutionRecordsFunction: copies from the histories to S3 what EventBridge may have lost.

The audit's state machine calls it in each slot of the day, and in the night after. It lists the
executions that run, such as those whose dead letter waits, and those that ended without success,
reads their histories, and writes their status changes, dead letters and decisions. So no open
execution is taken for lost, and none that failed for one that runs. Those that succeeded are too
many; their effect says enough.

It also tells what the state machine has to know before it goes on: whether the audit's code is
there, and what was exported of the day.
"""

import functools
import os
import re
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
    prefix_of,
    unpacked,
)
from actonce_core.histories.reading import (
    HISTORIES_IN_FLIGHT,
    ExecutionSummary,
    executions_between,
    read_histories,
)
from actonce_core.histories.records import records
from actonce_core.histories.stays import Record
from actonce_core.records import log_line, timestamp

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_stepfunctions import SFNClient
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType

_DAYS_BEFORE: Final = {"executions": 1, "dead_letters": 0}
"""By stream, of how many earlier days there are lines, too: what runs on began before midnight."""

# RUNNING first, so that an execution that fails in between is in both lists, not in neither.
STATUSES: Final[tuple["ExecutionStatusType", ...]] = ("RUNNING", "FAILED", "TIMED_OUT", "ABORTED")

MOST_EXECUTIONS: Final = 12_000
"""GetExecutionHistory refills at 20 a second ("Service quotas"): ten minutes of the fifteen."""

RETRY_FOR_SECONDS: Final = 60.0
RESERVED_SECONDS: Final = 90.0
"""For the calls in flight and for writing; more than `RETRY_FOR_SECONDS`."""

_ENDED_EXPORT: Final = re.compile(r"until-(\d\d-\d\d)/AWSDynamoDB/[^/]+/manifest-summary\.json$")
_CODE: Final = frozenset({"code/audit.py", "code/pipeline.zip"})

logger = Logger(json_serializer=log_line, use_rfc3339=True)


class TooManyExecutions(Exception):
    """There are more executions than one invocation can read."""


class OutOfTime(Exception):
    """The function's time is too short to read all histories."""


class UnreadableRecords(Exception):
    """A file of the day cannot be read, so nobody knows which records are new."""


@dataclass(frozen=True, slots=True)
class DayRecorder:
    """Records what the histories tell of a day.

    Invariant: a file is written once, as a whole, so an audited day stays as it was. New records go
    into a further file. Records that a later call no longer finds stay, too: an execution whose
    letter waited may have succeeded since.

    Attributes:
        state_machine: ARN of ProcessMessage.
        bucket: of the records.
        audit_bucket: of the audit's code.
        most: executions that are read.
    """

    stepfunctions: "SFNClient"
    s3: "S3Client"
    state_machine: str
    bucket: str
    audit_bucket: str
    most: int = MOST_EXECUTIONS

    def record(self, day: date, seconds_left: Callable[[], float]) -> dict[str, Any]:
        """Find a UTC day's records, and write those that no file of the day has.

        Args:
            day: the UTC day.
            seconds_left: how long this may take.

        Returns:
            For the log: the `keys` of the files that were written; how many `executions` were
            read, how many of them Step Functions had `forgotten` meanwhile, and `lines` found.

        Raises:
            TooManyExecutions, OutOfTime, UnreadableRecords: not everything was written.
        """
        listed = self._listed(day, seconds_left)
        found: dict[str, list[Record]] = {stream: [] for stream in _DAYS_BEFORE}
        forgotten = 0
        for one in read_histories(self.stepfunctions, listed, records, RETRY_FOR_SECONDS):
            forgotten += one.records is None
            for line in one.records or ():
                stream = line["stream"]
                since = _midnight(day) - timedelta(days=_DAYS_BEFORE[stream])
                if timestamp(since) <= line["at"] < timestamp(_midnight(day) + _DAY):
                    found[stream].append(line | {"source": self.state_machine})
            _check(seconds_left)
        keys = [self._add(stream, day, lines) for stream, lines in found.items()]
        return {
            "keys": [key for key in keys if key],
            "executions": len(listed),
            "forgotten": forgotten,
            "lines": sum(map(len, found.values())),
        }

    def prepared(self, day: date) -> dict[str, Any]:
        """What there is for the audit of a day.

        Returns:
            Whether its `code` is there; whether the day's effects were `collected`, so that no
            export is needed; and `since` when they were not exported, as "13-55", or empty.
        """
        folder = f"{folder_of('effects', day)}/"
        keys = self._keys(self.bucket, folder)
        names = [key.removeprefix(folder) for key in keys]
        ended = [found[1] for name in names if (found := _ENDED_EXPORT.match(name))]
        return {
            "code": set(self._keys(self.audit_bucket, "code/")) >= _CODE,
            "collected": any(key.startswith(prefix_of("effects", day)) for key in keys),
            "since": max(ended, default=""),
        }

    def _keys(self, bucket: str, prefix: str) -> list[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def _listed(self, day: date, seconds_left: Callable[[], float]) -> list[ExecutionSummary]:
        """The executions that ran on the day, and run or ended without success, each once."""
        found: dict[str, ExecutionSummary] = {}
        for status in STATUSES:
            for page in executions_between(
                self.stepfunctions,
                self.state_machine,
                (_midnight(day), _midnight(day) + _DAY),
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

    def _add(self, stream: str, day: date, found: Sequence[Record]) -> str | None:
        # GetObject would not do: without the right to list, S3 denies access to a missing file.
        keys = self._keys(self.bucket, prefix_of(stream, day))
        lines = {json_line(record) for record in found}
        for key in keys:
            file = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            try:
                lines -= unpacked(file)
            except (EOFError, OSError, zlib.error) as error:
                raise UnreadableRecords(f"s3://{self.bucket}/{key}: {error}") from error
        if keys and not lines:
            return None
        content = packed(lines)
        key = key_of_more(stream, day, content) if keys else key_of(stream, day)
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=content)
        return key


_DAY: Final = timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _check(seconds_left: Callable[[], float]) -> None:
    if seconds_left() < RESERVED_SECONDS:
        raise OutOfTime("Step Functions gave the histories too slowly.")


@functools.cache
def _from_environment() -> DayRecorder:
    """One per process, built from the variables that audit.yaml sets."""
    config = Config(
        connect_timeout=5,
        read_timeout=30,
        max_pool_connections=HISTORIES_IN_FLIGHT,
        retries={"mode": "standard", "total_max_attempts": 3},
    )
    return DayRecorder(
        stepfunctions=boto3.client("stepfunctions", config=config),
        s3=boto3.client("s3", config=config),
        state_machine=os.environ["STATE_MACHINE_ARN"],
        bucket=os.environ["RECORDS_BUCKET"],
        audit_bucket=os.environ["AUDIT_BUCKET"],
    )


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's entry point; `event` is `{"day": "2026-01-31"}`."""
    ends_at = time.monotonic() + context.get_remaining_time_in_millis() / 1000
    try:
        recorder, day = _from_environment(), date.fromisoformat(event["day"])
        prepared = recorder.prepared(day)
        recorded = recorder.record(day, lambda: ends_at - time.monotonic()) | prepared
    except Exception:
        logger.exception("The executions were not recorded", extra={"day": event.get("day")})
        raise
    logger.info("The executions were recorded", extra=recorded)
    return recorded
