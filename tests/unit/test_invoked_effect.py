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
FIND = "arn:aws:lambda:us-east-1:123456789012:function:find-gift-cards"
REQUEST = {"message_id": "g-1", "body": {"amount": 12345678901234567890}}
PERFORM = {"operation": "perform", "message": REQUEST}


@pytest.fixture
def stubber() -> Iterator[Stubber]:
    client = boto3.client(
        "lambda",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=client_config(15),
    )
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def answers(
    stubber: Stubber, function: str, event: dict[str, Any], payload: Any, *, fails: bool = False
) -> None:
    body = b"" if payload is None else json.dumps(payload).encode()
    response = {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body))}
    if fails:
        response["FunctionError"] = "Unhandled"
    stubber.add_response(
        "invoke", response, {"FunctionName": function, "Payload": json.dumps(event)}
    )


def effect_of(stubber: Stubber, find_function: str = FIND) -> InvokedEffect:
    client: Any = stubber.client
    return InvokedEffect(client, EFFECT, find_function)


ASKED = {"operation": "perform", "message": REQUEST}


def test_it_performs_through_the_contract_and_no_number_changes(stubber: Stubber) -> None:
    answers(stubber, EFFECT, ASKED, {"performed": True, "effect": {"order": "o-7"}})
    assert answer(effect_of(stubber), PERFORM) == {"performed": True, "effect": {"order": "o-7"}}


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
    answers(stubber, EFFECT, ASKED, payload, fails=fails)
    with pytest.raises(raised) as caught:
        answer(effect_of(stubber), PERFORM)
    assert caught.type is raised


def test_throttled_by_lambda_it_did_not_run(stubber: Stubber) -> None:
    stubber.add_client_error("invoke", "TooManyRequestsException", http_status_code=429)
    with pytest.raises(NotPerformed):
        effect_of(stubber).perform(REQUEST)


def test_what_lambda_failed_at_is_unknown(stubber: Stubber) -> None:
    stubber.add_client_error("invoke", "ServiceException", http_status_code=500)
    with pytest.raises(ClientError):
        effect_of(stubber).perform(REQUEST)


def test_a_lost_answer_is_unknown_and_asked_for_once() -> None:
    config: Any = client_config(15)
    assert config.retries == {"mode": "standard", "total_max_attempts": 1}
    assert config.read_timeout > 15

    class Lost:
        calls = 0

        def invoke(self, **_: Any) -> Any:
            self.calls += 1
            raise ReadTimeoutError(endpoint_url="https://lambda")

    lost: Any = Lost()
    with pytest.raises(OutcomeUnknown):
        answer(InvokedEffect(lost, EFFECT, FIND), PERFORM)
    assert lost.calls == 1


LOOK = {"operation": "find", "message": {"message_id": "g-1"}}


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"performed": True, "effect": {"order": "o-7"}}, {"order": "o-7"}),
        ({"performed": True}, {"effect": None}),
        ({"performed": False, "effect": None}, None),
    ],
)
def test_it_finds_by_the_function_that_was_named_for_it(
    stubber: Stubber, payload: Any, found: Any
) -> None:
    answers(stubber, FIND, LOOK, payload)
    assert effect_of(stubber).find("g-1") == found


@pytest.mark.parametrize("payload", [{}, {"performed": None}, {"performed": 0}, None])
def test_no_clear_answer_is_not_nothing(stubber: Stubber, payload: Any) -> None:
    answers(stubber, FIND, LOOK, payload)
    with pytest.raises(RuntimeError):
        effect_of(stubber).find("g-1")


def test_without_a_function_to_find_nothing_is_invoked(stubber: Stubber) -> None:
    with pytest.raises(LookupError):
        effect_of(stubber, "").find("g-1")
