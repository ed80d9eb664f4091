"""From a delivery to the one execution of its message: all that the starter decides.

    delivery ── read ──▶ message ── remember ──▶ row ── start ──▶ execution
                  │                     │                 │
                  └──── refused ◀───────┴─────────────────┘
                           │
                           ▼
                     UnstartedQueue

Two writes decide. Each is atomic, depends on the message id alone, and is never undone:

    remember   PutItem with attribute_not_exists(message_id): the first delivery writes the row
               {fingerprint, first_seen, memory}; every later one gets that row back unchanged.
    start      StartExecution under the name derived from the id: Step Functions starts one
               execution per name, for as long as it remembers the name.

The row says *what* the id was first seen with; only the name says *whether* it was started. So a
row with the same content never suppresses a delivery: each of them calls StartExecution.

    A ─ remember ─ start ─ answer            started
    B ──────────────────────── remember ─ start: 200 as before, or AlreadyExists     suppressed

    A ─ remember ─ ✗                         the process dies; SQS brings A back
    B ──────────────── remember ─ start      a row, but no execution yet: B starts it
    A ──────────────────────────────── remember ─ start: AlreadyExists               suppressed

    A ─ remember ─────────── start           side by side: the call that reaches Step Functions
    B ──────── remember ─ start              first starts it, and the other is suppressed

    A ─ remember ─ start ─ ✗                 started, but the answer is lost; SQS brings A back
    A ───────────────────── remember ─ start: AlreadyExists                          suppressed

    A ─ remember(x) ─ start                  the same id with other content y, before or after
    B ────── remember(y): the row says x     the start: a conflict, refused without a start

A row stops a delivery only where the name cannot answer: the row is so old that Step Functions may
have forgotten the name, or it was written for another state machine, or by a ledger or a lease.
Then the starter cannot know whether the message was acted on, and a person decides.

Invariant: `start_message` returns only once the message's execution exists or the delivery is in
UnstartedQueue. Otherwise it raises, and SQS brings the delivery back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from actonce_core.delivery import Delivery
from actonce_core.message import Message, MessageReader, Refusal, conflict
from actonce_core.reason import Reason
from actonce_core.records import timestamp
from actonce_core.result import DeliveryResult, Start
from actonce_core.unstarted import UnstartedQueue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

# Trying again cannot help. ValidationException means that the name or the input is too long; it
# could be about the ARN only if that were too long or a Distributed Map's, which !Ref never gives.
# Source: StartExecution, API reference.
_CANNOT_BE_STARTED = frozenset({"InvalidName", "InvalidExecutionInput", "ValidationException"})


@dataclass(frozen=True, slots=True)
class Row:
    """A message id's row in the Fingerprints table.

    Attributes:
        fingerprint: of the content that the id was first seen with.
        first_seen: when that was, UTC.
        memory: who knows whether the message was acted on: a state machine's ARN, or the lock that
            wrote the row. CloudFormation gives every state machine it creates a new name, so one
            ARN never stands for two sets of execution names.
    """

    fingerprint: str
    first_seen: datetime
    memory: str


def refusal_of(
    message: Message, known: Row, now: datetime, *, memory: str, names_remembered: timedelta
) -> Refusal | None:
    """Why a message whose id has a row must be refused; None if StartExecution can decide.

    Args:
        message: the delivered one.
        known: its id's row.
        now: by this machine's clock; clocks are wrong by far less than the days compared here.
        memory: ARN of the state machine that this starter uses.
        names_remembered: how long after an id was first seen Step Functions certainly still
            remembers its execution's name.
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
    """Starts each message once.

    Attributes:
        table: the Fingerprints table.
        state_machine: its ARN.
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

    def start_message(self, delivery: Delivery) -> DeliveryResult:
        """Start a delivery's message, find that it is a duplicate, or hand the delivery on.

        Raises:
            Exception: none of these is certain; the delivery must not be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.send_to_unstarted(delivery, message)
            return DeliveryResult(message, None)
        now = self.clock()
        known = self._remember(message, now)
        refusal = None
        if known is not None:
            refusal = refusal_of(
                message,
                known,
                now,
                memory=self.state_machine,
                names_remembered=self.names_remembered,
            )
        outcome = refusal or self._start(message, first_seen_now=known is None)
        if isinstance(outcome, Refusal):
            self.unstarted.send_to_unstarted(delivery, outcome)
        return DeliveryResult(outcome, message)

    def _remember(self, message: Message, now: datetime) -> Row | None:
        """Write the message's row, or return the one that its id already has.

        DynamoDB returns that row with the failed condition, so it costs no read.
        """
        try:
            self.dynamodb.put_item(
                TableName=self.table,
                Item={
                    "message_id": {"S": message.message_id},
                    "fingerprint": {"S": message.fingerprint},
                    "first_seen": {"S": timestamp(now)},
                    "memory": {"S": self.state_machine},
                },
                ConditionExpression="attribute_not_exists(message_id)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            row = error.response["Item"]  # type: ignore[typeddict-item]
            seen = row["first_seen" if "first_seen" in row else "updated"]  # a lock has the latter
            return Row(
                row["fingerprint"]["S"], datetime.fromisoformat(seen["S"]), row["memory"]["S"]
            )
        return None

    def _start(self, message: Message, *, first_seen_now: bool) -> Start | Refusal:
        """Start the message's execution, or find that it has one.

        While an execution runs, AWS answers the same start with 200 and the original start date. So
        a date before this call means a duplicate, unless the id was `first_seen_now`. That only
        chooses the label; no decision depends on it.
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
        # AWS answers in milliseconds.
        asked_at = asked_at.replace(microsecond=asked_at.microsecond // 1000 * 1000)
        was_running = not first_seen_now and answer["startDate"] < asked_at
        return Start.SUPPRESSED if was_running else Start.STARTED
