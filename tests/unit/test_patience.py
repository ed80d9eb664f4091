"""Calls that fail like weather are made again while there is time, and never past it."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.patience import (
    ANSWER_SECONDS,
    CALL_SECONDS,
    LONGEST_WAIT,
    Invocation,
    OutOfTime,
    Patience,
    is_weather,
)

THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "StartExecution")


def answered(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "StartExecution")


class Clock:
    """A process's clock, which only sleeping and calls move."""

    def __init__(self, seconds: float | None) -> None:
        self.now = 0.0
        self.invocation = Invocation(lambda: self.now)
        self.invocation.ends_in(seconds)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, chance: Callable[[], float] = lambda: 1.0) -> Patience:
        return Patience(self.invocation.seconds_left, self.sleep, chance)


def failing(clock: Clock, errors: list[Exception], takes: float = 0.0) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        clock.now += takes
        if left:
            raise left.pop(0)
        return "done"

    return call


def test_a_call_that_succeeds_is_made_once_and_waits_for_nothing() -> None:
    clock = Clock(30)
    assert clock.patience()(failing(clock, [])) == "done"
    assert clock.slept == []


def test_a_throttled_call_is_made_again_with_waits_that_grow_to_a_bound() -> None:
    clock = Clock(60)
    assert clock.patience()(failing(clock, [THROTTLED] * 8)) == "done"
    assert clock.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 4.0, 4.0, 4.0]


def test_the_jitter_is_full() -> None:
    clock = Clock(60)
    shares = iter([0.0, 0.25, 1.0])
    clock.patience(lambda: next(shares))(failing(clock, [THROTTLED] * 3))
    assert clock.slept == [0.0, 0.1, 0.8]


@given(
    seconds=st.floats(0, 120),
    takes=st.floats(0.2, CALL_SECONDS),
    chances=st.lists(st.floats(0, 1), min_size=1, max_size=50),
)
def test_no_call_outlasts_the_invocation(
    seconds: float, takes: float, chances: list[float]
) -> None:
    clock = Clock(seconds)
    calls: list[float] = []

    def call() -> None:
        calls.append(clock.now)
        clock.now += takes
        raise THROTTLED

    numbers = iter(range(10**9))
    patience = clock.patience(lambda: chances[next(numbers) % len(chances)])
    with pytest.raises((ClientError, OutOfTime)):
        patience(call)
    assert all(begun + CALL_SECONDS + ANSWER_SECONDS <= seconds for begun in calls)
    assert clock.now <= max(seconds, 0)
    is_long = seconds >= CALL_SECONDS + ANSWER_SECONDS
    assert bool(calls) is is_long
    if is_long:  # nor is it given up early: only the next wait did not fit any more
        assert clock.now >= seconds - LONGEST_WAIT - 2 * CALL_SECONDS - ANSWER_SECONDS


def test_without_time_a_call_is_not_begun() -> None:
    clock = Clock(CALL_SECONDS + ANSWER_SECONDS - 0.1)
    with pytest.raises(OutOfTime):
        clock.patience()(failing(clock, []))


def test_where_nobody_says_how_long_there_is_a_call_is_made_once() -> None:
    clock = Clock(None)
    with pytest.raises(ClientError):
        clock.patience()(failing(clock, [THROTTLED]))
    assert clock.slept == []


def test_what_will_not_pass_is_raised_at_once() -> None:
    clock = Clock(30)
    with pytest.raises(ClientError, match="AccessDenied"):
        clock.patience()(failing(clock, [answered("AccessDeniedException")]))
    assert clock.slept == []


@pytest.mark.parametrize(
    "error",
    [
        THROTTLED,
        answered("ProvisionedThroughputExceededException"),
        answered("KMS.ThrottlingException"),
        answered("AWS.SimpleQueueService.RequestThrottled"),
        answered("Whatever", 500),
        answered("ServiceUnavailable", 503),
        answered("Whatever", 429),
        ReadTimeoutError(endpoint_url="https://aws"),
        ConnectTimeoutError(endpoint_url="https://aws"),
        EndpointConnectionError(endpoint_url="https://aws"),
    ],
)
def test_weather_is_known(error: Exception) -> None:
    assert is_weather(error)


@pytest.mark.parametrize(
    "error",
    [
        answered("AccessDeniedException"),
        answered("ValidationException"),
        answered("ConditionalCheckFailedException"),
        answered("StateMachineDoesNotExist"),
        answered("AWS.SimpleQueueService.NonExistentQueue"),
        ParamValidationError(report="no"),
        ValueError("a bug"),
    ],
)
def test_what_is_no_weather_is_known_too(error: Exception) -> None:
    assert not is_weather(error)


def test_an_invocation_lasts_as_long_as_lambda_says() -> None:
    class Context:
        def get_remaining_time_in_millis(self) -> int:
            return 30_000

    clock = Clock(None)
    assert clock.invocation.seconds_left() is None
    clock.invocation.begin(Context())
    clock.now += 12
    assert clock.invocation.seconds_left() == 18
    clock.invocation.begin(None)
    assert clock.invocation.seconds_left() is None
