"""The `executions` and `dead_letters` streams, out of the histories of ProcessMessage's executions.

One call of GetExecutionHistory tells all of an execution: its status changes, its outcome, what it
posted to DeadLetterQueue and what was decided. EventBridge tells the status changes only.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from actonce import history
from actonce.aws import Stack
from actonce.deployed import stored_message_id, timestamp
from actonce.history import Event

VERSION = 1
"""Of both streams' lines; a reader refuses versions it does not know."""

HISTORIES_IN_FLIGHT = 8
"""GetExecutionHistory refills at 20 a second on AWS; more at a time are only throttled."""

DECISIONS = frozenset({"retry", "resolve", "reject"})

_THROTTLED = frozenset(
    {"Throttling", "ThrottlingException", "TooManyRequestsException", "ServiceUnavailable"}
)
_LONGEST_PAUSE = 10.0

Record = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed:
    """An execution as ListExecutions shows it; times are UTC."""

    arn: str
    name: str
    started_at: datetime
    stopped_at: datetime | None


@dataclass(frozen=True, slots=True)
class Told:
    """What one execution's history tells; None where Step Functions has forgotten it."""

    listed: Listed
    records: list[Record] | None


def executions_between(
    stack: Stack, since: datetime, until: datetime, retry_for: float
) -> list[Listed]:
    """The executions that ran at some time in `since` <= t < `until`.

    An execution runs for as long as its dead letter waits, so those of earlier days count too, and
    ListExecutions, which knows no times, is read whole.
    """
    found: list[Listed] = []
    token: dict[str, Any] = {}
    while True:
        answer = patiently(
            lambda token=token: stack.stepfunctions.list_executions(  # type: ignore[misc]
                stateMachineArn=stack.state_machine, maxResults=1000, **token
            ),
            retry_for,
        )
        for item in answer["executions"]:
            stopped = item.get("stopDate")
            one = Listed(
                item["executionArn"],
                item["name"],
                item["startDate"].astimezone(UTC),
                stopped.astimezone(UTC) if stopped else None,
            )
            if one.started_at < until and (one.stopped_at is None or one.stopped_at >= since):
                found.append(one)
        if not answer.get("nextToken"):
            return found
        token = {"nextToken": answer["nextToken"]}


def tell(stack: Stack, executions: Sequence[Listed], retry_for: float) -> Iterator[Told]:
    """Read their histories, some side by side, in no particular order."""

    def read(listed: Listed) -> Told:
        try:
            events = patiently(lambda: history.read_events(stack, listed.arn), retry_for)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
                return Told(listed, None)
            raise
        return Told(listed, records(listed.name, events))

    rest = iter(executions)
    with ThreadPoolExecutor(HISTORIES_IN_FLIGHT, thread_name_prefix="history") as threads:
        pending: set[Future[Told]] = set()
        try:
            for listed in rest:
                pending.add(threads.submit(read, listed))
                if len(pending) >= 2 * HISTORIES_IN_FLIGHT:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in pending:
                future.cancel()


def records(name: str, events: Sequence[Event]) -> list[Record]:
    """The lines of both streams that one history tells, in its order within each stream.

    Args:
        name: of the execution.
        events: its whole history, oldest first.
    """
    message_id = _message_id(events)
    return _status_changes(name, message_id, events) + _dead_letters(name, message_id, events)


def _status_changes(name: str, message_id: str | None, events: Sequence[Event]) -> list[Record]:
    lines: list[Record] = []
    started_at: str | None = None
    for step in history.steps(events):
        if step.what == "started":
            started_at = timestamp(step.at)
        ended = step.what == "ended"
        # A redrive is a start of the same execution: it runs again, from when it first began.
        if not ended and step.what not in ("started", "redriven"):
            continue
        lines.append(
            {
                "stream": "executions",
                "version": VERSION,
                "at": timestamp(step.at),
                "execution_name": name,
                "message_id": message_id,
                "status": step.detail["status"] if ended else "RUNNING",
                "started_at": started_at,
                "stopped_at": timestamp(step.at) if ended else None,
                "outcome": step.detail.get("outcome") if ended else None,
                "error": step.detail.get("error") if ended else None,
            }
        )
    return lines


def _dead_letters(name: str, message_id: str | None, events: Sequence[Event]) -> list[Record]:
    made = (step for step in history.steps(events) if step.what == "decision")
    lines: list[Record] = []
    for stay in history.dead_letter_stays(events):
        line = {
            "stream": "dead_letters",
            "version": VERSION,
            "at": timestamp(stay.posted_at),
            "message_id": message_id,
            "execution_name": name,
            "event": "posted",
            "reason": stay.failure.get("reason"),
            "error": stay.failure.get("error"),
            "decision": None,
            "note": None,
            "decided_by": None,
        }
        lines.append(line)
        if not stay.decision:
            continue
        step = next(made)
        # An answer that is none of the decisions decides nothing: the next line is a new post.
        if stay.decision.get("decision") in DECISIONS:
            lines.append(
                line
                | {
                    "at": timestamp(step.at),
                    "event": "decided",
                    "decision": stay.decision["decision"],
                    "note": stay.decision.get("note") or None,
                    "decided_by": stay.decision.get("decided_by"),
                }
            )
    return lines


def _message_id(events: Sequence[Event]) -> str | None:
    """As tables and logs keep it; None for an execution that the starter did not start."""
    started = next((e for e in events if e["type"] == "ExecutionStarted"), None)
    try:
        given = json.loads((started or {})["executionStartedEventDetails"]["input"])
        message_id = given["message_id"]
    except (KeyError, TypeError, ValueError):
        return None
    return stored_message_id(message_id) if isinstance(message_id, str) else None


def patiently(call: Callable[[], T], retry_for: float) -> T:
    """Make a call again, with back-off and full jitter, while AWS throttles it.

    The client's own retries are for a moment's throttling; a day of histories is read for minutes
    at the very rate of the quota.

    Args:
        retry_for: seconds after which the throttling is raised.

    Raises:
        ClientError: what AWS answered.
    """
    give_up_at = time.monotonic() + retry_for
    attempt = 0
    while True:
        try:
            return call()
        except ClientError as error:
            if error.response["Error"]["Code"] not in _THROTTLED:
                raise
            pause = random.uniform(0, min(_LONGEST_PAUSE, 0.5 * 2**attempt))  # noqa: S311
            if time.monotonic() + pause > give_up_at:
                raise
            time.sleep(pause)
            attempt += 1
