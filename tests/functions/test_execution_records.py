"""S3 is moto's; Step Functions' answers are stubbed: moto keeps every execution running."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

import execution_records
from actonce_core.histories import reading
from execution_records import DayRecorder, OutOfTime, TooManyExecutions, UnreadableRecords
from tests.support.histories import (
    START,
    STATE_MACHINE,
    Kind,
    answer_events,
    history_of,
    listed,
    posted,
    started,
)

DAY = date(2026, 1, 31)  # START is two seconds before its end
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
KEY = "dead_letters/dt=2026-01-31/collected.jsonl.gz"
EXECUTIONS = "executions/dt=2026-01-31/collected.jsonl.gz"
BOTH = [EXECUTIONS, KEY]
WAITS = [started(), posted()]
REJECTED = [*WAITS, *answer_events("reject"), ("ExecutionFailed", {"error": "RejectedByOperator"})]


class Night:
    """A look at the day, at what Step Functions is made to answer."""

    def __init__(self) -> None:
        self.s3 = boto3.client("s3")
        self.s3.create_bucket(Bucket="records")
        self.s3.create_bucket(Bucket="audit")
        client = boto3.client("stepfunctions")
        self.stepfunctions = Stubber(client)
        self.recorder = DayRecorder(client, self.s3, STATE_MACHINE, "records", "audit", most=2)

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
        arn = listed(name, NOON)["executionArn"]
        self.stepfunctions.add_response(
            "get_execution_history",
            {"events": history_of(*kinds, start=start)},
            {"executionArn": arn, "includeExecutionData": True, "maxResults": 1000},
        )

    def record(self) -> dict[str, Any]:
        with self.stepfunctions:
            recorded = self.recorder.record(DAY, lambda: 900)
        self.stepfunctions.assert_no_pending_responses()
        return recorded

    def lines(self, stream: str = "dead_letters") -> list[tuple[str, str, str | None]]:
        """Of each line of the day's files, sorted: name, event and decision; or name and status."""
        files = [self.content(key) for key in self.keys() if key.startswith(f"{stream}/")]
        records = [
            json.loads(line) for file in files for line in gzip.decompress(file).splitlines()
        ]
        assert {one["source"] for one in records} <= {STATE_MACHINE}
        if stream == "executions":
            return sorted((one["execution_name"], one["status"], one["error"]) for one in records)
        return sorted((one["execution_name"], one["event"], one["decision"]) for one in records)

    def content(self, key: str) -> bytes:
        content: bytes = self.s3.get_object(Bucket="records", Key=key)["Body"].read()
        return content

    def keys(self) -> list[str]:
        found = self.s3.list_objects_v2(Bucket="records").get("Contents", [])
        return [item["Key"] for item in found]


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    monkeypatch.setattr(reading, "HISTORIES_IN_FLIGHT", 1)  # so that answers come in their order
    with mock_aws():
        yield Night()


def test_what_waits_and_what_was_rejected_is_recorded(night: Night) -> None:
    later = NOON + timedelta(seconds=4)
    night.lists(RUNNING=[listed("waits", NOON)], FAILED=[listed("rejected", NOON, later)])
    night.tells("waits", *WAITS, start=NOON)
    night.tells("rejected", *REJECTED, start=NOON)

    expected = {"keys": BOTH, "executions": 2, "forgotten": 0, "lines": 6}
    assert night.record() == expected
    assert night.lines() == [
        ("rejected", "decided", "reject"),
        ("rejected", "posted", None),
        ("waits", "posted", None),
    ]
    assert night.lines("executions") == [
        ("rejected", "FAILED", "RejectedByOperator"),
        ("rejected", "RUNNING", None),
        ("waits", "RUNNING", None),
    ]


def test_what_runs_since_yesterday_is_recorded_today_too(night: Night) -> None:
    """EventBridge may have lost its start, and a slot after midnight asks for the new day."""
    night.lists(RUNNING=[listed("before", NOON), listed("yesterday", NOON)])
    night.tells("before", started(), start=MIDNIGHT - timedelta(days=2, milliseconds=1))
    night.tells("yesterday", started(), start=MIDNIGHT - timedelta(days=2))

    assert night.record()["lines"] == 1
    assert night.lines("executions") == [("yesterday", "RUNNING", None)]


def test_what_firehose_writes_beside_it_is_not_read(night: Night) -> None:
    night.s3.put_object(Bucket="records", Key="executions/dt=2026-01-31/a.gz", Body=b"no gzip")
    night.lists()
    assert night.record()["keys"] == BOTH


def test_what_happens_at_midnight_is_the_next_days_and_what_two_lists_have_is_read_once(
    night: Night,
) -> None:
    # It fails between the two lists.
    night.lists(RUNNING=[listed("fails", NOON)], FAILED=[listed("fails", NOON, MIDNIGHT)])
    night.tells("fails", *REJECTED, start=MIDNIGHT - timedelta(seconds=3))

    assert night.record()["executions"] == 1
    assert night.lines() == [("fails", "posted", None)]


def test_what_is_found_later_goes_into_a_further_file_and_no_file_is_written_again(
    night: Night,
) -> None:
    night.lists(RUNNING=[listed("waits", NOON)])
    night.tells("waits", *WAITS)
    night.record()
    first = night.content(KEY)
    night.lists(RUNNING=[listed("waits", NOON)], TIMED_OUT=[listed("later", NOON, MIDNIGHT)])
    night.tells("waits", *WAITS)
    night.tells("later", *WAITS)
    _, further = night.record()["keys"]
    assert further.startswith("dead_letters/dt=2026-01-31/collected-")
    keys = night.keys()
    assert (night.content(KEY), len(keys)) == (first, 4)

    for running in ([], [listed("waits", NOON)]):  # it succeeded; it waits as yet
        night.lists(RUNNING=running)
        if running:
            night.tells("waits", *WAITS)
        assert night.record()["keys"] == []
    assert [name for name, _, _ in night.lines()] == ["later", "waits"]
    assert night.keys() == keys


def test_more_than_can_be_looked_at_leaves_no_file_that_is_not_whole(night: Night) -> None:
    three = [listed(name, NOON) for name in "abc"]
    night.stepfunctions.add_response("list_executions", {"executions": three})

    with pytest.raises(TooManyExecutions, match="More than 2 executions"):
        night.record()
    assert night.keys() == []


@pytest.mark.parametrize(
    "left", [[0.0], [900.0] * 4 + [execution_records.RESERVED_SECONDS - 1]], ids=["list", "tell"]
)
def test_out_of_time_leaves_no_file_that_is_not_whole(night: Night, left: list[float]) -> None:
    night.lists(RUNNING=[listed("waits", NOON)])
    night.tells("waits", *WAITS)

    with night.stepfunctions, pytest.raises(OutOfTime):
        night.recorder.record(DAY, iter(left).__next__)
    assert night.keys() == []


def test_the_calls_in_flight_have_an_end_before_the_function_has() -> None:
    assert execution_records.RETRY_FOR_SECONDS < execution_records.RESERVED_SECONDS
    assert execution_records.MOST_EXECUTIONS / 20 + execution_records.RESERVED_SECONDS < 900


def test_a_file_that_cannot_be_read_stays_and_is_named(night: Night) -> None:
    night.s3.put_object(Bucket="records", Key=KEY, Body=b"no gzip")
    night.lists()

    with pytest.raises(UnreadableRecords, match=f"s3://records/{KEY}"):
        night.record()
    assert night.s3.get_object(Bucket="records", Key=KEY)["Body"].read() == b"no gzip"


def handle(night: Night, event: dict[str, str]) -> dict[str, Any]:
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000)
    with pytest.MonkeyPatch.context() as patch, night.stepfunctions:
        patch.setattr(execution_records, "_from_environment", lambda: night.recorder)
        return execution_records.handler(event, context)


def test_the_handler_records_the_day_that_it_is_given(night: Night) -> None:
    night.lists()
    expected = {"keys": BOTH, "executions": 0, "forgotten": 0, "lines": 0}
    expected |= {"code": False, "collected": False, "since": ""}
    assert handle(night, {"day": "2026-01-31"}) == expected
    assert night.lines() == []  # a day without dead letters still has a file
    with pytest.raises(ValueError, match="isoformat"):
        handle(night, {"day": "yesterday"})


EXPORT = "until-{}/AWSDynamoDB/0169-1/{}"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], (False, "")),
        (["collected.jsonl.gz"], (True, "")),
        (["0000_part_00.parquet", "more/collected.jsonl.gz"], (False, "")),
        ([EXPORT.format("13-55", "_started")], (False, "")),
        ([EXPORT.format(end, "manifest-summary.json") for end in ("09-10", "13-55")],
         (False, "13-55")),
        # One that has only begun, or failed, is passed over.
        ([EXPORT.format("09-10", "manifest-summary.json"), EXPORT.format("13-55", "_started")],
         (False, "09-10")),
    ],
)  # fmt: skip
def test_what_was_exported_is_told(
    night: Night, names: list[str], expected: tuple[bool, str]
) -> None:
    for name in names:
        night.s3.put_object(Bucket="records", Key=f"effects/dt={DAY}/{name}", Body=b"")
    found = night.recorder.prepared(DAY)
    assert (found["collected"], found["since"]) == expected


def test_the_code_is_there_when_all_of_it_is(night: Night) -> None:
    expected = []
    for name in ("README", "pipeline.zip", "audit.py"):
        night.s3.put_object(Bucket="audit", Key=f"code/{name}", Body=b"")
        expected.append(night.recorder.prepared(DAY)["code"])
    assert expected == [False, False, True]
