"""ProcessMessage without AWS: what must hold of its text, and where each way through it ends.

Paths run on the conformance suite's machine, which walks them through crashes as well.
"""

import itertools
import json
import random
import re
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from jsonata import Jsonata

from actonce.messages.history import NO_FUNCTION_FINDS, has_no_find_function
from actonce_core.execution import MAX_INPUT_BYTES
from actonce_core.reason import NOTHING_HAPPENED, DeadLetterReason
from lab.conformance import machine, stepfunctions
from lab.conformance.machine import Aborted, Execution, Position, StateFailed
from tests.support import asl, audit_machine, moto_machine, template
from tests.support.answers import ANSWERED, NO_CLEAR_YES, SAYS_NOTHING
from tests.support.snapshots import Snapshot

PROVES_NOT_PERFORMED = [
    "NotPerformed",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceNotFoundException",
]
UNKNOWN_OUTCOMES = [
    *("OutcomeUnknown", "Lambda.ServiceException", "Lambda.Unknown", "States.Timeout"),
    *("States.QueryEvaluationError", "Sandbox.Timedout", "SomethingNew"),
]

TRIES = 1 + 24
OWN = asl.EXAMPLE_SUBSTITUTIONS["EffectFunctionArn"]
MESSAGE = {"message_id": "m-1", "body": '{"practice": "main"}'}
STATES: dict[str, Any] = asl.definition()["States"]
BOTH = pytest.mark.parametrize("load", [asl.definition, audit_machine.definition])


# --------------------------------------------------------------------------- the text


def test_a_letter_has_every_reason_that_is_explained_and_no_other() -> None:
    text = json.dumps(asl.definition())
    assert {*re.findall(r'"reason": "(\w+)"', text)} == {*DeadLetterReason}
    proves = re.search(r"failure\.reason in (\[.*?\])", text)
    assert proves is not None
    assert json.loads(proves[1].replace("'", '"')) == [*NOTHING_HAPPENED]


@BOTH
def test_cfn_lint_finds_nothing_every_way_leads_to_a_state_and_every_expression_parses(
    load: Callable[[], asl.Definition],
) -> None:
    definition = load()
    expressions = [expression for _path, expression in asl.expressions(definition)]
    states = definition["States"]

    assert asl.lint(definition) == []
    assert {way for state in states.values() for way in asl.ways_out(state)} <= states.keys()
    assert len(expressions) == json.dumps(definition).count("{%")
    for expression in expressions:
        Jsonata.jsonata(expression)


def test_template_supplies_every_substitution_and_no_other() -> None:
    resource = template.load()["Resources"]["ProcessMessage"]["Properties"]

    used = set(asl.SUBSTITUTION.findall(asl.PROCESS_MESSAGE.read_text()))

    assert used == set(resource["DefinitionSubstitutions"]) == set(asl.EXAMPLE_SUBSTITUTIONS)


def test_a_version_that_a_decision_brought_stays_until_another_comes() -> None:
    outputs = [
        node.get("Output")
        for name, state in STATES.items()
        for node in (*state.get("Catch", []), *state.get("Choices", []), state)
        if name != "DeadLetter"
    ]
    kept = [one["version"] for one in outputs if isinstance(one, dict) and "failure" in one]
    assert len(kept) >= 6
    assert set(kept) == {"{% $states.input.version ? $states.input.version : {} %}"}


def test_only_the_operator_ends_an_execution_as_failed() -> None:
    # A redrive enters the state that failed: a Fail state would only fail again.
    leading = {name for name, state in STATES.items() if "Failed" in asl.ways_out(state)}

    assert [name for name, state in STATES.items() if state["Type"] == "Fail"] == ["Failed"]
    assert leading == {"Decision"}
    assert "Catch" not in STATES["DeadLetter"]
    # It would end a message that waits for a decision, or one whose outcome is unknown.
    assert "TimeoutSeconds" not in asl.definition()


# --------------------------------------------------------------------------- retries


def test_an_hour_costs_fifteen_transitions_and_hardly_anybody_is_asked_within_it() -> None:
    retrier = STATES["PerformEffect"]["Retry"][-1]
    assert {**retrier, "ErrorEquals": ["States.ALL"]} == STATES["FindEffect"]["Retry"][-1]
    longest = [
        min(retrier["IntervalSeconds"] * retrier["BackoffRate"] ** n, retrier["MaxDelaySeconds"])
        for n in range(retrier["MaxAttempts"])
    ]
    chances = random.Random(1)
    drawn = [
        list(itertools.accumulate(chances.random() * wait for wait in longest))
        for _ in range(4_000)
    ]
    hours = [one[-1] / 3600 for one in drawn]
    in_an_hour = [sum(seconds < 3600 for seconds in one) for one in drawn]

    assert retrier["JitterStrategy"] == "FULL"
    assert sum(longest) < 3.5 * 3600
    assert sum(hours_ < 1 for hours_ in hours) < 4  # one in a thousand
    assert 1.5 < statistics.fmean(hours) < 2
    assert 14 < statistics.fmean(in_an_hour) < 16
    assert sum(retries > 20 for retries in in_an_hour) < 40


# --------------------------------------------------------------------------- paths


Step = tuple[str, Any]
"""`perform`, `find` or `post`, and what comes of it: an answer, an exception, or an error's name
after `!`."""


class Scripted:
    """Services that are asked for exactly these steps, in this order."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = list(steps)
        self.calls: list[tuple[str, Any, float]] = []
        self.letters: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.waits: list[float] = []

    def invoke(self, function: str, payload: Any, timeout: float) -> Any:
        self.calls.append((function, payload, timeout))
        return self._next(payload["operation"])

    def send_and_wait(self, arguments: Any, timeout: float) -> Any:
        assert arguments["QueueUrl"] == asl.EXAMPLE_SUBSTITUTIONS["DeadLetterQueueUrl"]
        assert timeout == 14 * 24 * 60 * 60
        self.letters.append(arguments["MessageBody"])
        return self._next("post")

    def put_events(self, arguments: Any) -> Any:
        (entry,) = arguments["Entries"]
        self.events.append(entry)
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}

    def _next(self, operation: str) -> Any:
        assert self.steps, f"{operation} was not expected"
        expected, answer = self.steps.pop(0)
        assert operation == expected
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str) and answer.startswith("!"):
            raise StateFailed(answer[1:], "why")
        return answer

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def enter(self, _: str) -> Callable[[], str]:
        return lambda: "2026-01-31T09:30:00.000Z"


def run(
    *steps: Step,
    redrives: int = 0,
    position: Position | None = None,
    message: Any = MESSAGE,
    **parameters: str,
) -> tuple[Scripted, Any]:
    """Run an execution that takes these steps and no other; and how it ends, or by which error."""
    services = Scripted(list(steps))
    substitutions = asl.EXAMPLE_SUBSTITUTIONS | parameters
    definition = machine.load(asl.PROCESS_MESSAGE.read_text(), substitutions)
    execution = Execution("m-1", "arn:execution:m-1", message, redrives)
    try:
        ended = machine.run(definition, execution, services, position)
    except StateFailed as failure:
        ended = failure.error
    except Aborted:
        ended = "Aborted"
    assert services.steps == []
    return services, ended


PERFORMED: Step = ("perform", {"performed": True, "effect": {"slot": 7}})
LOOKED_UP: Step = ("find", PERFORMED[1])
NOT_FOUND: Step = ("find", {"performed": False, "effect": None})
RETRY: Step = ("post", {"decision": "retry"})
RESOLVE: Step = ("post", {"decision": "resolve", "note": "by telephone"})
UNKNOWN: list[Step] = [("perform", "!Lambda.Unknown"), NOT_FOUND]
UNTIL: dict[str, list[Step]] = {
    "rejected": [("perform", "!Rejected")],
    "not_performed": [("perform", "!NotPerformed")] * TRIES,
    "rounds_used_up": UNKNOWN * 3,
    "outcome_unknown": [("perform", "!Lambda.Unknown"), ("find", "!States.QueryEvaluationError")],
}
"""The steps until a dead letter, by its reason."""

DECIDED = UNTIL["outcome_unknown"]
REFUSED: list[Step] = [("post", "!SQS.AmazonSQSException")] * 9  # of ten retries

NO_DECISIONS: list[Any] = [
    *({"decision": "RETRY"}, {"decision": ["retry"]}, {}, "retry", []),
    [{"decision": "perform"}],
]
LONG = "c" * 32_768

PATHS: dict[str, list[Step]] = {
    "performed at once": [PERFORMED],
    # An unknown outcome is waited out and looked up, and never repeated unseen.
    **{f"{one}, found": [("perform", f"!{one}"), LOOKED_UP] for one in UNKNOWN_OUTCOMES},
    **{f"{one}, found": [("perform", one), LOOKED_UP] for one in NO_CLEAR_YES[:1]},
    # What never happened is never looked up; the first call alone is the first attempt.
    "Rejected, retried": [*UNTIL["rejected"], RETRY, PERFORMED],
    **{
        f"{one}, retried": [*[("perform", f"!{one}")] * TRIES, RETRY, PERFORMED]
        for one in PROVES_NOT_PERFORMED
    },
    # Looking up is repeated after anything but its own expressions.
    **{
        f"the look-up fails, {one}": [
            ("perform", StateFailed("E", "late")),
            *[("find", f"!{one}")] * (1 if one == "States.QueryEvaluationError" else TRIES),
            RESOLVE,
        ]
        for one in (*UNKNOWN_OUTCOMES, *PROVES_NOT_PERFORMED)
    },
    # After three rounds a person decides, and rounds begin anew.
    "three rounds": [*UNKNOWN * 3, RETRY, NOT_FOUND, *UNKNOWN, PERFORMED],
    # A look-up that is neither yes nor no proves nothing, and need not describe what it says.
    **{
        f"the look-up says {one}": [
            ("perform", StateFailed("E", "c" * 5000)),
            ("find", one),
            RESOLVE,
        ]
        for one in SAYS_NOTHING[1:2]
    },
    "found, undescribed": [("perform", "!E"), ("find", {"performed": True})],
    "not found, undescribed": [("perform", "!E"), ("find", {"performed": False}), PERFORMED],
    # Where the outcome was unknown, it is looked up again before anything is done.
    "rounds used up, retry": [*UNTIL["rounds_used_up"], RETRY, LOOKED_UP],
    "unknown, retry": [*DECIDED, RETRY, LOOKED_UP],
    # A person has seen that it did not happen, so nothing is looked up.
    "unknown, perform": [*DECIDED, ("post", {"decision": "perform"}), PERFORMED],
    "unknown, resolve": [*DECIDED, ("post", {"decision": "resolve"})],
    "unknown, reject": [*DECIDED, ("post", {"decision": "reject"})],
    "rejected, reject": [*UNTIL["rejected"], ("post", {"decision": "reject", "note": {"a": 1}})],
    # What is none of the four decides nothing.
    **{f"unknown, {one}": [*DECIDED, ("post", one), RESOLVE] for one in NO_DECISIONS},
    "a letter that could not be posted": [*UNTIL["rejected"], *REFUSED, RESOLVE],
    "a letter that nobody answers": [*UNTIL["rejected"], ("post", "!States.Timeout")],
    # An error is told in characters that a target can carry.
    "an odd name": [("perform", StateFailed("E\ufffe", "why")), DECIDED[1], RESOLVE],
}


def path_lines(services: Scripted, end: Any) -> list[str]:
    """What an execution did, a line each; equal calls that follow each other are one."""
    calls = [
        f"{payload['operation']} {payload.get('attempt', '')} within {timeout:g} s"
        for _, payload, timeout in services.calls
    ]
    lines = [f"{one} * {len([*same])}" for one, same in itertools.groupby(calls)]
    lines += [f"waits {seconds:g} s" for seconds in services.waits]
    lines += [
        f"letter: {one['reason']}, {one['error']}, {one['rounds']} rounds, "
        f"{one['cause'].replace('c' * 4096, '4096 c')}"
        for one in services.letters
    ]
    lines += [f"{one['DetailType']}: {json.dumps(one['Detail'])}" for one in services.events]
    return [*lines, f"ends: {json.dumps(end)}"]


def test_each_path_does_and_tells_what_is_reviewed(snapshot: Snapshot) -> None:
    lines = []
    for name, steps in PATHS.items():
        lines += [f"{name}\n", *(f"    {one}\n" for one in path_lines(*run(*steps)))]
    snapshot("paths.txt", "".join(lines))


def test_it_is_called_with_the_message_and_looked_up_by_its_id_and_a_letter_has_all() -> None:
    services, _ = run(*DECIDED, RESOLVE)
    perform = {"operation": "perform", "attempt": 1, "message": MESSAGE}
    find = {"operation": "find", "message": {"message_id": "m-1"}}
    assert services.calls == [(OWN, perform, 15 + 5), (OWN, find, 15 + 5)]
    (letter,) = services.letters
    # By these words a retry is not offered where nothing can look first.
    assert has_no_find_function(letter["cause"])
    assert letter["cause"].endswith(f"{NO_FUNCTION_FINDS} (FindFunctionArn)")
    assert letter | {"error": "", "cause": ""} == {
        "version": 1,
        "message_id": "m-1",
        "reason": "outcome_unknown",
        "error": "",
        "cause": "",
        "rounds": 1,
        "execution_arn": "arn:execution:m-1",
        "execution_name": "m-1",
        "posted_at": "2026-01-31T09:30:00.000Z",
        "task_token": "token-m-1",
        "message": MESSAGE,
    }
    assert asl.may_end(STATES[asl.definition()["StartAt"]])
    assert asl.evaluate(STATES["Failed"]["Cause"], input={"note": {"a": 1}}) == '{"a":1}'


def test_cause_stays_bounded_however_often_a_look_up_fails() -> None:
    # Each retry of an operator may fail again; what is told of it must not outgrow the state.
    failed = StateFailed("States.QueryEvaluationError", "c" * 32_768)
    services, _ = run(
        ("perform", failed), ("find", failed), *[RETRY, ("find", failed)] * 40, RESOLVE
    )
    assert max(len(letter["cause"]) for letter in services.letters) < 2 * 4096 + 100


def test_a_redrive_posts_again_what_nobody_answered() -> None:
    position = machine.start(asl.definition(), Execution("m-1", "arn", MESSAGE))
    run(*UNTIL["rejected"], ("post", "!States.Timeout"), position=position)
    assert position.state == "DeadLetter"
    assert run(RESOLVE, redrives=1, position=position)[1]["outcome"] == "resolved"


@pytest.mark.parametrize(
    ("redrives", "data", "looks_first"),
    [
        (0, MESSAGE, False),
        (2, {"rounds": 1, "redrives": 2}, False),
        # Redriven since it was last known that nothing is under way.
        (1, MESSAGE, True),
        (3, {"rounds": 1, "redrives": 2}, True),
    ],
)
def test_an_execution_that_was_redriven_looks_before_it_performs(
    redrives: int, data: Any, looks_first: bool
) -> None:
    position = Position("PerformEffect", data)
    run(*[NOT_FOUND] * looks_first, PERFORMED, redrives=redrives, position=position)


# --------------------------------------------------------------------------- answers


OUTCOMES = {"PerformEffect": "performed", "Done": "found", "DeadLetter": "resolved"}


def test_each_answer_leads_where_it_should() -> None:
    for answers, expected in ANSWERED:
        operation: list[str] = ["perform", *["find", "perform"][: len(answers) - 1]]
        steps = list(zip(operation, answers, strict=True))
        services, end = run(*steps, *[RESOLVE] * (expected[-1] == "DeadLetter"))
        assert len(services.letters) == (expected[-1] == "DeadLetter"), answers
        assert end["outcome"] == OUTCOMES[expected[-1]], answers


@pytest.mark.long
def test_an_interpreter_whose_catch_sees_no_error_of_an_output_takes_them_alike() -> None:
    """moto's, which is LocalStack's. What AWS's Catch sees, its pages do not say."""
    with moto_machine.process_message() as states_of:
        for answers, expected in ANSWERED[::10]:
            assert (answers, states_of(*answers)) == (answers, expected)


@pytest.mark.parametrize(
    "answer",
    [
        *({"decision": value} for value in ({"decision": "perform"}, True, None, [["perform"]])),
        *([[{"decision": "perform"}]], [{"decision": "retry"}, {}], None, 1, ["retry"]),
    ],
)
def test_an_answer_that_is_no_object_with_a_text_decides_nothing(answer: Any) -> None:
    run(*UNTIL["rejected"], ("post", answer), RESOLVE)
    decision = STATES["DeadLetter"]["Output"]["decision"]
    assert asl.evaluate(decision, result=answer) == "none"


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_so_many_rounds_are_performed_on_the_word_of_find_and_then_a_person_decides(
    rounds: int,
) -> None:
    lies = [("perform", "!States.Timeout"), NOT_FOUND] * rounds
    decided = [("post", {"decision": "perform"}), *lies, RETRY, NOT_FOUND, *lies, RESOLVE]

    services, end = run(*lies, *decided, MaxRounds=str(rounds))

    assert end["outcome"] == "resolved"
    operation = [(one["reason"], one["rounds"]) for one in services.letters]
    assert operation == [("rounds_used_up", rounds)] * 3


def test_where_one_round_is_allowed_a_redriven_execution_is_not_performed_again() -> None:
    position = Position("PerformEffect", MESSAGE)
    services, _ = run(NOT_FOUND, RESOLVE, redrives=1, position=position, MaxRounds="1")
    assert services.letters[0]["reason"] == "rounds_used_up"


# --------------------------------------------------------------------------- another version

VERSION: dict[str, Any] = {
    "perform": "arn:aws:lambda:us-east-1:123456789012:function:effect:2",
    "find": "arn:aws:lambda:us-east-1:123456789012:function:looks-up:7",
    "timeout": 120,
    "margin": 40,
}


def test_a_version_that_a_decision_brought_is_performed_awaited_and_looked_up() -> None:
    brought: Step = ("post", {"decision": "retry", "version": VERSION})
    services, _ = run(*UNTIL["rejected"], brought, *UNKNOWN, ("perform", "!E"), LOOKED_UP)

    assert [one[::2] for one in services.calls] == [
        (OWN, 15 + 5),
        *[(VERSION["perform"], 120 + 5), (VERSION["find"], 120 + 5)] * 2,
    ]
    assert services.waits == [120 + 40] * 2


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        "2",
        {},
        *({key: VERSION[key] for key in VERSION if key != left_out} for left_out in VERSION),
        *({**VERSION, "timeout": timeout} for timeout in ("120", 0, 1.5, 901)),
        *({**VERSION, "margin": margin} for margin in (None, "x", -1, 1e9, [30])),
        {**VERSION, "perform": 1},
        {**VERSION, "find": None},
        *([VERSION], [[VERSION]], [VERSION, VERSION], {"version": VERSION}),
        *({**VERSION, key: [VERSION[key]]} for key in VERSION),
    ],
)
def test_a_version_that_is_malformed_is_none(malformed: Any) -> None:
    answer = {"decision": "retry", "version": malformed}
    for before in ({}, VERSION):
        output = asl.evaluate(
            STATES["DeadLetter"]["Output"],
            input={"failure": {"reason": "rejected"}, "version": before},
            result=answer,
            context={"Execution": {}},
        )
        assert output["version"] == before


# --------------------------------------------------------------------------- what is told


@pytest.mark.parametrize("catcher", STATES["PerformEffect"]["Catch"], ids=lambda it: it["Next"])
def test_error_is_caught_whatever_its_cause(catcher: dict[str, Any]) -> None:
    # States Language: an error has a name, and not always a cause. A Catch whose Output fails to
    # evaluate fails the execution, with the outcome unknown and nobody told.
    for error, cause in (({}, ""), ({"Cause": "c" * 32_768}, "c" * 4096)):
        output = asl.evaluate(catcher["Output"], input=MESSAGE, errorOutput={"Error": "E", **error})
        of_ours = catcher["ErrorEquals"] == ["States.QueryEvaluationError"]
        expected = "The effect did not answer that it was performed." if of_ours else cause
        assert (output["failure"]["error"], output["failure"]["cause"]) == ("E", expected)


# --------------------------------------------------------------------------- events


def telling(definition: asl.Definition) -> dict[str, Any]:
    """The states that put events."""
    return {name: one for name, one in definition["States"].items() if "putEvents" in str(one)}


@BOTH
def test_what_tells_leads_soon_to_one_state_with_what_it_was_given_however_it_ends(
    load: Callable[[], asl.Definition],
) -> None:
    assert telling(load())
    for state in telling(load()).values():
        (catcher,), (retrier,) = state["Catch"], state["Retry"]
        unchanged = {"Output": "{% $states.input %}", "Next": state["Next"]}
        assert catcher == {"ErrorEquals": ["States.ALL"], **unchanged}
        assert state.items() >= unchanged.items()
        assert "Assign" not in state
        tries = 1 + retrier["MaxAttempts"]
        waits = retrier["IntervalSeconds"] * retrier["BackoffRate"] ** tries
        assert tries * state["TimeoutSeconds"] + waits < 60


def test_nothing_leads_past_what_tells() -> None:
    leading = {name for name, one in STATES.items() if "DeadLetter" in asl.ways_out(one)}
    deciding = {name for name, one in STATES.items() if "Decision" in asl.ways_out(one)}
    assert (leading, deciding) == ({"TellDeadLetter"}, {"TellDecision"})
    # There, a walk of the conformance suite has no step.
    assert telling(asl.definition()).keys() == stepfunctions.TELLING


@pytest.mark.parametrize(
    ("decision", "expected"),
    [("RETRY", "none"), (["retry"], "none"), ("retry", "retry"), ("resolve", "resolve")],
)
def test_a_decision_is_told_by_its_name_and_what_is_none_by_nothing_that_others_chose(
    decision: Any, expected: str
) -> None:
    (entry,) = STATES["TellDecision"]["Arguments"]["Entries"]
    expression = entry["Detail"]["decision"]
    assert asl.evaluate(expression, input={"decision": decision}) == expected


# --------------------------------------------------------------------------- sizes

MAX_STATE_BYTES = 256 * 1024
"""Data that outgrow a state fail the execution, and no Catch sees it (States.DataLimitExceeded)."""


def as_bytes(value: Any) -> bytes:
    """A state's data as Step Functions counts them: JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def test_largest_message_fits_into_the_call_of_the_effect() -> None:
    message = {"message_id": "m-1", "body": ""}
    message["body"] = "x" * (MAX_INPUT_BYTES - len(as_bytes(message)))
    longest_arn = "arn:aws-us-gov:lambda:us-gov-east-1:123456789012:function:" + "f" * 64

    arguments = asl.evaluate(
        STATES["PerformEffect"]["Arguments"], context={"Execution": {"Input": message}}
    )

    assert len(as_bytes(arguments | {"FunctionName": longest_arn})) <= MAX_STATE_BYTES


@pytest.mark.parametrize(("letter", "largest"), [("a", 199_950), ("é", 49_950)])
def test_message_that_would_outgrow_the_dead_letter_is_left_in_the_execution(
    letter: str, largest: int
) -> None:
    message = {"message_id": "m-1", "body": letter * largest}
    assert asl.letter_of(message)["message"] == message
    too_large = asl.letter_of(message | {"body": letter * (largest + 100)})
    assert (too_large["message"], too_large["execution_arn"]) == (None, "arn")


@pytest.mark.parametrize("text", ["a", '"', "\\", "\x01", "€", "🎁"])
@pytest.mark.parametrize("size", [190_000, 199_900, 256 * 1024])
def test_a_dead_letter_always_fits_into_a_state(text: str, size: int) -> None:
    message = {"message_id": text * 3000, "body": text * (size // len(text.encode()))}

    posted = asl.letter_of(message, cause='"€"' * (2 * 4096 // 3))

    assert len(as_bytes(posted)) <= MAX_STATE_BYTES
