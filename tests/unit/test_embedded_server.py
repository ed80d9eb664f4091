"""What the embedded AWS changes in MiniStack, in this process."""

import itertools
import json

import pytest
from jsonata.jsonata import Jsonata
from jsonata.timebox import Timebox
from ministack.services import stepfunctions

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
