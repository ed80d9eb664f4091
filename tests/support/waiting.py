"""Executions on moto that wait for a decision: moto itself has no tasks that wait."""

import json
from typing import Any

import pytest
from moto.backends import get_backend
from moto.core.exceptions import AWSError
from moto.stepfunctions.models import Execution, StepFunctionBackend

from actonce.stack.clients import Stack
from tests.support.histories import Kind, history_of, succeeded
from tests.support.queues import letter_body
from tests.support.stacks import NOW

_LOOKS_SO = Execution.get_execution_history


class TaskDoesNotExist(AWSError):
    """What Step Functions says of a token whose task is not open."""

    TYPE = "TaskDoesNotExist"
    STATUS = 400


def let_tasks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have moto take answers to the tasks of `dead`, each once, and tell their histories."""
    monkeypatch.setattr(StepFunctionBackend, "send_task_success", _answer)
    monkeypatch.setattr(StepFunctionBackend, "send_task_heartbeat", _open)
    monkeypatch.setattr(Execution, "get_execution_history", _history)


def dead(stack: Stack, message_id: str, number: int = 0, **more: Any) -> str:
    """A message whose execution posts a dead letter, and waits; SQS's id of the letter.

    `number`, `more`: see `letter_body`.
    """
    body = letter_body(message_id, number, **more)
    posted = json.loads(body)
    name, given = posted["execution_name"], json.dumps({"message_id": message_id, "body": "{}"})
    backend = get_backend("stepfunctions")["123456789012"]["us-east-1"]
    execution: Any = backend.start_execution(stack.state_machine, name, given)
    if not hasattr(execution, "kinds"):
        execution.kinds, execution.answers = [("ExecutionStarted", {"input": given})], []
    failure = {field: posted[field] for field in ("reason", "error", "cause")}
    entered = json.dumps({"rounds": posted["rounds"], "failure": failure})
    execution.kinds += [
        ("TaskStateEntered", {"name": "DeadLetter", "input": entered}),
        ("TaskScheduled", {"parameters": json.dumps({"MessageBody": posted})}),
    ]
    execution.token = posted["task_token"]
    return stack.sqs.send_message(QueueUrl=stack.dead_letter_queue, MessageBody=body)["MessageId"]


def ended(stack: Stack, message_id: str, outcome: str) -> None:
    """A message whose execution has ended well."""
    execution = _execution(stack, message_id)
    execution.kinds.append(succeeded(outcome))
    execution.token, execution.status = None, "SUCCEEDED"
    execution.output, execution.stop_date = json.dumps({"outcome": outcome}), execution.start_date


def answer_to(stack: Stack, message_id: str) -> dict[str, Any] | None:
    """The last answer to the message's task, such as `{"decision": "reject", …}`; None: none."""
    answers: list[dict[str, Any]] = _execution(stack, message_id).answers
    return answers[-1] if answers else None


def decision_on(stack: Stack, message_id: str) -> str | None:
    """The last decision on a message; None: it waits, and nobody has made any."""
    return (answer_to(stack, message_id) or {}).get("decision")


def _execution(stack: Stack, message_id: str) -> Any:
    backend = get_backend("stepfunctions")["123456789012"]["us-east-1"]
    machine = backend.describe_state_machine(stack.state_machine)
    (found,) = (
        one
        for one in machine.executions
        if json.loads(one.execution_input)["message_id"] == message_id
    )
    return found


def _of_task(backend: StepFunctionBackend, token: str) -> Any:
    for machine in backend.state_machines:
        for execution in machine.executions:
            if getattr(execution, "token", None) == token:
                return execution
    raise TaskDoesNotExist("Task does not exist")


def _open(backend: StepFunctionBackend, task_token: str) -> None:
    _of_task(backend, task_token)


def _answer(backend: StepFunctionBackend, task_token: str, outcome: str) -> None:
    execution, answer = _of_task(backend, task_token), json.loads(outcome)
    execution.token = None
    execution.answers.append(answer)
    left = {"decision": answer["decision"], "note": answer["note"]}
    kinds: list[Kind] = [
        ("TaskSucceeded", {"output": outcome}),
        ("TaskStateExited", {"name": "DeadLetter", "output": json.dumps(left)}),
    ]
    if answer["decision"] == "resolve":
        execution.status, execution.output = "SUCCEEDED", json.dumps({"outcome": "resolved"})
        kinds.append(succeeded("resolved"))
    if answer["decision"] == "reject":
        execution.status, execution.error = "FAILED", "RejectedByOperator"
        kinds.append(("ExecutionFailed", {"error": execution.error, "cause": ""}))
    execution.kinds += kinds
    execution.stop_date = None if execution.status == "RUNNING" else execution.start_date


def _history(execution: Any, role: str) -> Any:
    if hasattr(execution, "kinds"):
        return history_of(*execution.kinds, start=NOW)
    return _LOOKS_SO(execution, role)
