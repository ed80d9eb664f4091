"""Lambda durable functions in memory: starts by name, checkpoints, and repeated invocations.

Sources: "Idempotency" and "Retries for Lambda durable functions", Developer Guide, and the API
reference of Lambda. Where these are silent, as in AWS's own test runner
(`aws-durable-execution-sdk-python-testing` 1.4.0): a failed invocation is repeated after 5 s. An
execution has at most one invocation at a time.
"""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from lab.conformance.process import Process, ProcessResult, Unsupported
from lab.conformance.world import World

AGAIN_AFTER = 5_000
"""Milliseconds after a failed invocation."""
DAY = 24 * 3_600_000

DurableHandler = Callable[[dict[str, Any], Any], dict[str, Any]]
"""A function decorated by `@durable_execution`: takes event and context, returns its status."""


@dataclass(slots=True)
class _Execution:
    """`due`: when each waiting operation goes on; `last`: the last checkpoint, token and answer."""

    payload: str
    operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    closed: int | None = None
    token: int = 0
    invocations: int = 0
    last: tuple[str, dict[str, Any]] | None = None


@dataclass(slots=True)
class DurableFunctions:
    """One durable function, invoked asynchronously.

    Attributes:
        world: in which it runs.
        failed: receives the payload of a failed execution, like the function's dead-letter queue.
        timeout: milliseconds after which Lambda ends an invocation.
        handler: makes the function, for each invocation.
        retention: days for which an execution and its name are remembered after its end.
    """

    world: World
    failed: Callable[[str], None]
    timeout: int
    handler: Callable[[], DurableHandler] | None = None
    retention: int = 14
    _executions: dict[str, _Execution] = field(default_factory=dict)

    def state(self) -> Hashable:
        """All executions."""
        return tuple(
            (name, one.payload, json.dumps([one.operations, one.due]), one.token, one.closed)
            for name, one in self._executions.items()
        )

    def invoke(self, **request: Any) -> dict[str, Any]:
        """See Invoke, API reference, with `Event` and the name of an execution."""
        name, payload = request["DurableExecutionName"], request["Payload"]
        known = self._executions.get(name)
        if known is None or self._is_forgotten(known):
            self._executions[name] = _Execution(payload)
            self._begin(name)
        elif known.payload != payload:
            code = "DurableExecutionAlreadyStartedException"
            raise ClientError({"Error": {"Code": code, "Message": "other payload"}}, "Invoke")
        return {"StatusCode": 202, "DurableExecutionArn": name}

    def checkpoint_durable_execution(self, **request: Any) -> dict[str, Any]:
        """See CheckpointDurableExecution, API reference.

        A call that botocore repeats has the same token, and gets the first answer.
        """
        execution = self._executions[request["DurableExecutionArn"]]
        token = request["CheckpointToken"]
        if execution.last is not None and execution.last[0] == token:
            return execution.last[1]
        if token != str(execution.token):
            raise Unsupported(f"checkpoint token {token}")
        changed = [self._apply(execution, update) for update in request["Updates"]]
        execution.token += 1
        answer = {
            "CheckpointToken": str(execution.token),
            "NewExecutionState": {"Operations": changed},
        }
        execution.last = token, answer
        return answer

    def _apply(self, execution: _Execution, update: dict[str, Any]) -> dict[str, Any]:
        number, kind, action = update["Id"], update["Type"], update["Action"]
        known = execution.operations.get(number, {"StepDetails": {"Attempt": 0}})
        details = dict(known["StepDetails"])
        status = {"START": "STARTED", "RETRY": "PENDING", "SUCCEED": "SUCCEEDED", "FAIL": "FAILED"}
        if (kind, action) == ("WAIT", "START"):
            execution.due[number] = self.world.now + update["WaitOptions"]["WaitSeconds"] * 1000
        elif kind != "STEP":
            raise Unsupported(f"{kind} {action}")
        elif action == "RETRY":
            seconds = update["StepOptions"]["NextAttemptDelaySeconds"]
            execution.due[number] = self.world.now + seconds * 1000
        if action != "START":
            details["Attempt"] += 1
        details |= {"Result": update.get("Payload"), "Error": update.get("Error")}
        operation = {name: update.get(name) for name in ("Id", "Type", "Name", "SubType")}
        operation |= {"Status": status[action], "StepDetails": details}
        execution.operations[number] = operation
        return operation

    def _is_forgotten(self, execution: _Execution) -> bool:
        closed = execution.closed
        return closed is not None and self.world.now - closed > self.retention * DAY

    def _begin(self, name: str) -> None:
        """Invoke the function, with all checkpoints so far."""
        execution = self._executions[name]
        execution.token += 1
        execution.invocations += 1
        first = {
            "Id": name,
            "Type": "EXECUTION",
            "Status": "STARTED",
            "ExecutionDetails": {"InputPayload": execution.payload},
        }
        event = {
            "DurableExecutionArn": name,
            "CheckpointToken": str(execution.token),
            "InitialExecutionState": {"Operations": [first, *execution.operations.values()]},
        }
        text = json.dumps(event)

        def handle() -> dict[str, Any]:
            self.world.observe(text)
            assert self.handler is not None  # noqa: S101 - who starts one has deployed it
            answer = self.handler()(json.loads(text), SimpleNamespace(aws_request_id=name))
            # Before its answer arrives it may still crash.
            self.world.step("answers", lambda: None)
            return answer

        deadline = self.world.now + self.timeout
        process = Process(
            f"invocation {name}.{execution.invocations}", deadline=deadline, sandbox="durable"
        )
        self.world.spawn(process, handle, lambda ended: self._end(name, ended))

    def _end(self, name: str, ended: ProcessResult) -> None:
        execution = self._executions[name]
        status = ended.value["Status"] if ended.value else None
        self.world.tell("Lambda", f"hears of {name}", str(status or ended))
        if status is None:
            self._at(name, self.world.now + AGAIN_AFTER)
        elif status == "PENDING":
            self._at(name, min(execution.due.values()))
        else:
            execution.closed = self.world.now
            if status == "FAILED":
                self.failed(execution.payload)

    def _at(self, name: str, moment: int) -> None:
        self.world.at(moment, ("durable", name), lambda: self._go_on(name))

    def _go_on(self, name: str) -> None:
        execution = self._executions[name]
        for number in [one for one, at in execution.due.items() if at <= self.world.now]:
            del execution.due[number]
            operation = execution.operations[number]
            operation["Status"] = "READY" if operation["Type"] == "STEP" else "SUCCEEDED"
        self._begin(name)
