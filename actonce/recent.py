"""The messages of late: executions, or the rows of a ledger or a lease.

Both are read as AWS has them. Executions come with the newest first, so that few more are read than
are shown. Rows have no order of time: their table is read from its beginning, as far as
`MOST_ROWS`.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from actonce import history
from actonce.aws import Stack
from actonce.deployed import timestamp
from actonce.errors import WrongUse

EXECUTION_STATUSES: Final = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
ROW_STATUSES: Final = ("IN_PROGRESS", "COMPLETE")

MOST_ROWS: Final = 20_000
"""As many rows of a table are read, about: reading is what DynamoDB takes money for."""

MOST_NAMES: Final = 1000

_PAGE: Final = 100
_HASHED: Final = "sha256-"


@dataclass(frozen=True, slots=True)
class Recent:
    """A message.

    Attributes:
        name: what every command takes as its id: the name of its execution, or its row's key.
        message_id: the producer's; None: its execution is gone, and its name only a hash.
        status: the execution's or the row's, as AWS or the ledger calls it.
        outcome: of a row that is complete; None else.
        since: when the execution began, or the row was last written (UTC).
        ended: when the execution did; None else.
    """

    name: str
    message_id: str | None
    status: str
    outcome: str | None
    since: datetime
    ended: datetime | None

    def as_json(self) -> dict[str, str | None]:
        """For machines."""
        return {
            "id": self.name,
            "message_id": self.message_id,
            "status": self.status,
            "outcome": self.outcome,
            "since": timestamp(self.since),
            "ended": timestamp(self.ended) if self.ended else None,
        }


@dataclass(frozen=True, slots=True)
class Listed:
    """Messages, the newest first.

    Attributes:
        more: there are more, which `limit` left out.
        read_in_part: the table was not read to its end, so there may be newer ones.
    """

    messages: list[Recent]
    more: bool
    read_in_part: bool


def recent(stack: Stack, *, since: datetime | None, status: str | None, limit: int) -> Listed:
    """The newest messages.

    Args:
        stack: whose.
        since: begun, or written, not before that (UTC); None: whenever.
        status: only those that are in it, in any case; None: in whatever.
        limit: so many at most.

    Raises:
        WrongUse: there is no such status.
        ClientError: they may not be read.
    """
    known = EXECUTION_STATUSES if stack.ledger_table is None else ROW_STATUSES
    wanted = status.upper().replace("-", "_") if status is not None else None
    if wanted is not None and wanted not in known:
        raise WrongUse(f"There is no status {status!r} here; there are {', '.join(known)}.")
    if stack.ledger_table is not None:
        return _rows(stack, stack.ledger_table, since, wanted, limit)
    found: list[Recent] = []
    more = False
    for one in _executions(stack, wanted):
        if since is not None and (one.ended or one.since) < since:
            break  # by whichever of the two they are listed, the others began before, too
        if since is not None and one.since < since:
            continue
        more = len(found) == limit
        if more:
            break
        found.append(one)
    found.sort(key=lambda one: one.since, reverse=True)
    return Listed(_with_ids(stack, found), more=more, read_in_part=False)


def newest_names(stack: Stack) -> list[str]:
    """Names of the newest executions, as many as one page has: 1,000.

    Raises:
        ClientError: they may not be listed.
    """
    answer = stack.stepfunctions.list_executions(
        stateMachineArn=stack.state_machine, maxResults=MOST_NAMES
    )
    return [one["name"] for one in answer["executions"]]


def _executions(stack: Stack, status: str | None) -> Iterator[Recent]:
    """As Step Functions lists them: the newest first, by their ends as far as they have one."""
    arguments: dict[str, Any] = {"stateMachineArn": stack.state_machine, "maxResults": _PAGE}
    if status is not None:
        arguments["statusFilter"] = status
    while True:
        answer = stack.stepfunctions.list_executions(**arguments)
        for one in answer["executions"]:
            stopped = one.get("stopDate")
            yield Recent(
                name=one["name"],
                message_id=None if one["name"].startswith(_HASHED) else one["name"],
                status=one["status"],
                outcome=None,
                since=one["startDate"].astimezone(UTC),
                ended=stopped.astimezone(UTC) if stopped else None,
            )
        if not answer.get("nextToken"):
            return
        arguments["nextToken"] = answer["nextToken"]


def _with_ids(stack: Stack, found: list[Recent]) -> list[Recent]:
    """Those whose name is a hash with the id that their input has; a call for each of these."""
    _ = stack.stepfunctions  # made here: clients may be shared by threads, not made by them

    def whole(one: Recent) -> Recent:
        if one.message_id is not None:
            return one
        execution = history.find_execution(stack, one.name)
        told = execution.input.get("message_id") if execution is not None else None
        message_id = None if told is None else str(told)
        return Recent(one.name, message_id, one.status, one.outcome, one.since, one.ended)

    with ThreadPoolExecutor(8, thread_name_prefix="ids") as threads:
        return list(threads.map(whole, found))


def _rows(
    stack: Stack, table: str, since: datetime | None, status: str | None, limit: int
) -> Listed:
    """Of a table that is read from its beginning, in no order of time."""
    conditions = ["attribute_exists(#status)"]
    values: dict[str, Any] = {}
    if status is not None:
        conditions.append("#status = :status")
        values[":status"] = {"S": status}
    if since is not None:
        conditions.append("updated >= :since")
        values[":since"] = {"S": timestamp(since)}
    arguments: dict[str, Any] = {
        "TableName": table,
        "FilterExpression": " AND ".join(conditions),
        "ProjectionExpression": "message_id, #status, outcome, updated",
        "ExpressionAttributeNames": {"#status": "status"},
    }
    arguments |= {"ExpressionAttributeValues": values} if values else {}
    found: list[Recent] = []
    read = 0
    while True:
        answer = stack.dynamodb.scan(**arguments)
        read += answer["ScannedCount"]
        found += [_row(item) for item in answer["Items"]]
        last = answer.get("LastEvaluatedKey")
        if not last or read >= MOST_ROWS:
            break
        arguments["ExclusiveStartKey"] = last
    found.sort(key=lambda one: one.since, reverse=True)
    return Listed(found[:limit], more=len(found) > limit, read_in_part=bool(last))


def _row(item: dict[str, Any]) -> Recent:
    message_id = item["message_id"]["S"]
    return Recent(
        name=message_id,
        message_id=message_id,
        status=item["status"]["S"],
        outcome=item.get("outcome", {}).get("S"),
        since=datetime.fromisoformat(item["updated"]["S"]),
        ended=None,
    )
