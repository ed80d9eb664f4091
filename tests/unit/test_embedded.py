"""What the embedded AWS changes in MiniStack, and what the demo puts around a function."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonata.jsonata import Jsonata
from jsonata.timebox import Timebox
from ministack.services import lambda_svc, stepfunctions
from ministack.services.cloudformation import provisioners

from actonce.embedded import server
from actonce.embedded.injected import fault_injection
from actonce_core.effect import NotPerformed


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


def test_one_that_never_ends_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=1000 * server.EXPRESSION_SECONDS + 1)
    monkeypatch.setattr(Timebox, "current_milli_time", staticmethod(lambda: next(clock)))
    monkeypatch.setattr(Jsonata, "jsonata", Jsonata.jsonata)
    server.allow_expressions_time()
    with pytest.raises(stepfunctions._ExecutionError, match="D1012"):
        evaluate()


def test_one_that_is_only_looked_at_is_looked_at_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jsonata, "jsonata", Jsonata.jsonata)
    server.allow_expressions_time()
    definition = {
        "QueryLanguage": "JSONata",
        "StartAt": "A",
        "States": {"A": {"Type": "Succeed", "Output": "{% 1 + %}"}},
    }
    told = stepfunctions._validate_definition_jsonata(json.dumps(definition))
    assert "missing 1 required" not in str(told)
    assert "/States/A/Output" in str(told)
    definition["States"]["A"]["Output"] = "{% 1 + 1 %}"  # type: ignore[index]
    assert stepfunctions._validate_definition_jsonata(json.dumps(definition)) is None


def test_numbers_of_an_event_source_mapping_may_be_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    taken: Any = lambda *given: made.append(given[-2])  # noqa: E731
    handlers = {"create": taken, "update": taken}
    kind = "AWS::Lambda::EventSourceMapping"
    monkeypatch.setitem(provisioners._RESOURCE_HANDLERS, kind, handlers)
    server.take_numbers()
    for handle in handlers.values():
        handle("Mapping", {"BatchSize": "10", "ScalingConfig": {"MaximumConcurrency": "3"}}, "s")
    assert made == [{"BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": 3}}] * 2


def test_a_throttled_call_in_an_execution_is_called_what_aws_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lambda_svc, "_throttle_response", lambda_svc._throttle_response)
    server.name_throttling()
    told = lambda_svc._throttle_response("ReservedFunctionConcurrentInvocationLimitExceeded", "no")
    assert told["body"]["errorType"] == "Lambda.TooManyRequestsException"


INJECTED = Path(fault_injection.__file__).parent
sys.path.append(str(INJECTED))  # as the functions' processes have it

import faulty  # noqa: E402


def test_errors_of_the_contract_are_the_function_s_own_or_of_their_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotPerformed):
        fault_injection.interrupt("NotPerformed", None)
    # A function that knows nothing of ActOnce.
    monkeypatch.setitem(sys.modules, "actonce_core.effect", None)
    with pytest.raises(Exception, match="injected") as raised:
        fault_injection.interrupt("Rejected", None)
    assert type(raised.value).__name__ == "Rejected"


def test_an_effect_is_fenced_behind_the_faults_if_it_is_without_them() -> None:
    class Plain:
        def perform(self, request: dict[str, str]) -> dict[str, str]:
            return request

        def find(self, _message_id: str) -> dict[str, str] | None:
            return None

    class Fenced(Plain):
        def perform_fenced(self, request: dict[str, str], _fence: object) -> dict[str, str]:
            return request

    assert not hasattr(faulty.with_faults(Plain()), "perform_fenced")
    assert hasattr(faulty.with_faults(Fenced()), "perform_fenced")
