"""What is asked of the benchmarks, and what a function's calls meet in one."""

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session

from actonce.demo.outcome import SentMessage, judge
from actonce.demo.records import Records
from actonce.demo.run import Result
from actonce.demo.second_count import SecondCount
from actonce.embedded.injected.failing_services import FAILED_CALLS, answered, failing, write_rules
from actonce.stack.embedded_folder import Paths
from lab.bench.soak import FAILURES, Trouble, report

RECORDS = Records([], {"m": "SUCCEEDED"}, set(), {"m": 1}, set(), set())
GOOD = judge([SentMessage("s", "m", "m")], RECORDS, 1.0)


@pytest.mark.parametrize(
    ("differences", "kills", "had", "good"),
    [
        ([], 2, "throttled", True),
        (["lost: 0 counted, 2 in the audit"], 2, "throttled", False),
        (None, 2, "throttled", False),  # not audited
        ([], 1, "throttled", False),
        ([], 2, "find-down", False),
    ],
)
def test_a_soak_is_good_only_if_everything_was_met_and_counted_twice(
    differences: list[str] | None, kills: int, had: str, good: bool
) -> None:
    trouble = Trouble(Paths(Path("nowhere")), 10, 2, ["throttled"], 1.0)
    trouble.killed = [3] * kills
    trouble.had = {had}
    second = None if differences is None else SecondCount(Path("page"), differences)

    assert report(Result(GOOD, Counter(), second), trouble)["good"] is good


# ------------------------------------------------------------------ what a function's call meets

PUT = {
    "TableName": "t",
    "Item": {"message_id": {"S": "m"}, "appointment_id": {"S": "appointment-1"}},
}
ROW = {"TableName": "t", "Item": {"message_id": {"S": "m"}}}
SLOT = {"TableName": "t", "Key": {"message_id": {"S": "#book"}, "appointment_id": {"S": "book-m"}}}
START = {"stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:m"}


@pytest.fixture
def reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that came to AWS, through what stands before it."""
    reached: list[Any] = []

    def send(_session: object, request: Any) -> Any:
        reached.append(request)
        return answered(request, {"executionArn": "a", "startDate": 0})

    monkeypatch.setattr(URLLib3Session, "send", failing(send))
    monkeypatch.setenv("FAULTS_DIR", str(tmp_path))
    return reached


def call(service: Any, operation: str, **request: Any) -> Any:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=0.01)
    session = boto3.Session("x", "x", region_name="us-east-1")
    client: Any = session.client(service, config=config)
    return getattr(client, operation)(**request)


@pytest.mark.parametrize(
    ("failure", "service", "operation", "request_", "code"),
    [
        ("provider-down", "dynamodb", "update_item", SLOT, "ConditionalCheckFailedException"),
        ("provider-down", "dynamodb", "put_item", PUT, None),
        ("dynamodb-down", "dynamodb", "put_item", ROW, "InternalServerError"),
        ("dynamodb-down", "stepfunctions", "start_execution", START, None),
        ("step-functions-down", "stepfunctions", "start_execution", START, "ServiceUnavailable"),
        ("find-down", "dynamodb", "query", {"TableName": "t"}, "ResourceNotFoundException"),
        ("find-down", "dynamodb", "put_item", ROW, None),
    ],
)
def test_a_call_is_answered_as_its_service_answers(
    failure: str,
    service: str,
    operation: str,
    request_: dict[str, Any],
    code: str | None,
    reached: list[Any],
    tmp_path: Path,
) -> None:
    write_rules(tmp_path, FAILURES[failure])
    if code is not None:
        with pytest.raises(ClientError, match=code):
            call(service, operation, **request_)
        write_rules(tmp_path, ())
        assert reached == []
    call(service, operation, **request_)
    assert len(reached) == 1
    assert (tmp_path / FAILED_CALLS).exists() is (code is not None)


def test_an_answer_is_lost_of_what_was_done_and_a_silent_service_does_nothing(
    reached: list[Any], tmp_path: Path
) -> None:
    write_rules(tmp_path, FAILURES["find-down"])
    with pytest.raises(ConnectionClosedError):
        call("dynamodb", "put_item", **PUT)
    assert len(reached) == 1
    write_rules(tmp_path, FAILURES["step-functions-silent"])
    with pytest.raises(ReadTimeoutError):
        call("stepfunctions", "start_execution", **START)
    assert len(reached) == 1


def test_a_full_bucket_lets_a_burst_pass_and_then_what_it_is_refilled_with(
    reached: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    write_rules(tmp_path, FAILURES["throttled"])

    def passed(times: int) -> int:
        before = len(reached)
        for _ in range(times):
            with contextlib.suppress(ClientError):
                call("stepfunctions", "start_execution", **START)
        return len(reached) - before

    assert passed(27) == 25
    now[0] += 1
    assert passed(7) == 6
    assert json.loads((tmp_path / "bucket-0").read_text())[0] == 0
