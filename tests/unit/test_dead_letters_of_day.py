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

import dead_letters_of_day
from actonce_core.histories import reading
from dead_letters_of_day import DeadLettersOfDay, OutOfTime, TooManyExecutions, UnreadableRecords
from tests.support.histories import (
    START,
    STATE_MACHINE,
    Kind,
    answered,
    history_of,
    listed,
    posted,
    started,
)

DAY = date(2026, 1, 31)  # START is two seconds before its end
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
KEY = "dead_letters/dt=2026-01-31/collected.jsonl.gz"
WAITS = [started(), posted()]
REJECTED = [*WAITS, *answered("reject"), ("ExecutionFailed", {"error": "RejectedByOperator"})]


class Night:
    """A look at the day, at what Step Functions is made to answer."""

    def __init__(self) -> None:
        self.s3 = boto3.client("s3")
        self.s3.create_bucket(Bucket="records")
        client = boto3.client("stepfunctions")
        self.stepfunctions = Stubber(client)
        self.recorder = DeadLettersOfDay(client, self.s3, STATE_MACHINE, "records", most=2)

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

    def record(self, *, key: str | None = KEY) -> dict[str, Any]:
        with self.stepfunctions:
            recorded = self.recorder.record(DAY, lambda: 900)
        self.stepfunctions.assert_no_pending_responses()
        if key is None or key == KEY:
            assert recorded.pop("key") == key
        return recorded

    def lines(self) -> list[tuple[str, str, str | None]]:
        """Name, event and decision of each line of the day's files, sorted."""
        files = map(self.content, self.keys())
        records = [
            json.loads(line) for file in files for line in gzip.decompress(file).splitlines()
        ]
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

    assert night.record() == {"executions": 2, "lines": 3}
    assert night.lines() == [
        ("rejected", "decided", "reject"),
        ("rejected", "posted", None),
        ("waits", "posted", None),
    ]


def test_what_happens_at_midnight_is_the_next_days_and_what_two_lists_have_is_read_once(
    night: Night,
) -> None:
    # It fails between the two lists.
    night.lists(RUNNING=[listed("fails", NOON)], FAILED=[listed("fails", NOON, MIDNIGHT)])
    night.tells("fails", *REJECTED, start=MIDNIGHT - timedelta(seconds=3))

    assert night.record() == {"executions": 1, "lines": 1}
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
    further = night.record(key="a further one")["key"]
    assert (night.keys(), night.content(KEY)) == ([further, KEY], first)
    assert further.startswith("dead_letters/dt=2026-01-31/")

    for running in ([], [listed("waits", NOON)]):  # it succeeded; it waits as yet
        night.lists(RUNNING=running)
        if running:
            night.tells("waits", *WAITS)
        night.record(key=None)
    assert [name for name, _, _ in night.lines()] == ["later", "waits"]
    assert night.keys() == [further, KEY]


def test_more_than_can_be_looked_at_leaves_no_file_that_is_not_whole(night: Night) -> None:
    three = [listed(name, NOON) for name in "abc"]
    night.stepfunctions.add_response("list_executions", {"executions": three})

    with pytest.raises(TooManyExecutions, match="More than 2 executions"):
        night.record()
    assert night.keys() == []


@pytest.mark.parametrize(
    "left", [[0.0], [900.0] * 4 + [dead_letters_of_day.RESERVED_SECONDS - 1]], ids=["list", "tell"]
)
def test_out_of_time_leaves_no_file_that_is_not_whole(night: Night, left: list[float]) -> None:
    night.lists(RUNNING=[listed("waits", NOON)])
    night.tells("waits", *WAITS)

    with night.stepfunctions, pytest.raises(OutOfTime):
        night.recorder.record(DAY, iter(left).__next__)
    assert night.keys() == []


def test_the_calls_in_flight_have_an_end_before_the_function_has() -> None:
    assert dead_letters_of_day.RETRY_FOR_SECONDS < dead_letters_of_day.RESERVED_SECONDS
    assert dead_letters_of_day.MOST_EXECUTIONS / 20 + dead_letters_of_day.RESERVED_SECONDS < 900


def test_a_file_that_cannot_be_read_stays_and_is_named(night: Night) -> None:
    night.s3.put_object(Bucket="records", Key=KEY, Body=b"no gzip")
    night.lists()

    with pytest.raises(UnreadableRecords, match=f"s3://records/{KEY}"):
        night.record()
    assert night.s3.get_object(Bucket="records", Key=KEY)["Body"].read() == b"no gzip"


def handle(night: Night, event: dict[str, str]) -> dict[str, Any]:
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000)
    with pytest.MonkeyPatch.context() as patch, night.stepfunctions:
        patch.setattr(dead_letters_of_day, "_from_environment", lambda: night.recorder)
        return dead_letters_of_day.handler(event, context)


def test_the_handler_records_the_day_that_it_is_given(night: Night) -> None:
    night.lists()
    assert handle(night, {"day": "2026-01-31"}) == {"key": KEY, "executions": 0, "lines": 0}
    assert night.lines() == []  # a day without dead letters still has a file
    with pytest.raises(ValueError, match="isoformat"):
        handle(night, {"day": "yesterday"})


def test_a_slot_s_file_says_up_to_when_it_is_complete(night: Night) -> None:
    night.lists(RUNNING=[listed("waits", NOON)])
    night.tells("waits", *WAITS, start=NOON)
    until = "2026-01-31T13:00:00.000Z"

    assert handle(night, {"day": "2026-01-31", "until": until})["lines"] == 1

    lines = [json.loads(line) for line in gzip.decompress(night.content(KEY)).splitlines()]
    beat = {"stream": "dead_letters", "version": 1, "at": until, "event": "heartbeat"}
    assert beat | {"source": STATE_MACHINE} in lines
    assert len(lines) == 2
