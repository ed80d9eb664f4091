"""Asks AWS's TestState how it runs the states of a deployed definition, with mocked results.

It calls no function, sends nothing and needs no role. Section 5 of docs/how-it-works.md marks what
TestState can tell.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.states import PROVE_NOTHING_HAPPENED
from actonce.stack.clients import Stack

_CONFIG: Final[Mapping[str, Any]] = {
    "read_timeout": 60,
    "retries": {"mode": "standard", "total_max_attempts": 5},
}
_LONGEST_REASON = 400
_OF_A_QUESTION = ("InvalidDefinition", "InvalidExecutionInput", "ValidationException")


class Verdict(StrEnum):
    """What AWS's answer says of an assumption."""

    HOLDS = "holds"
    FAILS = "does_not_hold"
    UNANSWERED = "could_not_be_asked"


class Expected(NamedTuple):
    """TestState's answer; of its output the fields that are named are compared."""

    status: str
    next_state: str | None = None
    output: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Question:
    """What the design leans on, and how one state of the definition shows it.

    Attributes:
        claim: a clause.
        given: the state's input; its `body` is also the message's.
        mock: TestState's; None for a state that calls nothing.
        retried: how often it was tried again before.
    """

    state: str
    claim: str
    given: Mapping[str, Any]
    mock: Mapping[str, Any] | None
    expected: Expected
    retried: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one question; `why`: what AWS answers, or why it was not asked; empty if it holds."""

    state: str
    claim: str
    verdict: Verdict
    why: str = ""


def exit_status(answers: Sequence[Answer]) -> int:
    """1: something does not hold; 3: something could not be asked; else 0."""
    verdicts = {one.verdict for one in answers}
    return 1 if Verdict.FAILS in verdicts else 3 if Verdict.UNANSWERED in verdicts else 0


def ask_about(stack: Stack) -> list[Answer]:
    """Ask every question of the definition that is deployed."""
    try:
        deployed = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.state_machine)
    except (ClientError, BotoCoreError) as error:
        why = _shown(str(error))
        return [Answer(one.state, one.claim, Verdict.UNANSWERED, why) for one in QUESTIONS]
    return list(ask(stack, deployed["definition"]))


def ask(stack: Stack, definition: str) -> Iterator[Answer]:
    """Ask every question of a definition; once AWS refuses more than one, no other."""
    # TestState has a host of its own on AWS, sync-states, and elsewhere it has none.
    has_host = stack.stepfunctions.meta.endpoint_url.startswith("https://states")
    client = stack.aws.fresh("stepfunctions", {**_CONFIG, "inject_host_prefix": has_host})
    refused = ""
    for question in QUESTIONS:
        verdict, why = Verdict.UNANSWERED, refused
        if not refused:
            try:
                verdict, why = _judge(
                    question.expected, client.test_state(**_request(question, definition))
                )
            except ClientError as error:
                why = _shown(str(error))
                refused = "" if error.response["Error"]["Code"] in _OF_A_QUESTION else why
            except BotoCoreError as error:
                why = refused = _shown(str(error))
        yield Answer(question.state, question.claim, verdict, why)


def _judge(expected: Expected, answer: Mapping[str, Any]) -> tuple[Verdict, str]:
    output = json.loads(answer.get("output") or "null")
    fields = output if isinstance(output, dict) else {}
    compared = {name: fields[name] for name in expected.output if name in fields}
    found = Expected(str(answer.get("status")), answer.get("nextState"), compared)
    if json.dumps(found) == json.dumps(expected):  # where true is not 1
        return Verdict.HOLDS, ""
    error = {name: answer[name] for name in ("error", "cause") if name in answer}
    wanted, actual = (json.dumps(one) for one in (expected._asdict(), found._asdict() | error))
    return Verdict.FAILS, f"expected {_shown(wanted)}, AWS: {_shown(actual)}"


def _shown(text: str) -> str:
    """Short, and without account numbers: people send it to others."""
    text = re.sub(r"(?<![0-9])[0-9]{12}(?![0-9])", "ACCOUNT", text.rstrip("."))
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _request(question: Question, definition: str) -> dict[str, Any]:
    state, given, retried = question.state, question.given, question.retried
    request: dict[str, Any] = {"definition": definition, "stateName": state}
    request["input"] = json.dumps(given)
    if question.mock is None:  # AWS takes a context only with a mock
        return request
    # What the definition reads of it; AWS refuses fields that it does not know.
    arn, at = "arn:aws:states:us-east-1:123456789012:execution:once:m-1", "2026-01-31T09:30:00.000Z"
    message = {"message_id": "m-1", "body": given.get("body", "{}")}
    context: dict[str, Any] = {
        "Execution": {"Id": arn, "Input": message, "Name": "m-1"},
        "State": {"EnteredTime": at, "Name": state, "RetryCount": retried},
    }
    if state == "DeadLetter":  # with any other state a token is refused
        context["Task"] = {"Token": "token"}
    if retried:
        request["stateConfiguration"] = {"retrierRetryCount": retried}
    return request | {"mock": question.mock, "context": json.dumps(context)}


# --------------------------------------------------------------------------- the questions


def _result(result: Any) -> dict[str, Any]:
    return {"result": json.dumps(result), "fieldValidationMode": "NONE"}


def _returns(answer: Any) -> dict[str, Any]:
    return _result({"Payload": answer})


def _error(name: str, cause: str = "why") -> dict[str, Any]:
    return {"errorOutput": {"error": name, "cause": cause}}


def _to(state: str | None, **output: Any) -> Expected:
    return Expected("SUCCEEDED", state, output)


def _caught(state: str, **output: Any) -> Expected:
    return Expected("CAUGHT_ERROR", state, output)


# Nothing hangs on the stack's parameters where a decision has brought a version.
_VERSION = {"perform": "arn:p:1", "find": "arn:f:1", "timeout": 0, "margin": "1"}
_NEWER = _VERSION | {"perform": "arn:p:2", "timeout": 5}
_NO_TIME, _NO_FIND = {"version": {"perform": "p"}}, {"version": _VERSION | {"find": ""}}
_FAILURE = {"reason": "rounds_used_up", "error": "E", "cause": "why"}
_UNKNOWN = {"rounds": 0, "version": _VERSION, "failure": _FAILURE}
# With its letter more than the 262,144 bytes that a state's data may have.
_LARGE = {"body": "x" * 250_000, "failure": _FAILURE | {"cause": "x" * 8192}}
_YES: Any = {"performed": True, "effect": 1}
_NO: Any = {"performed": False, "effect": None}
_RESOLVE = {"decision": "resolve", "note": "by hand"}
_RETRIED, _LAST = Expected("RETRIABLE"), 24
_LOOKS, _ASKS = _caught("AwaitStraggler", rounds=1), _to("TellDeadLetter")
_GIVES_UP = _caught("TellDeadLetter", rounds=0)
_NO_ANSWER = _to("Performed?", performed=None, redrives=0, **_UNKNOWN)
_ATTEMPTED = "Attempted before: it may have happened."
_OTHERS = ("States.Timeout", "Lambda.Unknown", "Lambda.ServiceException", "AnyOther")


def _decided(decision: str, version: Any = _VERSION) -> Expected:
    return _to("TellDecision", decision=decision, version=version, rounds=0)


def _failed(error: str, cause: str) -> Expected:
    return _caught("AwaitStraggler", failure=_FAILURE | {"error": error, "cause": cause})


# By state: the claim, what the state's input has besides, and the rest of a Question.
_BY_STATE: Mapping[str, tuple[tuple[Any, ...], ...]] = {
    "PerformEffect": (
        ("Catch sees an error in Arguments", {"redrives": 1}, _returns(_YES),
         _failed("States.QueryEvaluationError", _ATTEMPTED)),
        ("Catch sees an error in Assign", {}, _returns(None), _LOOKS),
        ("Catch sees an error in TimeoutSeconds", _NO_TIME, _returns(_YES), _LOOKS),
        ("a clear yes is the end", {}, _returns(_YES), _to(None, outcome="performed", effect=1)),
        ("a no is no yes", {}, _returns(_NO), _LOOKS),
        ("a text is no yes", {}, _returns(_YES | {"performed": "true"}), _LOOKS),
        ("a yes in a list is no yes", {}, _returns([_YES]), _LOOKS),
        ("a yes without an effect is no yes", {}, _returns({"performed": True}), _LOOKS),
        *((f"{name} is retried", {}, _error(name), _RETRIED) for name in PROVE_NOTHING_HAPPENED),
        ("a person is asked in the end", {}, _error("NotPerformed"), _GIVES_UP, _LAST),
        ("a person is asked if it is rejected", {}, _error("Rejected"), _GIVES_UP),
        *((f"{name} leaves the outcome unknown", {}, _error(name), _LOOKS) for name in _OTHERS),
        ("a long cause is cut", {}, _error("E", "x" * 32_768), _failed("E", "x" * 4096)),
    ),
    "AwaitStraggler": (("a margin that is a text is a number", {}, None, _to("FindEffect")),),
    "FindEffect": (
        ("a no is a no", {}, _returns(_NO), _to("Performed?", performed=False, **_UNKNOWN)),
        ("a list is no no", {}, _returns([_NO]), _NO_ANSWER),
        ("a no in a list is no no", {}, _returns({"performed": [False]}), _NO_ANSWER),
        ("nothing is no no", {}, _returns(None), _NO_ANSWER),
        ("any error is retried", {}, _error("AnyOther"), _RETRIED),
        ("a person is asked in the end", {}, _error("AnyOther"), _GIVES_UP, _LAST),
        ("an error in Arguments is not retried", _NO_FIND, _returns(_NO), _GIVES_UP),
    ),
    "Performed?": (
        ("what was found is done", _YES, None, _to("Done", outcome="found", effect=1)),
        ("what was not done is performed", _NO, None, _to("PerformEffect")),
        ("a person is asked after the last round", _NO | {"rounds": 10**6}, None, _ASKS),
        ("a person is asked if find says nothing", {"performed": None}, None, _ASKS),
        ("a person is asked if find says a list", {"performed": [False]}, None, _ASKS),
    ),
    "TellDeadLetter": (
        ("what is refused is passed over", {}, _error("E"), _caught("DeadLetter", **_UNKNOWN), 2),
    ),
    "DeadLetter": (
        ("a decision is taken", {}, _result({"decision": "retry"}), _decided("retry")),
        ("a decision in a list is none", {}, _result({"decision": ["perform"]}), _decided("none")),
        ("a list of decisions is none", {}, _result([{"decision": "perform"}]), _decided("none")),
        ("a text is no decision", {}, _result("perform"), _decided("none")),
        ("it brings a version", {}, _result({"version": _NEWER}), _decided("none", _NEWER)),
        ("what is no version is not taken", {}, _result({"version": [_NEWER]}), _decided("none")),
        ("the largest message leaves room", _LARGE, _result({}), _decided("none")),
        ("what cannot be posted is posted again", {}, _error("SQS.SqsException"), _RETRIED),
        ("what is not answered is not", {}, _error("States.Timeout"), Expected("FAILED")),
    ),
    "Decision": (
        ("to retry looks first", {"decision": "retry"}, None, _to("FindEffect")),
        ("to perform performs", {"decision": "perform"}, None, _to("PerformEffect")),
        ("to resolve is the end", _RESOLVE, None, _to("Done", outcome="resolved", note="by hand")),
        ("none asks again", {"decision": "none"}, None, _ASKS),
    ),
}  # fmt: skip
QUESTIONS: Final = tuple(
    Question(state, claim, more if state == "PerformEffect" else _UNKNOWN | more, *rest)
    for state, rows in _BY_STATE.items()
    for claim, more, *rest in rows
)
"""Each costs one call."""
