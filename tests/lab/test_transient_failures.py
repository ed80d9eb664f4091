"""The failure: token buckets, what calls meet, and how a run in it is counted."""

import json
from typing import Any

import pytest

from appointments import book_key
from lab.faults.figures import state_transitions
from lab.faults.kinds import MEASURED
from lab.faults.proxy import Answered, Forwarded, Request, Unanswered
from lab.faults.stack import Meeting, as_answer, meet
from lab.faults.transient import (
    DYNAMODB,
    PROVIDER,
    SQS,
    STEP_FUNCTIONS,
    Fate,
    Injector,
    Quota,
    TokenBucket,
    TransientFailure,
)

PASSES, THROTTLED, FAILS = Fate.PASSES, Fate.THROTTLED, Fate.FAILS


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def injector(clock: Clock) -> Injector:
    return Injector(clock)


def test_a_full_bucket_lets_a_burst_pass_and_then_what_it_is_refilled_with() -> None:
    bucket = TokenBucket(Quota(25, 6), 0.0)
    assert [bucket.take(0.0) for _ in range(26)] == [True] * 25 + [False]
    assert not bucket.take(0.16)
    assert bucket.take(0.17)
    passed = sum(bucket.take(0.17 + n / 100) for n in range(1000))
    assert passed in {59, 60}


def test_a_call_over_its_quota_is_throttled_and_others_are_not(
    injector: Injector, clock: Clock
) -> None:
    injector.change(MEASURED["throttled"])
    fates = [injector.meets(STEP_FUNCTIONS, "StartExecution") for _ in range(26)]
    assert fates == [PASSES] * 25 + [THROTTLED]
    assert injector.meets(DYNAMODB, "PutItem") is PASSES
    assert injector.counts["StartExecution", THROTTLED] == 1
    assert injector.failures == {"throttled": 1}
    clock.now += 10
    assert injector.meets(STEP_FUNCTIONS, "StartExecution") is PASSES
    assert injector.share_of_quota({"StartExecution": 26}) == pytest.approx(26 / 85)
    assert injector.over_at({"StartExecution": 85}) == pytest.approx(1010)
    assert injector.over_at({"StartExecution": 20}) == 1000


@pytest.mark.parametrize("silent", [False, True])
def test_what_is_down_is_down_until_its_time_is_over(
    injector: Injector, clock: Clock, silent: bool
) -> None:
    down = TransientFailure("x", "x", down=frozenset({DYNAMODB}), down_seconds=90, is_silent=silent)
    injector.change(down)
    expected = Fate.UNANSWERED if silent else FAILS
    assert injector.meets(DYNAMODB, "PutItem") is expected
    assert injector.meets(STEP_FUNCTIONS, "StartExecution") is PASSES
    clock.now += 89.9
    assert injector.meets(DYNAMODB, "UpdateItem") is expected
    clock.now += 0.2
    assert injector.meets(DYNAMODB, "PutItem") is PASSES
    assert injector.over_at({}) == pytest.approx(1090)
    assert injector.share_of_quota({}) is None


# ------------------------------------------------------------------ what a function's call meets

PUT = {"TableName": "t", "Item": {"message_id": {"S": "m"}, "appointment_id": {"S": "1"}}}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "slot": ("UpdateItem", {"TableName": "t", "Key": book_key("main")}),
    "find": ("Query", {"TableName": "t", "ExpressionAttributeValues": {":message_id": {"S": "m"}}}),
    "put": ("PutItem", PUT),
    "fenced": ("TransactWriteItems", {"TransactItems": [{"ConditionCheck": {}}, {"Put": PUT}]}),
    "row": ("PutItem", {"TableName": "fingerprints", "Item": {"message_id": {"S": "m"}}}),
}


def _met(injector: Injector, name: str) -> Meeting:
    call, asked = CALLS[name]
    target = f"DynamoDB_20120810.{call}"
    return meet(injector, Request("/", target, json.dumps(asked).encode()), "t")


def _code(met: Meeting) -> str:
    assert isinstance(met, Answered)
    code: str = json.loads(met.body)["__type"]
    return code.rpartition("#")[2]


@pytest.mark.parametrize(
    "failure",
    [
        TransientFailure("x", "x", down=frozenset({PROVIDER}), down_seconds=3600),
        TransientFailure("x", "x", quotas={PROVIDER: Quota(0.5, 0.001)}),
    ],
)
def test_a_provider_that_is_down_or_takes_no_more_is_a_book_that_is_closed(
    injector: Injector, failure: TransientFailure
) -> None:
    assert _met(injector, "slot") == Forwarded()
    injector.change(failure)

    assert _code(_met(injector, "slot")) == "ConditionalCheckFailedException"
    assert {name: _met(injector, name) for name in CALLS if name != "slot"} == dict.fromkeys(
        ("find", "put", "fenced", "row"), Forwarded()
    )
    assert injector.refused == 1
    injector.change(MEASURED["dynamodb-down"])
    assert {_code(_met(injector, name)) for name in CALLS} == {"InternalServerError"}


@pytest.mark.parametrize("write", ["put", "fenced"])
def test_the_answer_of_the_first_effect_of_a_message_is_lost_and_find_fails(
    injector: Injector, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    injector.change(MEASURED["find-down"])

    lost = Forwarded(is_lost=True)
    assert [_met(injector, write), _met(injector, write)] == [lost, lost], "the SDK asks again"
    assert _met(injector, "row") == _met(injector, "slot") == Forwarded()
    assert _code(_met(injector, "find")) == "ResourceNotFoundException"
    monkeypatch.setitem(PUT["Item"], "appointment_id", {"S": "2"})  # type: ignore[arg-type]
    assert _met(injector, write) == Forwarded()


@pytest.mark.parametrize(
    ("service", "fate", "status", "code"),
    [
        (STEP_FUNCTIONS, THROTTLED, 400, "ThrottlingException"),
        (DYNAMODB, THROTTLED, 400, "ProvisionedThroughputExceededException"),
        (SQS, THROTTLED, 400, "RequestThrottled"),
        (DYNAMODB, FAILS, 500, "InternalServerError"),
        (STEP_FUNCTIONS, FAILS, 503, "ServiceUnavailable"),
    ],
)
def test_a_call_is_answered_as_its_service_answers(
    service: str, fate: Fate, status: int, code: str
) -> None:
    answer = as_answer(service, fate)
    assert isinstance(answer, Answered)
    assert (answer.status, _code(answer)) == (status, code)
    assert isinstance(as_answer(service, Fate.UNANSWERED), Unanswered)


# ------------------------------------------------------------------ counting


def test_each_state_and_each_repeat_of_a_task_is_a_transition() -> None:
    happy = ["ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted"]
    happy += ["TaskSucceeded", "TaskStateExited", "ExecutionSucceeded"]
    assert state_transitions(happy) == 2
    assert state_transitions(["TaskStateEntered", *["TaskScheduled", "TaskFailed"] * 3]) == 4
    assert state_transitions(["TaskStateEntered", "WaitStateEntered", "ChoiceStateEntered"]) == 4
