"""Lambda durable functions in memory: starts by name, checkpoints, and invocations until the end.

What AWS documents: "Idempotency" and "Retries for Lambda durable functions", Developer Guide, and
the API reference of Lambda. What it leaves open is as AWS's own test runner has it
(`aws-durable-execution-sdk-python-testing` 1.4.0): an invocation that failed is made again after 5
s. No invocation begins while another one of its execution is at work.
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
"""What `@durable_execution` makes of a function: takes event and context, returns its status."""


@dataclass(slots=True)
class _Execution:
    """`due`: for each operation that waits, until when; `last`: a checkpoint's token and answer."""

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
        failed: takes the payload of an execution that failed, as the function's dead-letter queue.
        timeout: milliseconds after which Lambda ends an invocation.
        handler: the function; each invocation makes it anew.
        retention: days after its end for which an execution is remembered, and its name with it.
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

        What botocore repeats has the client token that it was given, and so the first answer.
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
        """Invoke the function, with what was written down by now."""
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
        told = json.dumps(event)

        def handle() -> dict[str, Any]:
            self.world.observe(told)
            assert self.handler is not None  # noqa: S101 - who starts one has deployed it
            answer = self.handler()(json.loads(told), SimpleNamespace(aws_request_id=name))
            # Before its answer is heard it may still crash.
            self.world.step("answers", lambda: None)
            return answer

        deadline = self.world.now + self.timeout
        process = Process(f"invocation {name}.{execution.invocations}", deadline=deadline)
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
