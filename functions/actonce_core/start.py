"""From a delivery to the one execution of its message: all that the starter decides.

    delivery ── read ──▶ message ── remember ──▶ row ── start ──▶ execution
                  │                     │                 │
                  └──── refused ◀───────┴─────────────────┘
                           │
                           ▼
                     UnstartedQueue

Two writes decide. Each is atomic, goes by the message id alone, and is never taken back:

    remember   PutItem with attribute_not_exists(message_id): the row {fingerprint, first_seen,
               memory} is the first delivery's for good. Every later one gets it back unchanged.
    start      StartExecution under the name that follows from the id: Step Functions starts one
               execution of a name, for as long as it remembers it.

The row says *what* the id was first seen with; only the name says *whether* it was started. So a
row of the same content never suppresses a delivery: every one of them asks StartExecution.

    A ─ remember ─ start ─ answer            started
    B ──────────────────────── remember ─ start: 200 as before, or AlreadyExists     suppressed

    A ─ remember ─ ✗                         the process dies; SQS brings A back
    B ──────────────── remember ─ start      a row, but no execution yet: B starts it
    A ──────────────────────────────── remember ─ start: AlreadyExists               suppressed

    A ─ remember ─────────── start           side by side: whichever Step Functions hears first
    B ──────── remember ─ start              starts it, and the other one is suppressed

    A ─ remember ─ start ─ ✗                 started, and nobody was told; SQS brings A back
    A ───────────────────── remember ─ start: AlreadyExists                          suppressed

    A ─ remember(x) ─ start                  the same id with another content y, before or after
    B ────── remember(y): the row says x     the start: a conflict, refused before it is started

A row stops a delivery only where the name could not be trusted to answer: it was written so long
ago that Step Functions may have forgotten the name, or for another state machine's names, or by a
ledger or a lease. Then nobody here knows whether the message was acted on, and a person decides.

Invariant: `start_message` returns only when the message's execution exists or the delivery has been
handed on to UnstartedQueue. In every other case it raises, and SQS brings the delivery back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce_core.delivery import Delivery
from actonce_core.message import Message, MessageReader, Reason, Refusal, conflict
from actonce_core.records import timestamp
from actonce_core.unstarted import UnstartedQueue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

# Final for a message. ValidationException is so too: of a name or an input that is too long. An
# operator's mistake it would be only with an ARN that is too long or a Distributed Map's, which
# !Ref never gives; any other wrong ARN is InvalidArn or StateMachineDoesNotExist.
# Source: StartExecution, API reference.
_CANNOT_BE_STARTED = frozenset({"InvalidName", "InvalidExecutionInput", "ValidationException"})


class Start(StrEnum):
    """What became of a message that was not refused."""

    STARTED = "started"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class End:
    """How a delivery ended: `outcome` is a `Start`, or a `Refusal` that was handed on.

    `letter`: the dead letter that was posted, behind a lock.
    """

    outcome: Start | Refusal
    message: Message | None
    letter: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What the Fingerprints table remembers of a message id.

    Attributes:
        fingerprint: of the content that the id was first seen with.
        first_seen: when that was (UTC); the table has nothing else by which a time is decided.
        memory: who knows whether it was acted on: the ARN of the state machine whose execution has
            the id's name; or the lock that wrote the row. CloudFormation names a state machine anew
            each time it makes one, so an ARN never stands for names that were forgotten.
    """

    fingerprint: str
    first_seen: datetime
    memory: str


def refusal_of(
    message: Message, known: Row, now: datetime, *, memory: str, names_remembered: timedelta
) -> Refusal | None:
    """Whether a message whose id is known already must be refused.

    Args:
        message: that was delivered.
        known: the row of its id.
        now: by this machine's clock. Days are compared, far coarser than any clock is wrong.
        memory: the state machine that this starter starts executions of.
        names_remembered: for so long after an id was first seen Step Functions is certain to
            remember its execution's name, if it has one.

    Returns:
        None: the same message again, and StartExecution knows.
    """
    since = timestamp(known.first_seen)
    if known.fingerprint != message.fingerprint:
        return conflict(message, known.fingerprint, f" at {since}")
    if now - known.first_seen > names_remembered:
        return Refusal(
            Reason.TOO_OLD_TO_TELL,
            f"The message id was first seen at {since}, more than {names_remembered.days} days "
            "ago: its execution's name may be free again, so starting it could act twice.",
            message.message_id,
        )
    if known.memory != memory:
        return Refusal(
            Reason.OTHER_MEMORY,
            f"The message id was first seen at {since} by another state machine or lock, which "
            "alone knows whether it was acted on, so starting it could act twice.",
            message.message_id,
        )
    return None


@dataclass(frozen=True, slots=True)
class Starter:
    """The starter and what it talks to.

    Attributes:
        reader: of messages.
        dynamodb, table: the Fingerprints table.
        stepfunctions, state_machine: by its ARN.
        unstarted: takes what is refused.
        names_remembered: see `refusal_of`.
        clock: this machine's, UTC.
    """

    reader: MessageReader
    dynamodb: "DynamoDBClient"
    table: str
    stepfunctions: "SFNClient"
    state_machine: str
    unstarted: UnstartedQueue
    names_remembered: timedelta
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def start_message(self, delivery: Delivery) -> End:
        """Bring one delivery to its end.

        Raises:
            Exception: anything that leaves the end open; the delivery is not to be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.hand_on(delivery, message)
            return End(message, None)
        now = self.clock()
        known = self._remember(message, now)
        outcome = self._refusal_of(message, known, now) or self._start(
            message, first_seen_now=known is None
        )
        if isinstance(outcome, Refusal):
            self.unstarted.hand_on(delivery, outcome)
        return End(outcome, message)

    def _refusal_of(self, message: Message, known: Row | None, now: datetime) -> Refusal | None:
        if known is None:
            return None
        return refusal_of(
            message, known, now, memory=self.state_machine, names_remembered=self.names_remembered
        )

    def _remember(self, message: Message, now: datetime) -> Row | None:
        """Write the message's row unless its id has one; None: it was written now.

        The row that was there comes with the failed condition, at no further cost.
        """
        id_is_new = "attribute_not_exists(message_id)"
        try:
            self.dynamodb.put_item(
                TableName=self.table,
                Item={
                    "message_id": {"S": message.message_id},
                    "fingerprint": {"S": message.fingerprint},
                    "first_seen": {"S": timestamp(now)},
                    "memory": {"S": self.state_machine},
                },
                ConditionExpression=id_is_new,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row = error.response["Item"]  # type: ignore[typeddict-item]
            seen = row["first_seen" if "first_seen" in row else "updated"]  # the latter: a lock's
            return Row(
                row["fingerprint"]["S"], datetime.fromisoformat(seen["S"]), row["memory"]["S"]
            )
        return None

    def _start(self, message: Message, *, first_seen_now: bool) -> Start | Refusal:
        """Start the message's execution, or find that it has one.

        Args:
            message: that may be started.
            first_seen_now: it only helps to name the answer: while an execution runs, AWS answers
                the same start again with 200 and the original's start date, so a date before the
                call tells the duplicate. No decision rests on it.

        Source: StartExecution, API reference (idempotent for Standard workflows).
        """
        asked_at = self.clock()
        try:
            answer = self.stepfunctions.start_execution(
                stateMachineArn=self.state_machine,
                name=message.execution_name,
                input=message.execution_input,
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "ExecutionAlreadyExists":
                return Start.SUPPRESSED
            if code in _CANNOT_BE_STARTED:
                return Refusal(
                    Reason.NOT_STARTABLE,
                    f"Step Functions refused the start: {code}.",
                    message.message_id,
                )
            raise
        # AWS gives milliseconds, so the comparison must not see microseconds.
        asked_at = asked_at.replace(microsecond=asked_at.microsecond // 1000 * 1000)
        was_running = not first_seen_now and answer["startDate"] < asked_at
        return Start.SUPPRESSED if was_running else Start.STARTED
