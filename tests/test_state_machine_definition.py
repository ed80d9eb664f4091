import copy
import itertools
import json
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonata import Jsonata
from jsonata.jexception import JException

from actonce_core.execution import MAX_INPUT_BYTES
from tests import template
from tests.support import asl

PROVES_NOT_PERFORMED = {"NotPerformed", "Lambda.TooManyRequestsException"}
# Every kind of unknown outcome that AWS documents for a Lambda task, and one nobody has thought of.
UNKNOWN_OUTCOMES = [
    "OutcomeUnknown",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.Unknown",
    "Lambda.ResourceNotFoundException",
    "States.Timeout",
    "States.TaskFailed",
    "States.QueryEvaluationError",
    "Sandbox.Timedout",
    "Runtime.ExitError",
    "Runtime.OutOfMemory",
    "Function.ResponseSizeTooLarge",
    "SomethingNew",
]


@pytest.fixture(scope="module")
def definition() -> asl.Definition:
    return asl.definition()


@pytest.fixture(scope="module")
def states(definition: asl.Definition) -> dict[str, Any]:
    found: dict[str, Any] = definition["States"]
    return found


def broken(
    definition: asl.Definition, change: Callable[[dict[str, Any]], object]
) -> asl.Definition:
    copied = copy.deepcopy(definition)
    change(copied["States"])
    return copied


# --------------------------------------------------------------------------- lint and graph


def test_cfn_lint_has_nothing_to_say(definition: asl.Definition) -> None:
    assert asl.lint(definition) == []


def test_lint_finds_a_broken_state(definition: asl.Definition) -> None:
    assert asl.lint(broken(definition, lambda states: states["PerformEffect"].pop("End"))) != []


def test_every_way_leads_to_a_state_and_every_state_to_an_end(definition: asl.Definition) -> None:
    assert asl.graph_problems(definition) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda states: states["AwaitStraggler"].update(Next="Nowhere"),
            "AwaitStraggler leads to Nowhere, which does not exist",
        ),
        (
            lambda states: states.update(Forgotten={"Type": "Succeed"}),
            "Forgotten cannot be reached",
        ),
        (
            lambda states: states["FindEffect"].update(Next="AwaitStraggler", Catch=[]),
            "FindEffect never comes to an end",
        ),
    ],
)
def test_graph_check_finds_a_broken_way(
    definition: asl.Definition, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    assert problem in asl.graph_problems(broken(definition, change))


def test_happy_path_is_one_state(definition: asl.Definition) -> None:
    assert asl.may_end(definition["States"][definition["StartAt"]])


def test_template_supplies_every_substitution_and_no_other() -> None:
    machine = template.load()["Resources"]["ProcessMessage"]["Properties"]

    used = set(asl.SUBSTITUTION.findall(asl.PROCESS_MESSAGE.read_text()))

    assert used == set(machine["DefinitionSubstitutions"]) == set(asl.EXAMPLE_SUBSTITUTIONS)


# --------------------------------------------------------------------------- errors


def first_match(rules: list[dict[str, Any]], error: str) -> dict[str, Any] | None:
    """The first Retry or Catch rule for an error, as AWS documents the wildcards."""
    for rule in rules:
        names = rule["ErrorEquals"]
        if error in names or names == ["States.ALL"]:
            return rule
        if "States.TaskFailed" in names and error != "States.Timeout":
            return rule
    return None


def test_only_what_proves_not_performed_is_ever_repeated_without_a_look(
    states: dict[str, Any],
) -> None:
    (rule,) = states["PerformEffect"]["Retry"]

    assert set(rule["ErrorEquals"]) == PROVES_NOT_PERFORMED


@pytest.mark.parametrize("error", UNKNOWN_OUTCOMES)
def test_unknown_outcome_is_waited_out_and_looked_up(states: dict[str, Any], error: str) -> None:
    perform = states["PerformEffect"]
    catcher = first_match(perform["Catch"], error)

    assert first_match(perform["Retry"], error) is None
    assert catcher is not None
    assert catcher["Next"] == "AwaitStraggler"
    assert states["AwaitStraggler"]["Next"] == "FindEffect"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("Rejected", "rejected"),
        *((error, "not_performed") for error in sorted(PROVES_NOT_PERFORMED)),
    ],
)
def test_what_never_happened_is_never_looked_up(
    states: dict[str, Any], error: str, reason: str
) -> None:
    catcher = first_match(states["PerformEffect"]["Catch"], error)

    assert catcher is not None
    assert catcher["Next"] == "DeadLetter"
    assert catcher["Output"]["failure"]["reason"] == reason


def test_looking_up_is_repeated_after_anything_but_its_own_expressions(
    states: dict[str, Any],
) -> None:
    find = states["FindEffect"]

    for error in [*UNKNOWN_OUTCOMES, *PROVES_NOT_PERFORMED]:
        retrier = first_match(find["Retry"], error)
        assert retrier is not None
        # It failed because no function is named, or nothing was answered; it would fail again.
        assert (retrier["MaxAttempts"] == 0) == (error == "States.QueryEvaluationError")
        catcher = first_match(find["Catch"], error)
        assert catcher is not None
        assert catcher["Next"] == "DeadLetter"
        assert catcher["Output"]["failure"]["reason"] == "outcome_unknown"


# --------------------------------------------------------------------------- retries


def retrier_of(states: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = states[name]["Retry"][-1]
    return found


def longest_waits(retrier: dict[str, Any]) -> list[float]:
    """What is waited before each retry at most, in seconds; with full jitter any part of it."""
    return [
        min(retrier["IntervalSeconds"] * retrier["BackoffRate"] ** n, retrier["MaxDelaySeconds"])
        for n in range(retrier["MaxAttempts"])
    ]


@pytest.mark.parametrize("name", ["PerformEffect", "FindEffect"])
def test_an_hour_costs_fifteen_transitions_and_hardly_anybody_is_asked_within_it(
    states: dict[str, Any], name: str
) -> None:
    retrier = retrier_of(states, name)
    waits = longest_waits(retrier)
    chances = random.Random(1)
    drawn = [
        list(itertools.accumulate(chances.random() * wait for wait in waits)) for _ in range(20_000)
    ]
    hours = [one[-1] / 3600 for one in drawn]
    in_an_hour = [sum(seconds < 3600 for seconds in one) for one in drawn]

    assert retrier["JitterStrategy"] == "FULL"
    assert sum(hours_ < 1 for hours_ in hours) < 20  # one in a thousand
    assert 1.5 < statistics.fmean(hours) < 2
    assert sum(waits) < 3.5 * 3600
    assert 14 < statistics.fmean(in_an_hour) < 16
    assert sum(retries > 20 for retries in in_an_hour) < 200


def test_retries_stay_far_from_the_most_events_of_a_history(states: dict[str, Any]) -> None:
    machine = template.load()["Resources"]["ProcessMessage"]["Properties"]
    most_rounds = int(machine["DefinitionSubstitutions"]["MaxRounds"])
    # Scheduled, started and failed: of the effect and of its look-up, in every round.
    retries = sum(
        retrier_of(states, name)["MaxAttempts"] for name in ("PerformEffect", "FindEffect")
    )

    assert retries * 3 * most_rounds < 25_000 / 5


# --------------------------------------------------------------------------- redrive


def test_unanswered_dead_letter_fails_in_the_state_that_posts_it(states: dict[str, Any]) -> None:
    # RedriveExecution re-enters the state that failed: the task, so the dead letter is posted anew.
    # Were the time-out caught and led to a Fail state, a redrive would only fail again.
    dead_letter = states["DeadLetter"]
    rule = first_match(dead_letter["Retry"], "States.Timeout")

    assert dead_letter["Type"] == "Task"
    assert "Catch" not in dead_letter
    assert rule is None


def test_dead_letter_that_cannot_be_posted_is_posted_again(states: dict[str, Any]) -> None:
    rule = first_match(states["DeadLetter"]["Retry"], "SQS.AmazonSQSException")

    assert rule is not None
    assert rule["MaxAttempts"] >= 5


def test_only_the_operator_ends_an_execution_in_a_fail_state(states: dict[str, Any]) -> None:
    fails = {name for name, state in states.items() if state["Type"] == "Fail"}
    leading_there = {
        name for name, state in states.items() if fails.intersection(asl.ways_out(state))
    }

    assert leading_there == {"Decision"}


def test_no_time_out_ends_an_execution_as_a_whole(definition: asl.Definition) -> None:
    # It would end a message that waits for a decision, or one whose outcome is unknown.
    assert "TimeoutSeconds" not in definition


# --------------------------------------------------------------------------- expressions


def test_no_expression_is_longer_than_a_line_of_two(definition: asl.Definition) -> None:
    assert max(len(expression) for _path, expression in asl.expressions(definition)) < 200


def test_every_expression_parses(definition: asl.Definition) -> None:
    found = list(asl.expressions(definition))

    assert len(found) == json.dumps(definition).count("{%")
    for _path, expression in found:
        Jsonata.jsonata(expression)


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("$states.result", "/Output/"),
        ("$states.errorOutput", "/Catch/"),
        ("$states.context.Task.Token", "/States/DeadLetter/"),
    ],
)
def test_variable_is_used_only_where_aws_sets_it(
    definition: asl.Definition, variable: str, place: str
) -> None:
    paths = [path for path, expression in asl.expressions(definition) if variable in expression]

    assert paths
    assert [path for path in paths if place not in path] == []
    if variable == "$states.result":
        assert [path for path in paths if "/Catch/" in path or "/Choices/" in path] == []


def test_dead_letter_waits_fourteen_days_by_default(states: dict[str, Any]) -> None:
    assert asl.evaluate(states["DeadLetter"]["TimeoutSeconds"]) == 14 * 24 * 60 * 60


MAX_STATE_BYTES = 256 * 1024


def as_bytes(value: Any) -> bytes:
    """A state's data as Step Functions counts them: JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


MESSAGE = {"message_id": "m-1", "body": {"message_id": "m-1", "practice": "main"}}
CONTEXT: dict[str, dict[str, Any]] = {
    "Execution": {
        "Input": MESSAGE,
        "Id": "arn:aws:states:us-east-1:123456789012:execution:process-message:m-1",
        "Name": "m-1",
    },
    "State": {"EnteredTime": "2026-01-31T09:30:00.000Z"},
    "Task": {"Token": "t" * 1024},
}


def catch_output(
    state: dict[str, Any], error: str, state_input: Any, **error_output: str
) -> dict[str, Any]:
    catcher = first_match(state["Catch"], error)
    assert catcher is not None
    output: dict[str, Any] = asl.evaluate(
        catcher["Output"],
        input=state_input,
        errorOutput={"Error": error, **error_output},
        context=CONTEXT,
    )
    return output


def test_effect_is_asked_for_with_the_whole_message_in_every_round(states: dict[str, Any]) -> None:
    # The state's input changes from round to round; the execution's never does.
    arguments = asl.evaluate(
        states["PerformEffect"]["Arguments"], input={"rounds": 2}, context=CONTEXT
    )

    assert arguments["Payload"] == {"operation": "perform", "attempt": 1, "message": MESSAGE}


@pytest.mark.parametrize(
    ("state_input", "retries", "attempt"),
    [
        (MESSAGE, 0, 1),
        (MESSAGE, 2, 3),
        ({"rounds": 0, "failure": {}, "decision": "retry"}, 3, 5),
    ],
)
def test_the_first_call_alone_is_called_the_first_attempt(
    states: dict[str, Any], state_input: Any, retries: int, attempt: int
) -> None:
    context = CONTEXT | {"State": CONTEXT["State"] | {"RetryCount": retries}}
    payload = states["PerformEffect"]["Arguments"]["Payload"]

    assert asl.evaluate(payload, input=state_input, context=context)["attempt"] == attempt


def in_redrive(count: int | None) -> dict[str, Any]:
    """The context object of an execution that was redriven so often; None: it does not say."""
    redrives = {} if count is None else {"RedriveCount": count}
    return CONTEXT | {"Execution": CONTEXT["Execution"] | redrives}


@pytest.mark.parametrize(
    ("count", "state_input"),
    [
        (None, MESSAGE),
        (2, {"rounds": 1, "redrives": 2}),
    ],
)
def test_effect_is_performed_where_nothing_can_be_under_way(
    states: dict[str, Any], count: int | None, state_input: Any
) -> None:
    payload = states["PerformEffect"]["Arguments"]["Payload"]

    found = asl.evaluate(payload, input=state_input, context=in_redrive(count))

    assert found["operation"] == "perform"


@pytest.mark.parametrize(
    ("count", "state_input"),
    [
        (1, MESSAGE),
        (3, {"rounds": 1, "redrives": 2}),
    ],
)
def test_effect_of_a_redriven_execution_is_not_asked_for_before_it_was_looked_up(
    states: dict[str, Any], count: int, state_input: Any
) -> None:
    payload = states["PerformEffect"]["Arguments"]["Payload"]

    with pytest.raises(JException, match="looked up first"):
        asl.evaluate(payload, input=state_input, context=in_redrive(count))
    # As for every error that it does not know, the straggler is awaited; see UNKNOWN_OUTCOMES.
    caught = catch_output(states["PerformEffect"], "States.QueryEvaluationError", state_input)
    assert caught["failure"]["reason"] == "rounds_used_up"


@pytest.mark.parametrize(("count", "carried"), [(None, 0), (2, 2)])
def test_look_up_and_decision_carry_the_redrives_until_then(
    states: dict[str, Any], count: int | None, carried: int
) -> None:
    waiting = {"rounds": 1, "redrives": 0, "failure": {"reason": "r", "error": "E", "cause": ""}}
    answer = {"Payload": {"performed": False, "effect": None}}
    context = in_redrive(count)

    looked_up = asl.evaluate(
        states["FindEffect"]["Output"], input=waiting, result=answer, context=context
    )
    decided = asl.evaluate(
        states["DeadLetter"]["Output"], input=waiting, result={}, context=context
    )

    assert (looked_up["redrives"], decided["redrives"]) == (carried, carried)


def test_a_persons_word_is_good_for_one_try_and_not_for_a_redrive_after_it(
    states: dict[str, Any],
) -> None:
    waiting = {"rounds": 1, "failure": {"reason": "outcome_unknown", "error": "E", "cause": ""}}
    decided = asl.evaluate(
        states["DeadLetter"]["Output"],
        input=waiting,
        result={"decision": "perform", "note": "nothing in the journal"},
        context=in_redrive(2),
    )
    payload = states["PerformEffect"]["Arguments"]["Payload"]

    assert asl.choose(states["Decision"], decided) == "PerformEffect"
    assert asl.evaluate(payload, input=decided, context=in_redrive(2))["operation"] == "perform"
    with pytest.raises(JException, match="looked up first"):
        asl.evaluate(payload, input=decided, context=in_redrive(3))


def test_effect_that_was_performed_is_the_executions_output(states: dict[str, Any]) -> None:
    answer = {"Payload": {"performed": True, "effect": {"slot": 1}}}

    output = asl.evaluate(states["PerformEffect"]["Output"], input=MESSAGE, result=answer)

    assert output == {"outcome": "performed", "effect": {"slot": 1}}


@pytest.mark.parametrize(
    "payload",
    [
        {"performed": False, "effect": None},
        {"performed": "true", "effect": None},
        {"performed": 1, "effect": None},
        {"effect": {"slot": 1}},
        {"performed": True},
        None,
        "performed",
    ],
)
def test_any_other_answer_of_the_effect_is_an_unknown_outcome(
    states: dict[str, Any], payload: Any
) -> None:
    with pytest.raises((JException, asl.NoResultError)):
        asl.evaluate(states["PerformEffect"]["Output"], input=MESSAGE, result={"Payload": payload})


def test_largest_message_fits_into_the_call_of_the_effect(states: dict[str, Any]) -> None:
    # Data that outgrow a state fail the execution, and no Catch sees it (States.DataLimitExceeded).
    message = {"message_id": "m-1", "body": ""}
    spare = MAX_INPUT_BYTES - len(as_bytes(message))
    context = {"Execution": {"Input": message | {"body": "x" * spare}}}
    longest_arn = "arn:aws-us-gov:lambda:us-gov-east-1:123456789012:function:" + "f" * 64

    arguments = asl.evaluate(states["PerformEffect"]["Arguments"], context=context)

    assert len(as_bytes(arguments | {"FunctionName": longest_arn})) <= MAX_STATE_BYTES


def test_rounds_are_counted_from_the_first_unknown_outcome(states: dict[str, Any]) -> None:
    perform = states["PerformEffect"]

    assert catch_output(perform, "States.Timeout", MESSAGE)["rounds"] == 1
    assert catch_output(perform, "States.Timeout", {"rounds": 1})["rounds"] == 2


@pytest.mark.parametrize("error", ["Rejected", "NotPerformed", "States.Timeout"])
def test_error_is_caught_whatever_its_cause(states: dict[str, Any], error: str) -> None:
    # States Language: an error has a name, and not always a cause. A Catch whose Output fails to
    # evaluate fails the execution, with the outcome unknown and nobody told.
    perform = states["PerformEffect"]
    without = catch_output(perform, error, MESSAGE)["failure"]
    with_a_long_one = catch_output(perform, error, MESSAGE, Cause="c" * 32_768)["failure"]

    assert (without["error"], without["cause"]) == (error, "")
    assert with_a_long_one["cause"] == "c" * 4096


def test_failed_look_up_keeps_the_first_error_and_adds_its_own(states: dict[str, Any]) -> None:
    before = {"rounds": 2, "failure": {"reason": "x", "error": "States.Timeout", "cause": "late"}}

    after = catch_output(states["FindEffect"], "SomethingNew", before, Cause="no table")

    assert after == {
        "rounds": 2,
        "version": {},
        "failure": {
            "reason": "outcome_unknown",
            "error": "States.Timeout",
            "cause": "late | FindEffect: SomethingNew: no table",
        },
    }


def test_cause_stays_bounded_however_often_a_look_up_fails(states: dict[str, Any]) -> None:
    # Each retry of an operator may fail again; what is told of it must not outgrow the state.
    state_input: dict[str, Any] = {"rounds": 0, "failure": {"error": "E", "cause": "c" * 4096}}
    for _ in range(40):
        state_input = catch_output(
            states["FindEffect"], "SomethingNew", state_input, Cause="f" * 32_768
        )

    assert len(state_input["failure"]["cause"]) < 2 * 4096 + 100


def test_without_a_function_to_look_up_a_person_decides(states: dict[str, Any]) -> None:
    without = asl.definition(asl.EXAMPLE_SUBSTITUTIONS | {"FindFunctionArn": ""})["States"]
    arguments = without["FindEffect"]["Arguments"]
    with pytest.raises(JException, match="No function is named to look it up"):
        asl.evaluate(arguments, input={"rounds": 1}, context=CONTEXT)
    before = {"rounds": 1, "failure": {"error": "E", "cause": "C"}}
    caught = catch_output(
        states["FindEffect"], "States.QueryEvaluationError", before, Cause="No function"
    )
    catcher = first_match(states["FindEffect"]["Catch"], "States.QueryEvaluationError")
    assert catcher is not None
    assert catcher["Next"] == "DeadLetter"
    assert caught["failure"]["reason"] == "outcome_unknown"
    assert caught["failure"]["cause"].endswith(
        "FindEffect: States.QueryEvaluationError: No function"
    )


# --------------------------------------------------------------------------- choices


FAILURE = {"reason": "rejected", "error": "E", "cause": "C"}


def output_on(choice: dict[str, Any], state_input: dict[str, Any]) -> Any:
    """What the first rule that holds leads on with."""
    (rule, *_) = (
        rule for rule in choice["Choices"] if asl.evaluate(rule["Condition"], input=state_input)
    )
    return asl.evaluate(rule["Output"], input=state_input)


@pytest.mark.parametrize(
    ("performed", "rounds", "following"),
    [
        (True, 3, "Done"),
        (False, 2, "PerformEffect"),
        (False, 3, "DeadLetter"),
        # An answer that is neither true nor false proves nothing: a person decides.
        (None, 1, "DeadLetter"),
        ("false", 1, "DeadLetter"),
        (0, 1, "DeadLetter"),
    ],
)
def test_what_follows_the_look_up(
    states: dict[str, Any], performed: Any, rounds: int, following: str
) -> None:
    state_input = {"performed": performed, "rounds": rounds, "effect": None}

    assert asl.choose(states["Performed?"], state_input) == following


@pytest.mark.parametrize("performed", [None, "false"])
def test_dead_letter_after_no_clear_answer_says_that_the_outcome_is_unknown(
    states: dict[str, Any], performed: Any
) -> None:
    found = {
        "performed": performed,
        "rounds": 1,
        "failure": {"reason": "rounds_used_up", "error": "E", "cause": "c" * 5000},
    }

    assert asl.choose(states["Performed?"], found) == "DeadLetter"
    output = output_on(states["Performed?"], found)
    assert output["failure"]["cause"].startswith("c" * 4096 + " | FindEffect: ")
    assert len(output["failure"]["cause"]) < 4200
    assert output == {
        "rounds": 1,
        "version": {},
        "failure": {
            "reason": "outcome_unknown",
            "error": "E",
            "cause": output["failure"]["cause"],
        },
    }


@pytest.mark.parametrize(
    ("decision", "reason", "following"),
    [
        ("retry", "rejected", "PerformEffect"),
        ("retry", "not_performed", "PerformEffect"),
        # The outcome was unknown, so it is looked up again before anything is done.
        ("retry", "rounds_used_up", "FindEffect"),
        ("retry", "outcome_unknown", "FindEffect"),
        # A person has seen that it did not happen, so nothing is looked up.
        ("perform", "outcome_unknown", "PerformEffect"),
        ("resolve", "outcome_unknown", "Done"),
        ("reject", "outcome_unknown", "Failed"),
        ("none", "rejected", "DeadLetter"),
        ("RETRY", "rejected", "DeadLetter"),
        (["retry"], "rejected", "DeadLetter"),
    ],
)
def test_what_follows_a_decision(
    states: dict[str, Any], decision: Any, reason: str, following: str
) -> None:
    state_input = {"decision": decision, "failure": {"reason": reason}, "note": ""}

    assert asl.choose(states["Decision"], state_input) == following


@pytest.mark.parametrize(
    ("answer", "decision", "note"),
    [
        ({"decision": "retry"}, "retry", ""),
        ({"decision": "resolve", "note": "booked by hand"}, "resolve", "booked by hand"),
        ({}, "none", ""),
        ("retry", "none", ""),
        ([], "none", ""),
    ],
)
def test_decision_is_read_from_any_answer(
    states: dict[str, Any], answer: Any, decision: str, note: str
) -> None:
    waiting = {"rounds": 3, "failure": {"reason": "rounds_used_up"}}

    output = asl.evaluate(
        states["DeadLetter"]["Output"], input=waiting, result=answer, context=CONTEXT
    )

    # The rounds begin anew: the operator has asked for them.
    assert output == {
        "rounds": 0,
        "redrives": 0,
        "version": {},
        "failure": waiting["failure"],
        "decision": decision,
        "note": note,
    }


# --------------------------------------------------------------------------- another version

VERSION: dict[str, Any] = {
    "perform": "arn:aws:lambda:us-east-1:123456789012:function:effect:2",
    "find": "arn:aws:lambda:us-east-1:123456789012:function:looks-up:7",
    "timeout": 120,
    "margin": 40,
}
WAITING = {"rounds": 3, "failure": FAILURE}


def answered(states: dict[str, Any], answer: Any, **waiting: Any) -> dict[str, Any]:
    """What DeadLetter leads on with, of an answer."""
    output: dict[str, Any] = asl.evaluate(
        states["DeadLetter"]["Output"], input=WAITING | waiting, result=answer, context=CONTEXT
    )
    return output


def test_version_of_a_decision_is_invoked_and_awaited(states: dict[str, Any]) -> None:
    decided = answered(states, {"decision": "retry", "version": VERSION})
    perform, find = states["PerformEffect"], states["FindEffect"]

    def of(field: Any) -> Any:
        return asl.evaluate(field, input=decided, context=CONTEXT)

    assert of(perform["Arguments"]["FunctionName"]) == VERSION["perform"]
    assert of(find["Arguments"]["FunctionName"]) == VERSION["find"]
    assert of(perform["TimeoutSeconds"]) == of(find["TimeoutSeconds"]) == 120 + 5
    assert of(states["AwaitStraggler"]["Seconds"]) == 120 + 40


def test_without_a_version_the_definitions_own_is_invoked_and_awaited(
    states: dict[str, Any],
) -> None:
    own = asl.EXAMPLE_SUBSTITUTIONS["EffectFunctionArn"]
    for data in (MESSAGE, answered(states, {"decision": "retry"})):
        assert [
            asl.evaluate(field, input=data, context=CONTEXT)
            for field in (
                states["PerformEffect"]["Arguments"]["FunctionName"],
                states["FindEffect"]["Arguments"]["FunctionName"],
                states["PerformEffect"]["TimeoutSeconds"],
                states["FindEffect"]["TimeoutSeconds"],
                states["AwaitStraggler"]["Seconds"],
            )
        ] == [own, own, 15 + 5, 15 + 5, 15 + 30]


def test_version_is_carried_through_every_state_until_another_answer(
    states: dict[str, Any],
) -> None:
    data = answered(states, {"decision": "retry", "version": VERSION})
    answer = {"Payload": {"performed": None}}
    for error in ("Rejected", "NotPerformed", "States.Timeout"):
        assert catch_output(states["PerformEffect"], error, data)["version"] == VERSION
    looked_up = asl.evaluate(
        states["FindEffect"]["Output"], input=data, result=answer, context=CONTEXT
    )
    unclear = asl.evaluate(states["Performed?"]["Choices"][2]["Output"], input=looked_up)
    not_found = catch_output(states["FindEffect"], "SomethingNew", data)

    assert [one["version"] for one in (looked_up, unclear, not_found)] == [VERSION] * 3
    # Every way through a Choice keeps its input, or ends.
    for name in ("Performed?", "Decision"):
        for rule in states[name]["Choices"]:
            assert rule["Next"] == "Done" or "version" in rule.get("Output", {"version": 1})
    assert "Output" not in states["AwaitStraggler"]

    assert answered(states, {"decision": "retry"}, version=VERSION)["version"] == VERSION
    newer = VERSION | {"perform": "another", "timeout": 15}
    again = answered(states, {"decision": "retry", "version": newer}, version=VERSION)
    assert again["version"] == newer


WRONG: list[dict[str, Any]] = [
    {"perform": 1},
    {"find": None},
    {"timeout": "120"},
    {"timeout": 0},
    {"timeout": 1.5},
    {"timeout": 901},
    {"margin": None},
    {"margin": "x"},
    {"margin": -1},
    {"margin": 1e9},
    {"margin": [30]},
]


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        "2",
        {},
        *(VERSION | wrong for wrong in WRONG),
        *({key: VERSION[key] for key in VERSION if key != left_out} for left_out in VERSION),
    ],
)
def test_version_that_is_malformed_is_none(states: dict[str, Any], malformed: Any) -> None:
    answer = {"decision": "retry", "version": malformed}

    assert answered(states, answer)["version"] == {}
    assert answered(states, answer, version=VERSION)["version"] == VERSION


# --------------------------------------------------------------------------- the dead letter


def dead_letter(states: dict[str, Any], message: Any, cause: str = "") -> dict[str, Any]:
    context = CONTEXT | {"Execution": CONTEXT["Execution"] | {"Input": message}}
    failure = {"reason": "rejected", "error": "Rejected", "cause": cause}
    body: dict[str, Any] = asl.evaluate(
        states["DeadLetter"]["Arguments"]["MessageBody"],
        input={"rounds": 0, "failure": failure},
        context=context,
    )
    return body


def test_dead_letter_says_all_that_a_person_needs(states: dict[str, Any]) -> None:
    assert dead_letter(states, MESSAGE, cause="no such practice") == {
        "version": 1,
        "message_id": "m-1",
        "reason": "rejected",
        "error": "Rejected",
        "cause": "no such practice",
        "rounds": 0,
        "execution_arn": CONTEXT["Execution"]["Id"],
        "execution_name": "m-1",
        "posted_at": "2026-01-31T09:30:00.000Z",
        "task_token": "t" * 1024,
        "message": MESSAGE,
    }


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 190_000, True),
        ("a" * 200_000, False),
        ("é" * 49_000, True),
        ("é" * 50_000, False),
    ],
    ids=lambda value: value[:1] if isinstance(value, str) else None,
)
def test_message_that_would_outgrow_the_dead_letter_is_left_in_the_execution(
    states: dict[str, Any], text: str, kept: bool
) -> None:
    message = {"message_id": "m-1", "body": text}

    posted = dead_letter(states, message)

    assert posted["message"] == (message if kept else None)
    assert posted["execution_arn"]


@given(
    text=st.text(min_size=1, max_size=10),
    size=st.integers(190_000, 256 * 1024),
    message_id=st.text(min_size=1, max_size=10).map(lambda text: text * 300),
)
def test_dead_letter_always_fits_into_a_state(text: str, size: int, message_id: str) -> None:
    states = asl.definition()["States"]
    message = {"message_id": message_id, "body": text * (size // len(text))}

    posted = dead_letter(states, message, cause='"€"' * (2 * 4096 // 3))

    assert len(as_bytes(posted)) <= MAX_STATE_BYTES


@pytest.mark.parametrize("performed", [True, False])
def test_look_up_need_not_describe_what_it_says(states: dict[str, Any], performed: bool) -> None:
    found = asl.evaluate(
        states["FindEffect"]["Output"],
        input={"rounds": 1, "failure": {"error": "E", "cause": "C"}},
        result={"Payload": {"performed": performed}},
        context=CONTEXT,
    )
    assert (found["performed"], found["effect"]) == (performed, None)
    assert asl.choose(states["Performed?"], found) == ("Done" if performed else "PerformEffect")


@pytest.mark.parametrize("note", ["no such patient", {"a": 1}])
def test_rejected_message_fails_with_the_operators_note(states: dict[str, Any], note: Any) -> None:
    failed = states["Failed"]

    assert failed["Error"] == "RejectedByOperator"
    assert isinstance(asl.evaluate(failed["Cause"], input={"note": note}), str)


def test_what_was_found_or_resolved_is_the_executions_output(states: dict[str, Any]) -> None:
    found = {"performed": True, "effect": {"slot": 7}}
    resolved = {"decision": "resolve", "note": "by telephone", "failure": FAILURE}

    assert output_on(states["Performed?"], found) == {"outcome": "found", "effect": {"slot": 7}}
    assert output_on(states["Decision"], resolved) == {
        "outcome": "resolved",
        "note": "by telephone",
    }
