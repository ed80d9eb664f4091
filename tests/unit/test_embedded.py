"""What the embedded AWS changes in MiniStack and no deployment shows."""

import itertools

import pytest
from jsonata.jsonata import Jsonata
from jsonata.timebox import Timebox
from ministack.services import lambda_svc, stepfunctions

from actonce.embedded import server


def evaluate() -> object:
    return stepfunctions._evaluate_jsonata("[1..3].($ * 2)", {})


def test_an_expression_that_waits_for_a_processor_does_not_fail_its_execution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = itertools.count(step=500)  # milliseconds, on each look
    monkeypatch.setattr(Timebox, "current_milli_time", staticmethod(lambda: next(clock)))
    with pytest.raises(stepfunctions._ExecutionError, match="D1012"):
        evaluate()

    monkeypatch.setattr(Jsonata, "jsonata", Jsonata.jsonata)
    server.allow_expressions_time()
    assert evaluate() == [2, 4, 6]


def test_a_throttled_call_in_an_execution_is_called_what_aws_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lambda_svc, "_throttle_response", lambda_svc._throttle_response)
    server.name_throttling()
    told = lambda_svc._throttle_response("ReservedFunctionConcurrentInvocationLimitExceeded", "no")
    assert told["body"]["errorType"] == "Lambda.TooManyRequestsException"
