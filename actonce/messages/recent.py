"""The recent messages: executions, or the rows of a ledger or a lease.

Both are read as AWS has them. Executions come with the newest first, so that few more are read than
are shown. Rows have no order of time: their table is read from its beginning, as far as
`MOST_ROWS`.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from actonce.messages import history
from actonce.stack.clients import Stack
from actonce.terminal.errors import WrongUse
from actonce_core.records import timestamp

EXECUTION_STATUSES: Final = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
ROW_STATUSES: Final = ("IN_PROGRESS", "COMPLETE")

MOST_ROWS: Final = 20_000
"""As many rows of a table are read, about: reading is what DynamoDB takes money for."""

MOST_NAMES: Final = 1000
"""Of one call: Step Functions lists no more at once."""

MOST_LOOKED_AT: Final = 20_000
"""Executions that are listed for a page of a day."""

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
    wanted = None if status is None else _known_status(stack, status)
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


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages.

    Attributes:
        messages: the newest first, as far as AWS lists them so.
        cursor: where the next page begins, for `page`; None: there is none.
        looked_at: executions that were listed to find these.
        read_in_part: see `Listed`.
    """

    messages: list[Recent]
    cursor: str | None
    looked_at: int
    read_in_part: bool = False


def page(
    stack: Stack, *, status: str | None, day: date | None, cursor: str | None, limit: int
) -> Page:
    """A page of recent messages.

    Step Functions cannot be asked for a day: its list is read from the newest on, `MOST_LOOKED_AT`
    executions at most, so a page may have few messages, or none, and a cursor all the same.

    Args:
        stack: whose.
        status: only those that are in it, in any case; None: in whatever.
        day: only those that began, or were last written, on this day (UTC); None: whenever.
        cursor: of the page before; None: the first page.
        limit: messages of a page, at most.

    Raises:
        WrongUse: there is no such status, or the cursor is none.
        ClientError: they may not be read.
    """
    offset, token = _position(cursor)
    if stack.ledger_table is not None:
        return _page_of_rows(stack, status, day, offset, limit)
    first = None if day is None else _midnight(day)
    until = None if first is None else first + timedelta(days=1)
    arguments: dict[str, Any] = {"stateMachineArn": stack.state_machine}
    if status is not None:
        arguments["statusFilter"] = _known_status(stack, status)
    # Of a day the others are passed over, as many with each call as there can be.
    arguments["maxResults"] = limit if day is None else MOST_NAMES
    messages: list[Recent] = []
    looked_at = 0
    while True:
        if token:
            arguments["nextToken"] = token
        answer = stack.stepfunctions.list_executions(**arguments)
        listed = [_recent(one) for one in answer["executions"]]
        looked_at += len(listed)
        for number, one in enumerate(listed[offset:], offset):
            if first is not None and (one.ended or one.since) < first:
                return Page(_with_ids(stack, messages), None, looked_at)
            if first is not None and until is not None and not first <= one.since < until:
                continue
            if len(messages) == limit:
                return Page(_with_ids(stack, messages), f"{number}:{token}", looked_at)
            messages.append(one)
        token, offset = answer.get("nextToken", ""), 0
        if not token or day is None or looked_at >= MOST_LOOKED_AT:
            messages.sort(key=lambda one: one.since, reverse=True)
            return Page(_with_ids(stack, messages), f"0:{token}" if token else None, looked_at)


def _page_of_rows(
    stack: Stack, status: str | None, day: date | None, offset: int, limit: int
) -> Page:
    first = None if day is None else _midnight(day)
    found = recent(stack, since=first, status=status, limit=MOST_ROWS)
    rows = [one for one in found.messages if first is None or one.since < first + timedelta(days=1)]
    return Page(
        messages=rows[offset : offset + limit],
        cursor=f"{offset + limit}:" if len(rows) > offset + limit else None,
        looked_at=len(found.messages),
        read_in_part=found.read_in_part or found.more,
    )


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _position(cursor: str | None) -> tuple[int, str]:
    """How many of AWS's page were shown, and AWS's own token."""
    number, colon, token = (cursor or "0:").partition(":")
    if not colon or not (number.isascii() and number.isdigit() and len(number) < 9):
        raise WrongUse("This is no place in the list: begin with its first page.")
    return int(number), token


def _executions(stack: Stack, status: str | None) -> Iterator[Recent]:
    """As Step Functions lists them: the newest first, by their ends as far as they have one."""
    arguments: dict[str, Any] = {"stateMachineArn": stack.state_machine, "maxResults": _PAGE}
    if status is not None:
        arguments["statusFilter"] = status
    while True:
        answer = stack.stepfunctions.list_executions(**arguments)
        for one in answer["executions"]:
            yield _recent(one)
        if not answer.get("nextToken"):
            return
        arguments["nextToken"] = answer["nextToken"]


def _recent(listed: Mapping[str, Any]) -> Recent:
    """An execution as ListExecutions has it."""
    stopped = listed.get("stopDate")
    return Recent(
        name=listed["name"],
        message_id=None if listed["name"].startswith(_HASHED) else listed["name"],
        status=listed["status"],
        outcome=None,
        since=listed["startDate"].astimezone(UTC),
        ended=stopped.astimezone(UTC) if stopped else None,
    )


def _known_status(stack: Stack, status: str) -> str:
    known = EXECUTION_STATUSES if stack.ledger_table is None else ROW_STATUSES
    wanted = status.upper().replace("-", "_")
    if wanted not in known:
        raise WrongUse(f"There is no status {status!r} here; there are {', '.join(known)}.")
    return wanted


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
