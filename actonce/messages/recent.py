"""The recent messages by their executions.

Step Functions lists the newest first, so that few more are read than are shown.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from actonce.messages import history
from actonce.messages.history import Execution
from actonce.messages.newest import Newest
from actonce.messages.states import StateName, state_of_execution, state_of_running
from actonce.stack.clients import Stack
from actonce.terminal.errors import UsageError
from actonce_core.execution import HASHED_NAME_PREFIX
from actonce_core.histories.reading import read_events
from actonce_core.histories.stays import decision_waits
from actonce_core.records import timestamp
from actonce_core.transient import error_code

EXECUTION_STATUSES: Final = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")

MOST_NAMES: Final = 1000
"""Most executions that one call of Step Functions lists."""

MOST_STATES: Final = 100
"""Most messages of a page whose states are looked up, by one or two calls each."""

MOST_KEPT: Final = 5_000
"""Most messages that have ended whose states are kept."""

MOST_LOOKED_AT: Final = 20_000
"""Most executions that are listed for a page."""

ONLY_TROUBLE: Final = (
    "This stack starts executions on trouble only, and these are the messages that have one. "
    "actonce where finds any other by its id."
)
"""What to say of a list, where `is_of_trouble`."""

_NO_PLACE: Final = "This is no place in the list, or no longer: begin with its first page."

Between = tuple[datetime | None, datetime | None]
"""Not before the first moment, and before the second (UTC); None: whenever."""


def whole_day(day: date) -> Between:
    """A UTC day, from its midnight to the next, which the last day of the calendar has not."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return midnight, None if day == date.max else midnight + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Recent:
    """A message.

    Attributes:
        name: of its execution; every command takes it as an id.
        message_id: the producer's; None: the name is a hash, and the execution is gone or, on a
            page that is too long, was not looked up.
        status: AWS's of the execution.
        state: one of `states.STATES`; None: the page is too long to look them up.
        since: when the execution began (UTC).
        ended: when the execution did; None else.
    """

    name: str
    message_id: str | None
    status: str
    state: StateName | None
    since: datetime
    ended: datetime | None

    def as_json(self) -> dict[str, str | None]:
        """For machines."""
        return {
            "id": self.name,
            "message_id": self.message_id,
            "status": self.status,
            "state": self.state,
            "since": timestamp(self.since),
            "ended": timestamp(self.ended) if self.ended else None,
        }


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages.

    Attributes:
        messages: the newest first, as far as AWS lists them so.
        cursor: where the next page begins, for `page`; None: there is none.
        looked_at: how many executions were read to find these.
    """

    messages: list[Recent]
    cursor: str | None
    looked_at: int


def is_of_trouble(stack: Stack) -> bool:
    """Whether the list lacks what a first attempt performed: rows are too many to be read."""
    return stack.start_executions == "on-trouble"


class EndedMessages(Newest[tuple[str, datetime], Recent]):
    """Messages that have ended, by their executions' names and ends: each is looked up once.

    A message that is redriven ends again, at another time.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        super().__init__(most)


def page(  # noqa: PLR0913 - which of all, and what is known of them
    stack: Stack,
    *,
    status: str | None = None,
    between: Between = (None, None),
    cursor: str | None = None,
    limit: int,
    known: EndedMessages | None = None,
) -> Page:
    """A page of recent messages.

    Step Functions cannot be asked for a time: its list is read from the newest on, `MOST_LOOKED_AT`
    executions at most, so a page may have few messages, or none, and a cursor all the same.

    Args:
        stack: whose.
        status: only messages of this status, in upper or lower case.
        between: only messages that began in that span.
        cursor: of the page before.
        limit: most messages of a page.
        known: messages that earlier pages looked up.

    Raises:
        UsageError: there is no such status, or the cursor is invalid.
        ClientError: the executions cannot be read.
    """
    offset, token = _position(cursor)
    wanted = None if status is None else _known_status(status)
    since, until = between
    arguments: dict[str, Any] = {"stateMachineArn": stack.state_machine}
    arguments |= {} if wanted is None else {"statusFilter": wanted}
    # One more, which tells whether there are more; of a time the others are passed over, as many
    # with each call as there can be.
    arguments["maxResults"] = min(limit + 1, MOST_NAMES) if until is None else MOST_NAMES
    known = EndedMessages() if known is None else known
    messages: list[Recent] = []
    looked_at = 0
    while True:
        if token:
            arguments["nextToken"] = token
        answer = _listed(stack, arguments)
        listed = [_recent(message) for message in answer["executions"]]
        looked_at += len(listed)
        for number, message in enumerate(listed[offset:], offset):
            # By whichever of the two they are listed, the others began before, too.
            if since is not None and (message.ended or message.since) < since:
                return _sorted(stack, known, messages, None, looked_at)
            if (since and message.since < since) or (until and message.since >= until):
                continue
            if len(messages) == limit:
                return _sorted(stack, known, messages, f"{number}:{token}", looked_at)
            messages.append(message)
        token, offset = answer.get("nextToken", ""), 0
        if not token or len(messages) == limit or looked_at >= MOST_LOOKED_AT:
            return _sorted(stack, known, messages, f"0:{token}" if token else None, looked_at)


def _listed(stack: Stack, arguments: Mapping[str, Any]) -> Any:
    """ListExecutions' answer.

    Raises:
        UsageError: AWS does not take the token of a page before, or no longer.
    """
    try:
        return stack.stepfunctions.list_executions(**arguments)
    except ClientError as error:
        is_refused = error_code(error) in ("InvalidToken", "ValidationException")
        if is_refused and "nextToken" in arguments:
            raise UsageError(_NO_PLACE) from error
        raise


def _sorted(
    stack: Stack, known: EndedMessages, found: list[Recent], cursor: str | None, looked_at: int
) -> Page:
    found.sort(key=lambda message: message.since, reverse=True)
    return Page(_whole(stack, known, found), cursor, looked_at)


def _position(cursor: str | None) -> tuple[int, str]:
    """How many of AWS's page were shown before, and AWS's own token."""
    number, colon, token = (cursor or "0:").partition(":")
    if not colon or not (number.isascii() and number.isdigit() and len(number) < 9):
        raise UsageError(_NO_PLACE)
    return int(number), token


def _recent(listed: Mapping[str, Any]) -> Recent:
    """An execution as ListExecutions has it."""
    stopped = listed.get("stopDate")
    return Recent(
        name=listed["name"],
        message_id=None if listed["name"].startswith(HASHED_NAME_PREFIX) else listed["name"],
        status=listed["status"],
        state=None,
        since=listed["startDate"].astimezone(UTC),
        ended=stopped.astimezone(UTC) if stopped else None,
    )


def _known_status(status: str) -> str:
    wanted = status.upper().replace("-", "_")
    if wanted not in EXECUTION_STATUSES:
        there_are = ", ".join(EXECUTION_STATUSES)
        raise UsageError(f"There is no status {status!r}; there are {there_are}.")
    return wanted


def _whole(stack: Stack, known: EndedMessages, found: list[Recent]) -> list[Recent]:
    """The messages with their states and the ids of their inputs, if there are not too many."""
    if len(found) > MOST_STATES:
        return found
    _ = stack.stepfunctions  # made here: clients may be shared by threads, not made by them

    def whole(message: Recent) -> Recent:
        before = known.get((message.name, message.ended)) if message.ended else None
        if before is not None:
            return before
        if message.status == "RUNNING" and message.message_id is not None:
            running, has_ended = _running_state(stack, stack.execution_arn(message.name))
            if not has_ended:  # so its events tell all; where it has, what it was listed as is old
                return replace(message, state=running)
        # Of one that failed only its error tells whether a person had rejected it.
        state = "ended" if message.status == "FAILED" else state_of_execution(message.status)
        try:
            execution = history.find_execution(stack, message.name)
        except ClientError:  # it may not be read
            execution = None
        if execution is None:
            return replace(message, state=state)
        message_id = message.message_id or execution.input.get("message_id")
        looked_up = replace(
            message,
            message_id=None if message_id is None else str(message_id),
            status=execution.status,
            state=_state(stack, execution),
        )
        if message.ended and execution.status == message.status:
            known[message.name, message.ended] = looked_up
        return looked_up

    with ThreadPoolExecutor(8, thread_name_prefix="recent") as threads:
        return list(threads.map(whole, found))


def _state(stack: Stack, execution: Execution) -> StateName:
    if execution.status != "RUNNING":
        return state_of_execution(execution.status, execution.outcome)
    return _running_state(stack, execution.arn)[0]


def _running_state(stack: Stack, arn: str) -> tuple[StateName, bool]:
    """The state of an execution that ran, and whether its events tell that it has ended."""
    try:
        events = read_events(stack.stepfunctions, arn)
    except ClientError:
        return "running", False  # it may not be read, or is gone by now
    steps = history.steps(events)
    has_ended = any(step.event_type == "ended" for step in steps[-1:])
    return state_of_running(steps, decision_waits(events)), has_ended
