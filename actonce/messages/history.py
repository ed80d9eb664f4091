"""What an execution went through, read from its history.

The states' names are those of `statemachine/process_message.asl.json`, which runs one at a time:
an event belongs to the state that was entered last.
"""

import contextlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from actonce.stack.clients import Stack
from actonce_core.execution import HASHED_NAME_PREFIX, execution_name
from actonce_core.histories.events import Event, details, json_object
from actonce_core.histories.stays import DEAD_LETTER, decision_of
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType
    from mypy_boto3_stepfunctions.type_defs import (
        ExecutionListItemTypeDef,
        PaginatorConfigTypeDef,
    )


@dataclass(frozen=True, slots=True)
class Execution:
    """What is used of DescribeExecution's answer. `status` is AWS's."""

    arn: str
    name: str
    status: str
    started_at: datetime
    stopped_at: datetime | None
    error: str | None
    cause: str | None
    input: dict[str, Any]
    output: dict[str, Any]

    @property
    def outcome(self) -> str | None:
        """`performed`, `found`, `resolved` or `rejected`; None: it is open, or does not say.

        Whoever stops an execution may give any error, so only one that failed was rejected.
        """
        if (self.status, self.error) == ("FAILED", REJECTED_BY_OPERATOR):
            return "rejected"
        outcome = self.output.get("outcome")
        return None if outcome is None else str(outcome)

    @property
    def message(self) -> dict[str, Any]:
        """What the function gets of the input: not what a first attempt left there."""
        return {name: self.input[name] for name in ("body", "message_id") if name in self.input}

    def as_json(self) -> dict[str, Any]:
        """For machines; without the message. `effect` is what the effect said of itself."""
        return {
            "arn": self.arn,
            "name": self.name,
            "status": self.status,
            "started_at": timestamp(self.started_at),
            "stopped_at": timestamp(self.stopped_at) if self.stopped_at else None,
            "error": self.error,
            "cause": self.cause,
            "outcome": self.output.get("outcome"),
            "effect": self.output.get("effect"),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened in an execution.

    Attributes:
        state: the state it happened in; empty for the execution as a whole.
        event_type: `started`, `entered`, `attempt`, `error`, `looked_up`, `decision`, `ended`,
            `redriven`.
        detail: `attempt`: number; `error`: error, cause; `looked_up`: performed, as the effect said
            it; `decision`: decision, note and who made it when; `ended`: status and, as far as
            there are, outcome, error, cause.
    """

    at: datetime
    state: str
    event_type: str
    detail: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "at": timestamp(self.at),
            "state": self.state,
            "event_type": self.event_type,
            **self.detail,
        }


ENDED_UNDECIDED: Final[tuple["ExecutionStatusType", ...]] = ("FAILED", "ABORTED", "TIMED_OUT")
"""How an execution may end undecided; Step Functions can continue it for 14 days."""

REJECTED_BY_OPERATOR = "RejectedByOperator"
"""The error with which the state machine ends what a person rejected."""

FIND_EFFECT = "FindEffect"
"""The state that looks the effect up."""

TELL_DEAD_LETTER, TELL_DECISION = "TellDeadLetter", "TellDecision"
"""The states that put events. What fails there changes nothing."""

NO_FUNCTION_FINDS = "No function is named to look it up"
"""What FindEffect ends with where no FindFunctionArn was given."""

BEFORE_LOOK_UP = " | FindEffect: "
"""In a cause: between what ended the attempt and what ended the look-up."""


def find_execution(stack: Stack, name: str, arn: str | None = None) -> Execution | None:
    """The execution of that name, or ARN, which may be a former state machine's; None: none."""
    try:
        answer = stack.stepfunctions.describe_execution(
            executionArn=arn or stack.execution_arn(name)
        )
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
        input=json_object(answer.get("input")),
        output=json_object(answer.get("output")),
    )


def find_execution_of(stack: Stack, message_id: str) -> Execution | None:
    """The execution of a message id, or of that name; what may be a name is one first."""
    if message_id.startswith(HASHED_NAME_PREFIX):
        execution = find_execution(stack, message_id)
        if execution is not None:
            return execution
    return find_execution(stack, execution_name(message_id))


def find_ended_undecided(stack: Stack, arns: Collection[str]) -> dict[str, tuple[str, datetime]]:
    """Which of these executions ended before anybody had decided, how and when.

    Of each status the newest are read, 1,000 or twice as many as these, where they may be.
    """
    found: dict[str, tuple[str, datetime]] = {}
    read: "PaginatorConfigTypeDef" = {"MaxItems": max(1_000, 2 * len(arns)), "PageSize": 1_000}
    with contextlib.suppress(ClientError, BotoCoreError):
        for status in ENDED_UNDECIDED if arns else ():
            for page in stack.stepfunctions.get_paginator("list_executions").paginate(
                stateMachineArn=stack.state_machine, statusFilter=status, PaginationConfig=read
            ):
                for execution in page["executions"]:
                    arn = execution["executionArn"]
                    if arn in arns and not (status == "FAILED" and _is_rejected(stack, execution)):
                        found[arn] = (status, execution.get("stopDate", execution["startDate"]))
    return found


def _is_rejected(stack: Stack, listed: "ExecutionListItemTypeDef") -> bool:
    """Whether a person rejected what failed, which the list does not tell."""
    execution = find_execution(stack, listed["name"], listed["executionArn"])
    return execution is not None and execution.outcome is not None


def steps(events: Sequence[Event]) -> list[Step]:
    """The steps of a history that a person wants to see, in order."""
    found: list[Step] = []
    state, attempts = "", 0
    answer: dict[str, Any] = {}
    for event in events:
        kind, detail = event["type"], details(event)
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
            answer = json_object(detail.get("output"))
        elif kind.endswith("StateExited"):
            found += _left(at, state, detail, answer)
        elif "error" in detail or kind.endswith(("Failed", "TimedOut")):
            found.append(Step(at, state, "error", _error(detail)))
    return found


def last_state(events: Sequence[Event]) -> str | None:
    """The state that was entered last; in it a redriven execution goes on."""
    entered = [details(event)["name"] for event in events if event["type"].endswith("StateEntered")]
    return entered[-1] if entered else None


def short_cause(cause: str | None, length: int = 200) -> str:
    """A cause in one line: of exceptions in Lambda their messages, not their stack traces."""
    text = "; the look-up failed: ".join(map(_message, (cause or "").split(BEFORE_LOOK_UP)))
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def has_no_find_function(cause: str) -> bool:
    """Whether the look-up, and not an attempt, says that no function is named for it."""
    return NO_FUNCTION_FINDS in cause.rpartition(BEFORE_LOOK_UP)[2]


_EXCEPTION = re.compile(r'"errorMessage"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)
"""In an exception as Lambda tells it: JSON that may be cut, after whatever AWS says of it."""

_LAMBDAS_OWN = re.compile(r"\A(?:RequestId: \S+ (?:Error: )?|\S+Z [0-9a-f-]{36} )")
"""What a message begins with that Lambda itself wrote, such as of a time-out."""

_CAUSE_UNKNOWN = "The cause could not be determined because Lambda did not return an error type."


def _message(cause: str) -> str:
    found = _EXCEPTION.search(cause)
    if found is None:
        return cause
    try:
        message = str(json.loads(found[1], strict=False))
    except ValueError:
        return cause
    before = cause[: cause.find("{", 0, found.start()) + 1].rstrip("{")
    return ("" if before.startswith(_CAUSE_UNKNOWN) else before) + _LAMBDAS_OWN.sub("", message)


def _left(
    at: datetime, state: str, detail: Mapping[str, Any], answer: dict[str, Any]
) -> list[Step]:
    """What came of a state that the execution has left."""
    if state == DEAD_LETTER:
        return [Step(at, state, "decision", decision_of(detail, answer))]
    output = json_object(detail.get("output")) if state == FIND_EFFECT else {}
    if "performed" in output:  # without it, it could not be asked
        return [Step(at, state, "looked_up", {"performed": output["performed"]})]
    return []


def _whole(at: datetime, kind: str, detail: Mapping[str, Any]) -> Step:
    """What happened to the execution as a whole."""
    if kind in ("ExecutionStarted", "ExecutionRedriven"):
        return Step(at, "", kind.removeprefix("Execution").lower())
    end = {"status": kind.removeprefix("Execution").upper().replace("TIMEDOUT", "TIMED_OUT")}
    outcome = json_object(detail.get("output")).get("outcome")
    end |= {"outcome": outcome} if outcome else {}
    return Step(at, "", "ended", end | _error(detail))


def _error(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {name: detail[name] for name in ("error", "cause") if detail.get(name)}
