"""Runs a state machine's definition, in as much Amazon States Language as ProcessMessage uses.

The definition is the file that ships. Anything unsupported is refused, so that a new field in the
file fails a test, instead of having no effect. What a task assigns may only fail: an expression
that reads it has no value.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from jsonata import Jsonata
from jsonata.jexception import JException

from lab.conformance.process import Unsupported

Definition = Mapping[str, Any]
States = dict[str, Any]

_EXPRESSION = re.compile(r"\{%(.*)%\}", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\{(\w+)\}")
_INVOKE = "arn:aws:states:::lambda:invoke"
_SEND_AND_WAIT = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
_PUT_EVENTS = "arn:aws:states:::events:putEvents"

_ENTERED = "EnteredTime"
CHANCE = 0.5
"""Stands for every random number."""

_KNOWN = {
    "Task": {
        *("Resource", "Arguments", "TimeoutSeconds", "Assign", "Output"),
        *("Retry", "Catch", "Next", "End"),
    },
    "Wait": {"Seconds", "Output", "Next"},
    "Choice": {"Choices", "Default"},
    "Succeed": set(),
    "Fail": {"Error", "Cause"},
}
_KNOWN_IN_RETRY = {
    "ErrorEquals",
    "IntervalSeconds",
    "MaxAttempts",
    "BackoffRate",
    "MaxDelaySeconds",
    "JitterStrategy",
}
_KNOWN_IN_CATCH = {"ErrorEquals", "Output", "Next"}
_KNOWN_IN_CHOICE = {"Condition", "Output", "Next"}


class StateFailed(Exception):
    """A state's error, as Step Functions names it."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(error, cause)
        self.error = error
        self.cause = cause


class Aborted(Exception):
    """An operator has aborted the execution."""


class Services(Protocol):
    """The services that a state machine calls. Each call may raise `Aborted`."""

    def invoke(self, function: str, payload: Any, timeout: float) -> Any:
        """Invoke a function, or a version of one; its answer.

        Raises StateFailed, `States.Timeout` among them.
        """

    def send_and_wait(self, arguments: Any, timeout: float) -> Any:
        """Send a message and wait for its task token. Raises StateFailed."""

    def put_events(self, arguments: Any) -> Any:
        """Put events on a bus; PutEvents' answer. Raises StateFailed."""

    def wait(self, seconds: float) -> None:
        """Let the time pass."""

    def enter(self, state: str) -> Callable[[], str]:
        """A state is entered; the result gives the time when asked, ISO 8601."""


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution's part of the context object."""

    name: str
    arn: str
    input: Any
    redrives: int = 0


@dataclass(slots=True)
class Position:
    """An execution's current state, and that state's input."""

    state: str
    input: Any


def load(text: str, substitutions: Mapping[str, str]) -> Definition:
    """Read a definition, with its substitutions filled in as CloudFormation does.

    Raises:
        Unsupported: it has a field, a state type or a query language that is not supported here.
    """
    definition: Definition = json.loads(_SUBSTITUTION.sub(lambda m: substitutions[m[1]], text))
    if definition.get("QueryLanguage") != "JSONata":
        raise Unsupported("a query language that is not JSONata")
    _refuse_unknown(definition, {"Comment", "QueryLanguage", "StartAt", "States"}, "definition")
    for name, state in definition["States"].items():
        known = _KNOWN.get(state["Type"])
        if known is None:
            raise Unsupported(f"{name}: the type {state['Type']}")
        _refuse_unknown(state, known | {"Type", "Comment"}, name)
        for part, inner in (
            ("Retry", _KNOWN_IN_RETRY),
            ("Catch", _KNOWN_IN_CATCH),
            ("Choices", _KNOWN_IN_CHOICE),
        ):
            for entry in state.get(part, []):
                _refuse_unknown(entry, inner, f"{name}, {part}")
    return definition


def _refuse_unknown(node: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = node.keys() - known
    if unknown:
        raise Unsupported(f"{where}: {sorted(unknown)}")


def start(definition: Definition, execution: Execution) -> Position:
    """Where an execution begins."""
    return Position(definition["StartAt"], execution.input)


def run(
    definition: Definition,
    execution: Execution,
    services: Services,
    position: Position | None = None,
) -> Any:
    """Run an execution to its end.

    Args:
        definition: of its state machine.
        execution: its part of the context object.
        services: for its tasks.
        position: where to continue, updated in place; None: at the start. A redriven execution
            continues in the unsuccessful state, with that state's input and no attempts counted.
            Source: "Restarting state machine executions with redrive", Developer Guide.

    Returns:
        Its output.

    Raises:
        StateFailed: it failed.
        Aborted: it was aborted at `position`.
    """
    position = position or start(definition, execution)
    while True:
        name, data = position.state, position.input
        states = {
            "input": data,
            "context": _context(execution),
            _ENTERED: services.enter(name),
        }
        state = definition["States"][name]
        kind = state["Type"]
        if kind == "Succeed":
            return data
        if kind == "Fail":
            raise StateFailed(
                evaluate(state.get("Error", ""), states), evaluate(state.get("Cause", ""), states)
            )
        if kind == "Wait":
            services.wait(_whole(evaluate(state["Seconds"], states)))
            position.input = evaluate(state.get("Output", data), states)
            position.state = state["Next"]
        elif kind == "Choice":
            position.state, position.input = _choose(state, states)
        else:
            following, output = _run_task(state, states, services)
            if following is None:
                return output
            position.state, position.input = following, output


def _whole(seconds: Any) -> float:
    """The seconds of a Wait; others would fail the execution past every Catch."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise StateFailed("States.QueryEvaluationError", f"Seconds: {seconds!r}")
    if seconds != int(seconds) or not 0 <= seconds <= 99_999_999:
        raise StateFailed("States.QueryEvaluationError", f"Seconds: {seconds!r}")
    return float(seconds)


def _context(execution: Execution) -> dict[str, Any]:
    return {
        "Execution": {
            "Input": execution.input,
            "Id": execution.arn,
            "Name": execution.name,
            "RedriveCount": execution.redrives,
        },
        "State": {},
        "Task": {"Token": f"token-{execution.name}"},
    }


def _choose(state: Definition, states: States) -> tuple[str, Any]:
    for rule in state["Choices"]:
        if evaluate(rule["Condition"], states) is True:
            return rule["Next"], evaluate(rule.get("Output", states["input"]), states)
    return state["Default"], states["input"]


def _run_task(state: Definition, states: States, services: Services) -> tuple[str | None, Any]:
    attempts = [0] * len(state.get("Retry", []))
    while True:
        states["context"]["State"]["RetryCount"] = sum(attempts)
        try:
            ended = {**states, "result": _do(state, states, services)}
            evaluate(state.get("Assign", {}), ended)  # of what fails there, Catch hears
        except StateFailed as failure:
            waits = _wait_before_retry(state.get("Retry", []), attempts, failure.error)
            if waits is not None:
                services.wait(waits)
                continue
            for catcher in state.get("Catch", []):
                if _matches(catcher["ErrorEquals"], failure.error):
                    error = {"Error": failure.error, "Cause": failure.cause}
                    output = evaluate(catcher["Output"], {**states, "errorOutput": error})
                    return catcher["Next"], output
            raise
        # AWS does not say whether Catch hears of what fails here; the worse is assumed.
        output = evaluate(state["Output"], ended)
        return (None if state.get("End") else state["Next"]), output


def _do(state: Definition, states: States, services: Services) -> Any:
    arguments = evaluate(state["Arguments"], states)
    timeout = evaluate(state["TimeoutSeconds"], states)
    if state["Resource"] == _INVOKE:
        if arguments.keys() != {"FunctionName", "Payload"}:
            raise Unsupported(f"an invocation with {sorted(arguments)}")
        return {
            "Payload": services.invoke(arguments["FunctionName"], arguments["Payload"], timeout)
        }
    if state["Resource"] == _SEND_AND_WAIT:
        return services.send_and_wait(arguments, timeout)
    if state["Resource"] == _PUT_EVENTS:
        return services.put_events(arguments)
    raise Unsupported(f"the resource {state['Resource']}")


def _wait_before_retry(retriers: Any, attempts: list[int], error: str) -> float | None:
    """Seconds until the next attempt, with `CHANCE` for full jitter; None: no further attempt."""
    for index, retrier in enumerate(retriers):
        if _matches(retrier["ErrorEquals"], error):
            attempts[index] += 1
            if attempts[index] > retrier.get("MaxAttempts", 3):
                return None
            waits = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2) ** (
                attempts[index] - 1
            )
            share = CHANCE if retrier.get("JitterStrategy") == "FULL" else 1
            return float(min(waits, retrier.get("MaxDelaySeconds", waits))) * share
    return None


_NO_TASK_FAILED = frozenset({"States.Timeout", "States.QueryEvaluationError"})
"""Not matched by `States.TaskFailed`: a time-out, as AWS documents, and a failed expression, on
which it says nothing; the worse is assumed."""


def _matches(wanted: list[str], error: str) -> bool:
    return (
        error in wanted
        or "States.ALL" in wanted
        or ("States.TaskFailed" in wanted and error not in _NO_TASK_FAILED)
    )


def evaluate(value: Any, states: States, variables: Mapping[str, Any] | None = None) -> Any:
    """Evaluate a field: every `{% … %}` in it, at any depth.

    Args:
        value: the field's; anything that is not an expression stays as it is.
        states: `$states`: input, result, errorOutput, context.
        variables: assigned by earlier states.

    Raises:
        StateFailed: an expression has no value, or fails (`States.QueryEvaluationError`).
    """
    known = {name: states[name] for name in states if name != _ENTERED}
    whole = {"states": known, **(variables or {})}
    return _filled_in(value, json.dumps(whole, sort_keys=True), states)


def _filled_in(value: Any, known: str, states: States) -> Any:
    if isinstance(value, dict):
        return {key: _filled_in(item, known, states) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled_in(item, known, states) for item in value]
    match = _EXPRESSION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    if _ENTERED in match[1] and _ENTERED in states:
        # Only here, so that expressions that do not use the time are cached at any time.
        whole = json.loads(known)
        whole["states"]["context"]["State"][_ENTERED] = states[_ENTERED]()
        known = json.dumps(whole, sort_keys=True)
    try:
        exists, result = _evaluated(match[1].strip(), known)
    except JException as error:
        raise StateFailed("States.QueryEvaluationError", str(error)) from error
    if not exists:
        raise StateFailed("States.QueryEvaluationError", match[1].strip())
    return result


@lru_cache(maxsize=100_000)
def _evaluated(expression: str, known: str) -> tuple[bool, Any]:
    """Whether the expression has a value, and the value; cached, because runs repeat each other."""
    # The library returns None for null and for no value; for AWS only null is a value.
    exists = _parsed(f"$exists(({expression}))").evaluate(None, json.loads(known))
    value = _parsed(expression).evaluate(None, json.loads(known)) if exists else None
    return bool(exists), value


@lru_cache(maxsize=1_000)
def _parsed(expression: str) -> Jsonata:
    parsed = Jsonata.jsonata(expression)
    parsed.register_lambda("string", _string)
    parsed.register_lambda("random", _random)
    return parsed


def _random() -> float:
    """Constant: the exact time of a retry is not a choice that a walk makes."""
    return CHANCE


def _string(value: Any) -> str:
    """`$string` as in JSONata's reference; the library's own escapes everything but ASCII."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
