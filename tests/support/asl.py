"""Reads Amazon States Language definitions: their states, ways and JSONata expressions."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cfnlint.api import lint_all

from actonce.stack import embedded_folder as paths
from lab.conformance import machine

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

PROJECT = paths.PROJECT
PROCESS_MESSAGE = PROJECT / "statemachine" / "process_message.asl.json"

SUBSTITUTION = re.compile(r"\$\{(\w+)\}")
EXPRESSION = re.compile(r"\{%(.*)%\}", re.DOTALL)

_LONGEST = 200  # states that an execution enters

EXAMPLE_SUBSTITUTIONS = {
    "Partition": "aws",
    "EffectFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:effect",
    "FindFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:effect",
    "EffectTimeoutSeconds": "15",
    "StragglerMarginSeconds": "30",
    "MaxRounds": "3",
    "DecisionTimeoutSeconds": "1209600",
    "DeadLetterQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters",
    "StackName": "actonce",
}

Definition = dict[str, Any]


def definition(substitutions: Mapping[str, str] = EXAMPLE_SUBSTITUTIONS) -> Definition:
    """ProcessMessage's definition, with its substitutions filled in as CloudFormation does."""
    text = SUBSTITUTION.sub(lambda match: substitutions[match[1]], PROCESS_MESSAGE.read_text())
    parsed: Definition = json.loads(text)
    return parsed


def evaluate(value: Any, variables: Mapping[str, Any] | None = None, **states: Any) -> Any:
    """See `machine.evaluate`."""
    return machine.evaluate(value, states, variables)


def letter_of(message: Any, cause: str = "") -> dict[str, Any]:
    """The dead letter of a message, as ProcessMessage posts it."""
    execution = {"Input": message, "Id": "arn", "Name": "m-1"}
    body: dict[str, Any] = evaluate(
        definition()["States"]["DeadLetter"]["Arguments"]["MessageBody"],
        input={"rounds": 0, "failure": {"reason": "r", "error": cause, "cause": cause}},
        context={"Execution": execution, "State": {"EnteredTime": "at"}, "Task": {"Token": "t"}},
    )
    return body


def expressions(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every JSONata expression under a node, with the path that leads to it."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from expressions(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from expressions(value, f"{path}/{index}")
    elif isinstance(node, str) and (match := EXPRESSION.fullmatch(node)):
        yield path, match[1].strip()


def ways_out(state: Mapping[str, Any]) -> list[str]:
    """The names of the states that may follow a state."""
    ways = [choice["Next"] for choice in state.get("Choices", [])]
    ways += [catcher["Next"] for catcher in state.get("Catch", [])]
    return ways + [state[way] for way in ("Next", "Default") if way in state]


def may_end(state: Mapping[str, Any]) -> bool:
    """Whether an execution may end in a state."""
    return state["Type"] in ("Succeed", "Fail") or state.get("End") is True


def lint(definition: Definition) -> list[str]:
    """What cfn-lint says; it reads a definition only inside a state machine's resource."""
    definition = copy.deepcopy(definition)
    for state in definition["States"].values():
        if EXPRESSION.fullmatch(str(state.get("TimeoutSeconds"))):
            state["TimeoutSeconds"] = 1  # AWS takes an expression here, cfn-lint's schema does not
    properties = {"RoleArn": "arn:aws:iam::123456789012:role/states", "Definition": definition}
    wrapped = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            "Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
        },
    }
    return [f"{match.rule.id}: {match.message}" for match in lint_all(json.dumps(wrapped))]


def choose(
    choice: Mapping[str, Any],
    state_input: Any,
    variables: Mapping[str, Any] | None = None,
    context: Any = None,
) -> tuple[str, Any, dict[str, Any]]:
    """The name of the state that a Choice leads to, what it leads on with, and what it assigns."""
    known = {"input": state_input, "context": context}
    for rule in choice["Choices"]:
        if evaluate(rule["Condition"], variables, **known):
            output = evaluate(rule.get("Output", state_input), variables, **known)
            return rule["Next"], output, evaluate(rule.get("Assign", {}), variables, **known)
    return choice["Default"], state_input, {}


@dataclass
class Run:
    """An execution that has ended.

    `states`: in the order in which they were entered; `arguments`: of the last call of each task;
    `outputs`: of each state but choices; `error`: of the Fail state that it ended in, or empty.
    """

    states: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def run(definition: Definition, data: Any, answers: Mapping[str, Any], context: Any) -> Run:
    """Run an execution; nothing is tried again.

    Args:
        definition: whose tasks may assign variables.
        data: its input.
        answers: what each task is answered, by its name: a value, or an error's name as an
            exception; of a list one after another.
        context: the context object.
    """
    states, name, ended = definition["States"], definition["StartAt"], Run()
    variables: dict[str, Any] = {}
    left = {task: list(given) for task, given in answers.items() if isinstance(given, list)}
    while True:
        state = states[name]
        ended.states.append(name)
        assert len(ended.states) < _LONGEST, f"it goes on and on: {ended.states[-5:]}"
        if state["Type"] in ("Succeed", "Fail"):
            error_text = evaluate(state.get("Error", ""), variables, input=data, context=context)
            ended.error = str(error_text)
            return ended
        if state["Type"] == "Choice":
            name, data, assigned = choose(state, data, variables, context)
            variables |= assigned
            continue
        taken, known = state, {"input": data, "context": context}
        if state["Type"] == "Task":
            ended.arguments[name] = evaluate(state["Arguments"], variables, **known)
            answer = left[name].pop(0) if name in left else answers[name]
            if isinstance(answer, Exception):
                error, cause, *_ = (*map(str, answer.args), "", "")
                known["errorOutput"] = {"Error": error, "Cause": cause}
                taken = next(one for one in state["Catch"] if catches(one, error))
            else:
                known["result"] = answer
        data = evaluate(taken.get("Output", data), variables, **known)
        ended.outputs[name] = data
        variables |= evaluate(taken.get("Assign", {}), variables, **known)
        name = taken["Next"]


def states_entered(stepfunctions: "SFNClient", arn: str) -> list[str] | None:
    """The states that an execution entered, in order; None: it goes on by itself.

    One that waits for a decision is stopped.
    """
    running = stepfunctions.describe_execution(executionArn=arn)["status"] == "RUNNING"
    events = stepfunctions.get_execution_history(executionArn=arn, maxResults=1000)["events"]
    entered = [
        one["stateEnteredEventDetails"]["name"]
        for one in events
        if "stateEnteredEventDetails" in one
    ]
    if running and entered[-1:] != ["DeadLetter"]:
        return None
    if running:
        stepfunctions.stop_execution(executionArn=arn)
    return entered


def catches(catcher: Mapping[str, Any], error: str) -> bool:
    """Whether a catcher, or a retrier, matches an error; see "Error names", States Language."""
    return not {error, "States.ALL"}.isdisjoint(catcher["ErrorEquals"])
