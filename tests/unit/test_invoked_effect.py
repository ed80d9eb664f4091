"""A team's function behind a lock: only a clear word of it, or of Lambda, is believed."""

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from actonce_core.effect import NotPerformed, OutcomeUnknown, Rejected, answer
from actonce_core.invoked_effect import InvokedEffect, client_config

EFFECT = "arn:aws:lambda:us-east-1:123456789012:function:gift-cards"
FINDS = "arn:aws:lambda:us-east-1:123456789012:function:find-gift-cards"
REQUEST = {"message_id": "g-1", "body": {"amount": 12345678901234567890}}
PERFORM = {"operation": "perform", "message": REQUEST}
FIND = {"operation": "find", "message": {"message_id": "g-1"}}


@pytest.fixture
def stubber() -> Iterator[Stubber]:
    with Stubber(boto3.client("lambda", config=client_config(15))) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def effect_of(stubber: Stubber, find_function: str = FINDS) -> InvokedEffect:
    client: Any = stubber.client
    return InvokedEffect(client, EFFECT, find_function)


def answers(stubber: Stubber, event: dict[str, Any], payload: Any, *, fails: bool = False) -> None:
    """What the function of an event answers when it is asked exactly that."""
    body = b"" if payload is None else json.dumps(payload).encode()
    response = {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body))}
    response |= {"FunctionError": "Unhandled"} if fails else {}
    asked = {
        "FunctionName": EFFECT if event is PERFORM else FINDS,
        "Payload": json.dumps(event),
    }
    stubber.add_response("invoke", response, asked)


def test_it_performs_through_the_contract_and_no_number_changes(stubber: Stubber) -> None:
    told = {"performed": True, "effect": {"order": "o-7"}}
    answers(stubber, PERFORM, told)
    assert answer(effect_of(stubber), PERFORM) == told


@pytest.mark.parametrize(
    ("payload", "fails", "raised"),
    [
        ({"errorType": "NotPerformed", "errorMessage": "busy"}, True, NotPerformed),
        ({"errorType": "Rejected", "errorMessage": "no"}, True, Rejected),
        ({"errorType": "my.NotPerformed", "errorMessage": "busy"}, True, OutcomeUnknown),
        ({"errorType": "Sandbox.Timedout", "errorMessage": "late"}, True, OutcomeUnknown),
        (None, True, OutcomeUnknown),
        ({"performed": "true"}, False, OutcomeUnknown),
        ({"performed": False}, False, OutcomeUnknown),
        (["performed"], False, OutcomeUnknown),
        (None, False, OutcomeUnknown),
    ],
)
def test_only_a_clear_word_is_believed(
    stubber: Stubber, payload: Any, fails: bool, raised: type[Exception]
) -> None:
    answers(stubber, PERFORM, payload, fails=fails)
    with pytest.raises(raised) as caught:
        answer(effect_of(stubber), PERFORM)
    assert caught.type is raised


@pytest.mark.parametrize(
    ("code", "raised"),
    [("TooManyRequestsException", NotPerformed), ("ServiceException", ClientError)],
)
def test_throttled_by_lambda_it_did_not_run_and_of_its_other_errors_nobody_knows(
    stubber: Stubber, code: str, raised: type[Exception]
) -> None:
    stubber.add_client_error("invoke", code)
    with pytest.raises(raised):
        effect_of(stubber).perform(REQUEST)


def test_a_lost_answer_is_unknown_and_asked_for_once() -> None:
    config: Any = client_config(15)
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}
    assert config.read_timeout > 15
    calls: list[Any] = []

    class Lost:
        def invoke(self, **asked: Any) -> Any:
            calls.append(asked)
            raise ReadTimeoutError(endpoint_url="https://lambda")

    lost: Any = Lost()
    with pytest.raises(OutcomeUnknown):
        answer(InvokedEffect(lost, EFFECT, FINDS), PERFORM)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"performed": True, "effect": {"order": "o-7"}}, {"order": "o-7"}),
        ({"performed": True}, {"effect": None}),
        ({"performed": False, "effect": None}, None),
        *((unclear, RuntimeError) for unclear in ({}, {"performed": None}, {"performed": 0}, None)),
    ],
)
def test_it_finds_by_the_function_that_was_named_for_it_and_no_clear_answer_is_not_nothing(
    stubber: Stubber, payload: Any, found: Any
) -> None:
    answers(stubber, FIND, payload)
    if found is RuntimeError:
        with pytest.raises(RuntimeError):
            effect_of(stubber).find("g-1")
    else:
        assert effect_of(stubber).find("g-1") == found


def test_without_a_function_to_find_nothing_is_invoked(stubber: Stubber) -> None:
    with pytest.raises(LookupError):
        effect_of(stubber, "").find("g-1")
