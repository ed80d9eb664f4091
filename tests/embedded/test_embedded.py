"""What the embedded AWS changes in MiniStack and no deployment shows."""

import functools
import itertools
from io import BytesIO
from unittest.mock import Mock

import pytest
from jsonata.jsonata import Jsonata
from jsonata.timebox import Timebox
from ministack.services import lambda_svc, stepfunctions

from actonce.embedded import functions, server
from actonce.terminal.errors import Failed


def evaluate() -> object:
    return stepfunctions._evaluate_jsonata("[1..3].($ * 2)", {})


def test_an_expression_that_waits_for_a_processor_does_not_fail_its_execution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = itertools.count(step=500)  # milliseconds, on each look
    monkeypatch.setattr(Timebox, "current_milli_time", staticmethod(lambda: next(clock)))
    with pytest.raises(stepfunctions._ExecutionError, match="D1012"):
        evaluate()

    longer = functools.partial(server.allow_expressions_time, Jsonata.jsonata)
    monkeypatch.setattr(Jsonata, "jsonata", longer)
    assert evaluate() == [2, 4, 6]


def test_a_throttled_call_in_an_execution_is_called_what_aws_calls_it() -> None:
    reason = "ReservedFunctionConcurrentInvocationLimitExceeded"
    response = server.name_throttling(lambda_svc._throttle_response, reason, "no")
    assert response["body"]["errorType"] == "Lambda.TooManyRequestsException"


@pytest.mark.parametrize(
    ("answer", "complains"),
    [
        ('{"performed": false, "effect": null}', None),
        ('{"performed": true, "effect": {"card": 1}}', "acts when it is to look up"),
        ("not JSON", None),
    ],
)
def test_a_function_that_acts_when_it_is_to_look_up_is_told_of(
    answer: str, complains: str | None
) -> None:
    lambda_ = Mock()
    lambda_.invoke.side_effect = lambda **_: {"Payload": BytesIO(answer.encode())}
    stack = Mock(lambda_=lambda_, find_function="theirs:1")

    complaint = functions.call_at_once(stack, 1)

    assert (complaint is None) is (complains is None)
    assert (complains or "") in (complaint or "")


def test_a_look_up_that_fails_is_told_of_and_a_starter_that_fails_stops_it() -> None:
    failing = {"theirs:1"}

    def invoke(*, FunctionName: str, **_: object) -> dict[str, object]:  # noqa: N803
        error = {"FunctionError": "Unhandled"} if FunctionName in failing else {}
        return {"Payload": BytesIO(b'{"errorMessage": "no"}'), **error}

    stack = Mock(find_function="theirs:1", starter_function="starter")
    stack.lambda_.invoke.side_effect = invoke
    assert "cannot look up" in (functions.call_at_once(stack, 1) or "")
    failing.add("starter")
    with pytest.raises(Failed, match="starter does not start"):
        functions.call_at_once(stack, 1)
