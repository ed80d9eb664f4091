"""What failed comes back soon, the sooner the fewer times it was received."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.coming_back import LONGEST_SECONDS, RequestsQueue, seconds_until_back

MAX_RECEIVE_COUNT, MAX_RECEIVE_COUNT_OF_A_WORKER = 1000, 150
chances = st.floats(0, 1)


@given(st.integers(1, 2000), chances, chances)
def test_never_sooner_than_after_fewer_receives(receives: int, one: float, other: float) -> None:
    sooner = seconds_until_back(ValueError(), receives, one)
    later = seconds_until_back(ValueError(), receives + 1, other)
    assert 2 <= sooner <= LONGEST_SECONDS
    assert sooner <= later or receives >= 9  # from there on both are the longest


@given(chances)
def test_the_first_time_after_seconds_and_the_tenth_after_minutes(chance: float) -> None:
    assert 2 <= seconds_until_back(ValueError(), 1, chance) <= 4
    assert 450 <= seconds_until_back(ValueError(), 10, chance) <= 900


def test_what_failed_together_does_not_come_back_together() -> None:
    assert len({seconds_until_back(ValueError(), 5, n / 10) for n in range(10)}) == 10


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_no_outage_of_twelve_hours_receives_a_message_away(chance: float) -> None:
    hours, receives = 0.0, 0
    while hours < 12:
        receives += 1
        hours += seconds_until_back(ValueError(), receives, chance) / 3600
    assert receives <= MAX_RECEIVE_COUNT_OF_A_WORKER < MAX_RECEIVE_COUNT


@pytest.mark.parametrize(("asked", "given_"), [(7.5, 7.5), (0, 0), (-3, 0), (10**6, 42_300)])
def test_an_error_s_own_word_counts(asked: float, given_: float) -> None:
    error: Any = ValueError()
    error.comes_back_after = asked
    assert seconds_until_back(error, 500, 1.0) == given_


def _sqs() -> Any:
    return boto3.client("sqs")


def test_all_come_back_by_one_call() -> None:
    sqs = _sqs()
    with Stubber(sqs) as stub:
        stub.add_response(
            "change_message_visibility_batch",
            {"Successful": [], "Failed": []},
            {
                "QueueUrl": "https://queue",
                "Entries": [
                    {"Id": "0", "ReceiptHandle": "a", "VisibilityTimeout": 3},
                    {"Id": "1", "ReceiptHandle": "b", "VisibilityTimeout": 0},
                ],
            },
        )
        RequestsQueue(sqs, "https://queue").show_again({"a": 2.1, "b": 0})
        stub.assert_no_pending_responses()


def test_that_they_cannot_be_called_back_harms_nobody() -> None:
    sqs = _sqs()
    with Stubber(sqs) as stub:
        stub.add_client_error("change_message_visibility_batch", "ReceiptHandleIsInvalid")
        RequestsQueue(sqs, "https://queue").show_again({"a": 2.1})

    def no_way(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://sqs")

    sqs.meta.events.register("before-call.sqs.ChangeMessageVisibilityBatch", no_way)
    RequestsQueue(sqs, "https://queue").show_again({"a": 2.1})
