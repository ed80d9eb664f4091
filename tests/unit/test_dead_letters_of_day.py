"""S3 is moto's; Step Functions' answers are stubbed: moto keeps every execution running."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

import dead_letters_of_day
from actonce_core.histories import reading
from dead_letters_of_day import (
    DeadLettersOfDay,
    OutOfTime,
    TooManyExecutions,
    UnreadableRecords,
)
from tests.support.histories import START, Kind, answered, history_of, posted, started

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DAY = date(2026, 1, 31)  # START is two seconds before its end
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
STATE_MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:process-message"
KEY = "dead_letters/dt=2026-01-31/collected.jsonl.gz"
WAITS = [started(), posted()]
FAILED: Kind = ("ExecutionFailed", {"error": "RejectedByOperator"})


def listed(
    name: str, *, start: datetime = NOON, stop: datetime | None = None, status: str = "RUNNING"
) -> dict[str, Any]:
    found = {
        "executionArn": f"{STATE_MACHINE.replace(':stateMachine:', ':execution:')}:{name}",
        "stateMachineArn": STATE_MACHINE,
        "name": name,
        "status": status,
        "startDate": start,
    }
    return found if stop is None else found | {"stopDate": stop}


@dataclass
class Night:
    """A look at the day, at what Step Functions is made to answer."""

    recorder: DeadLettersOfDay
    stepfunctions: Stubber
    s3: "S3Client"

    def lists(self, **executions: list[dict[str, Any]]) -> None:
        """What ListExecutions answers for each status, in the order in which it is asked."""
        for status in ("RUNNING", "FAILED", "TIMED_OUT", "ABORTED"):
            self.stepfunctions.add_response(
                "list_executions",
                {"executions": executions.get(status, [])},
                {"stateMachineArn": STATE_MACHINE, "maxResults": 1000, "statusFilter": status},
            )

    def tells(self, name: str, *kinds: Kind, start: datetime = START) -> None:
        """What GetExecutionHistory answers next."""
        self.stepfunctions.add_response(
            "get_execution_history",
            {"events": history_of(*kinds, start=start)},
            {
                "executionArn": listed(name)["executionArn"],
                "includeExecutionData": True,
                "maxResults": 1000,
            },
        )

    def record(self, seconds_left: float = 900) -> dict[str, Any]:
        with self.stepfunctions:
            recorded = self.recorder.record(DAY, lambda: seconds_left)
        self.stepfunctions.assert_no_pending_responses()
        return recorded

    def put(self, content: bytes) -> None:
        self.s3.put_object(Bucket="records", Key=KEY, Body=content)

    def lines(self) -> list[tuple[str, str, str | None]]:
        """Name, event and decision of each line of the day's file."""
        file = self.s3.get_object(Bucket="records", Key=KEY)["Body"].read()
        records = [json.loads(line) for line in gzip.decompress(file).splitlines()]
        return [(line["execution_name"], line["event"], line["decision"]) for line in records]

    def keys(self) -> list[str]:
        found = self.s3.list_objects_v2(Bucket="records").get("Contents", [])
        return [item["Key"] for item in found]


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    monkeypatch.setattr(reading, "HISTORIES_IN_FLIGHT", 1)  # so that answers come in their order
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="records")
        stepfunctions = boto3.client("stepfunctions")
        recorder = DeadLettersOfDay(stepfunctions, s3, STATE_MACHINE, "records", most=2)
        yield Night(recorder, Stubber(stepfunctions), s3)


def test_what_waits_and_what_was_rejected_is_recorded(night: Night) -> None:
    night.lists(
        RUNNING=[listed("waits")],
        FAILED=[listed("rejected", stop=NOON + timedelta(seconds=4), status="FAILED")],
    )
    night.tells("waits", *WAITS, start=NOON)
    night.tells("rejected", *WAITS, *answered("reject"), FAILED, start=NOON)

    assert night.record() == {"key": KEY, "executions": 2, "lines": 3}
    assert sorted(night.lines()) == [
        ("rejected", "decided", "reject"),
        ("rejected", "posted", None),
        ("waits", "posted", None),
    ]


def test_what_happened_at_midnight_is_the_next_days(night: Night) -> None:
    night.lists(FAILED=[listed("rejected", stop=NOON + timedelta(hours=13), status="FAILED")])
    midnight = datetime(2026, 2, 1, tzinfo=UTC)
    start = midnight - timedelta(seconds=3)
    night.tells("rejected", *WAITS, *answered("reject"), FAILED, start=start)

    night.record()

    assert night.lines() == [("rejected", "posted", None)]


def test_a_day_without_dead_letters_says_that_it_was_looked_at(night: Night) -> None:
    night.lists(RUNNING=[listed("at-work")])
    night.tells("at-work", started(), ("TaskStateEntered", {"name": "AwaitStraggler"}))

    assert night.record() == {"key": KEY, "executions": 1, "lines": 0}
    assert night.lines() == []


def test_one_that_fails_between_the_two_lists_is_looked_at_once(night: Night) -> None:
    night.lists(
        RUNNING=[listed("fails")], FAILED=[listed("fails", stop=datetime.now(UTC), status="FAILED")]
    )
    night.tells("fails", *WAITS)

    assert night.record() == {"key": KEY, "executions": 1, "lines": 1}


def test_a_line_stays_when_its_execution_is_not_looked_at_any_more(night: Night) -> None:
    night.lists(RUNNING=[listed("waits")])
    night.tells("waits", *WAITS)
    night.record()

    night.lists(TIMED_OUT=[listed("later", stop=datetime.now(UTC), status="TIMED_OUT")])
    night.tells("later", *WAITS)
    night.record()

    assert sorted(name for name, _, _ in night.lines()) == ["later", "waits"]
    night.lists()
    night.record()
    assert len(night.lines()) == 2
    assert night.keys() == [KEY]


def test_more_than_can_be_looked_at_leaves_no_file_that_is_not_whole(night: Night) -> None:
    night.stepfunctions.add_response(
        "list_executions", {"executions": [listed(name) for name in "abc"]}
    )

    with pytest.raises(TooManyExecutions, match="More than 2 executions"):
        night.record()
    assert night.keys() == []


@pytest.mark.parametrize("while_listing", [True, False])
def test_out_of_time_leaves_no_file_that_is_not_whole(night: Night, while_listing: bool) -> None:
    night.lists(RUNNING=[listed("waits")])
    night.tells("waits", *WAITS)
    left = [0.0] if while_listing else [900.0] * 4 + [dead_letters_of_day.RESERVED_SECONDS - 1]

    with night.stepfunctions, pytest.raises(OutOfTime):
        night.recorder.record(DAY, lambda: left.pop(0))
    assert night.keys() == []


def test_the_calls_in_flight_have_an_end_before_the_function_has() -> None:
    assert dead_letters_of_day.RETRY_FOR_SECONDS < dead_letters_of_day.RESERVED_SECONDS
    assert dead_letters_of_day.MOST_EXECUTIONS / 20 + dead_letters_of_day.RESERVED_SECONDS < 900


def test_a_file_that_cannot_be_read_stays_and_is_named(night: Night) -> None:
    night.put(b"no gzip")
    night.lists()

    with pytest.raises(UnreadableRecords, match=f"s3://records/{KEY}"):
        night.record()
    assert night.s3.get_object(Bucket="records", Key=KEY)["Body"].read() == b"no gzip"


def test_the_handler_records_the_day_that_it_is_given(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        def get_remaining_time_in_millis(self) -> int:
            return 900_000

    monkeypatch.setattr(dead_letters_of_day, "_from_environment", lambda: night.recorder)
    night.lists()

    with night.stepfunctions:
        answer = dead_letters_of_day.handler({"day": "2026-01-31"}, Context())

    assert answer == {"key": KEY, "executions": 0, "lines": 0}
    with pytest.raises(ValueError, match="isoformat"):
        dead_letters_of_day.handler({"day": "yesterday"}, Context())
