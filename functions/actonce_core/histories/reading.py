"""Reads many histories, as fast as Step Functions allows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce_core.histories.events import Event
from actonce_core.transient import retry_throttled

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType
    from mypy_boto3_stepfunctions.type_defs import ExecutionListItemTypeDef

HISTORIES_IN_FLIGHT = 8
"""GetExecutionHistory refills at 20 a second on AWS; more at a time would only be throttled."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExecutionSummary:
    """An execution as ListExecutions shows it; times are UTC."""

    arn: str
    name: str
    started_at: datetime
    stopped_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExecutionRecords:
    """The records of an execution's history; None if Step Functions has forgotten it."""

    execution: ExecutionSummary
    records: list[Record] | None


def executions_between(
    stepfunctions: "SFNClient",
    state_machine: str,
    between: tuple[datetime, datetime],
    *,
    retry_for: float,
    status: "ExecutionStatusType | None" = None,
) -> Iterator[list[ExecutionSummary]]:
    """The executions that were running at some time in a period, a list per call; maybe empty.

    An execution runs for as long as its dead letter waits, so it may be from an earlier day.
    ListExecutions cannot filter by time, so all its pages are read.

    Args:
        stepfunctions: the client.
        state_machine: its ARN.
        between: the beginning of the period, and its end, exclusive.
        retry_for: seconds after which the throttling of one call is raised.
        status: only those that have it now.
    """
    since, until = between
    arguments: dict[str, Any] = {"stateMachineArn": state_machine, "maxResults": 1000}
    if status is not None:
        arguments["statusFilter"] = status
    while True:
        answer = retry_throttled(lambda: stepfunctions.list_executions(**arguments), retry_for)
        yield [
            one
            for one in map(_summary, answer["executions"])
            if one.started_at < until and (one.stopped_at is None or one.stopped_at >= since)
        ]
        if not answer.get("nextToken"):
            return
        arguments["nextToken"] = answer["nextToken"]


def _summary(item: "ExecutionListItemTypeDef") -> ExecutionSummary:
    stopped = item.get("stopDate")
    return ExecutionSummary(
        item["executionArn"],
        item["name"],
        item["startDate"].astimezone(UTC),
        stopped.astimezone(UTC) if stopped else None,
    )


def read_events(stepfunctions: "SFNClient", execution_arn: str) -> list[Event]:
    """The whole history, oldest first."""
    pages = stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=execution_arn,
        includeExecutionData=True,
        PaginationConfig={"PageSize": 1000},
    )
    return [event for page in pages for event in page["events"]]


def read_histories(
    stepfunctions: "SFNClient",
    executions: Iterable[ExecutionSummary],
    records: Callable[[str, Sequence[Event]], list[Record]],
    retry_for: float,
) -> Iterator[ExecutionRecords]:
    """Read executions' histories, some side by side, in no particular order.

    `records` makes records from an execution's name and its history; after `retry_for` seconds the
    throttling of one history is raised.
    """

    def read(execution: ExecutionSummary) -> ExecutionRecords:
        try:
            events = retry_throttled(lambda: read_events(stepfunctions, execution.arn), retry_for)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
                return ExecutionRecords(execution, None)
            raise
        return ExecutionRecords(execution, records(execution.name, events))

    with ThreadPoolExecutor(HISTORIES_IN_FLIGHT, thread_name_prefix="history") as threads:
        pending: set[Future[ExecutionRecords]] = set()
        try:
            for execution in executions:
                pending.add(threads.submit(read, execution))
                if len(pending) >= 2 * HISTORIES_IN_FLIGHT:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in pending:
                future.cancel()
