"""What an execution went through, read from its history.

The states' names are those of `statemachine/process_message.asl.json`, which runs one at a time:
an event belongs to the state that was entered last.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from actonce.aws import Stack
from actonce.deployed import execution_name, timestamp

DEAD_LETTER = "DeadLetter"

Event = Mapping[str, Any]
"""An event of GetExecutionHistory."""


@dataclass(frozen=True, slots=True)
class Execution:
    """DescribeExecution's answer, as far as it is wanted here. `status` is AWS's."""

    arn: str
    name: str
    status: str
    started_at: datetime
    stopped_at: datetime | None
    error: str | None
    cause: str | None
    input: dict[str, Any]
    output: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """For machines; without the message."""
        return {
            "arn": self.arn,
            "name": self.name,
            "status": self.status,
            "started_at": timestamp(self.started_at),
            "stopped_at": timestamp(self.stopped_at) if self.stopped_at else None,
            "error": self.error,
            "cause": self.cause,
            "outcome": self.output.get("outcome"),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened in an execution.

    Attributes:
        state: the state it happened in; empty for the execution as a whole.
        what: `started`, `entered`, `attempt`, `error`, `decision`, `ended`, `redriven`.
        detail: `attempt`: number; `error`: error, cause; `decision`: decision, note and who made it
            when; `ended`: status and, as far as there are, outcome, error, cause.
    """

    at: datetime
    state: str
    what: str
    detail: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {"at": timestamp(self.at), "state": self.state, "what": self.what, **self.detail}


@dataclass(slots=True)
class Stay:
    """One stay in the state DeadLetter, from the post to the decision or to the time-out.

    Attributes:
        failure: `reason`, `error`, `cause`, `rounds`.
        decision: `decision`, `note` and, from this command line, `decided_at`, `decided_by`; empty
            while there is none.
        task_token: of the open task, where the history tells it.
        over: no decision can be made any more.
    """

    posted_at: datetime
    failure: dict[str, Any]
    decision: dict[str, Any] = field(default_factory=dict)
    task_token: str | None = None
    over: bool = False

    def as_json(self) -> dict[str, Any]:
        """For machines; without the token, which is as good as the decision."""
        return {
            "posted_at": timestamp(self.posted_at),
            **self.failure,
            "awaiting_decision": not self.over,
            "decision": self.decision or None,
        }


def find_execution(stack: Stack, name: str) -> Execution | None:
    """The execution of that name; None if Step Functions knows none."""
    try:
        answer = stack.stepfunctions.describe_execution(executionArn=stack.execution_arn(name))
    except ClientError as error:
        if error.response["Error"]["Code"] in ("ExecutionDoesNotExist", "InvalidArn"):
            return None
        raise
    return Execution(
        arn=answer["executionArn"],
        name=name,
        status=answer["status"],
        started_at=answer["startDate"].astimezone(UTC),
        stopped_at=answer["stopDate"].astimezone(UTC) if answer.get("stopDate") else None,
        error=answer.get("error"),
        cause=answer.get("cause"),
        input=_object(answer.get("input")),
        output=_object(answer.get("output")),
    )


def find_execution_of(stack: Stack, message_id: str) -> Execution | None:
    """The execution of a message id, or of that name: a hashed name is all that AWS shows."""
    execution = find_execution(stack, execution_name(message_id))
    if execution is None and message_id.startswith("sha256-"):
        execution = find_execution(stack, message_id)
    return execution


def read_events(stack: Stack, execution_arn: str) -> list[Event]:
    """The whole history, oldest first."""
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=execution_arn,
        includeExecutionData=True,
        PaginationConfig={"PageSize": 1000},
    )
    return [event for page in pages for event in page["events"]]


def steps(events: Sequence[Event]) -> list[Step]:
    """What a person wants to know of a history, in its order."""
    found: list[Step] = []
    state, attempts = "", 0
    answer: dict[str, Any] = {}
    for event in events:
        kind, detail = event["type"], _details(event)
        at = event["timestamp"].astimezone(UTC)
        if kind.startswith("Execution"):
            # A redrive goes on in the state that failed, without an event that it was entered.
            attempts = 0
            found.append(_whole(at, kind, detail))
        elif kind.endswith("StateEntered"):
            state, attempts, answer = detail["name"], 0, {}
            found.append(Step(at, state, "entered"))
        elif kind in ("TaskScheduled", "LambdaFunctionScheduled"):
            attempts += 1
            if attempts > 1:
                found.append(Step(at, state, "attempt", {"number": attempts}))
        elif kind == "TaskSucceeded":
            answer = _object(detail.get("output"))
        elif kind.endswith("StateExited") and state == DEAD_LETTER:
            found.append(Step(at, state, "decision", _decision(detail, answer)))
        elif "error" in detail or kind.endswith(("Failed", "TimedOut")):
            found.append(Step(at, state, "error", _error(detail)))
    return found


def dead_letter_stays(events: Sequence[Event]) -> list[Stay]:
    """Every dead letter that the execution posted, in order."""
    stays: list[Stay] = []
    answer: dict[str, Any] = {}
    inside = False
    for event in events:
        kind, detail = event["type"], _details(event)
        at = event["timestamp"].astimezone(UTC)
        if kind.endswith("StateEntered"):
            inside, answer = detail["name"] == DEAD_LETTER, {}
            if inside:
                given = _object(detail.get("input"))
                failure = given.get("failure") or {}
                stays.append(Stay(at, {**failure, "rounds": given.get("rounds")}))
        elif kind == "ExecutionRedriven" and stays and stays[-1].over and not stays[-1].decision:
            stays.append(Stay(at, stays[-1].failure))
            inside = True
        elif not inside:
            continue
        elif kind == "TaskScheduled":
            body = _object(detail.get("parameters")).get("MessageBody")
            # Step Functions keeps what it sent as a text or as the object it was made from.
            posted = body if isinstance(body, dict) else _object(body)
            stays[-1].task_token = posted.get("task_token")
        elif kind == "TaskSucceeded":
            answer = _object(detail.get("output"))
        elif kind.endswith("StateExited"):
            stays[-1].decision, stays[-1].over = _decision(detail, answer), True
            inside = False
        elif kind.startswith("Execution"):
            stays[-1].over, inside = True, False
    return stays


def short_cause(cause: str | None, length: int = 200) -> str:
    """A cause in one line: of an exception in Lambda its message, not its stack trace."""
    text = cause or ""
    text = str(_object(text).get("errorMessage") or text)
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _details(event: Event) -> Mapping[str, Any]:
    """An event's own part: `taskFailedEventDetails` and the like, one per event at most."""
    for name, value in event.items():
        if name.endswith("EventDetails"):
            return value  # type: ignore[no-any-return]
    return {}


def _whole(at: datetime, kind: str, detail: Mapping[str, Any]) -> Step:
    """What happened to the execution as a whole."""
    if kind in ("ExecutionStarted", "ExecutionRedriven"):
        return Step(at, "", kind.removeprefix("Execution").lower())
    return Step(at, "", "ended", _end(kind, detail))


def _decision(exited: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    output = _object(exited.get("output"))
    decision = {"decision": output.get("decision"), "note": output.get("note") or ""}
    who = {name: answer[name] for name in ("decided_at", "decided_by") if answer.get(name)}
    return decision | who


def _end(kind: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    end: dict[str, Any] = {"status": kind.removeprefix("Execution").upper()}
    if end["status"] == "TIMEDOUT":
        end["status"] = "TIMED_OUT"
    outcome = _object(detail.get("output")).get("outcome")
    return end | ({"outcome": outcome} if outcome else {}) | _error(detail)


def _error(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {name: detail[name] for name in ("error", "cause") if detail.get(name)}


def _object(text: Any) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
