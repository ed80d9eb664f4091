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

Where the starter makes the first attempt itself, `first_attempt` tells what a row says.

A row stops a delivery only where the name cannot answer: the row is so old that Step Functions may
have forgotten the name, or it was written for another state machine.
Then the starter cannot know whether the message was acted on, and a person decides.

Invariant: `start_message` returns only once the message's execution exists or the delivery is in
UnstartedQueue. Otherwise it raises, and SQS brings the delivery back.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce_core.delivery import Delivery
from actonce_core.effect import NotPerformed
from actonce_core.execution import execution_input
from actonce_core.first_attempt import (
    BEGUN,
    FIRST_ATTEMPT,
    RELEASED,
    STARTED,
    FirstAttempt,
    Item,
    version_in,
)
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


def refusal_of(
    message: Message, known: Item, now: datetime, *, memory: str, names_remembered: timedelta
) -> Refusal | None:
    """Why a message whose id has a row must be refused; None if StartExecution can decide.

    Args:
        message: the delivered one.
        known: its id's row, whoever wrote it.
        now: by this machine's clock; clocks are wrong by far less than the days compared here.
        memory: ARN of this starter's state machine. CloudFormation gives each that it creates a new
            name, so one ARN never stands for two sets of execution names.
        names_remembered: how long Step Functions certainly remembers an execution's name after its
            id was first seen.
    """
    # The row of an earlier release's lease has the latter.
    seen = known["first_seen" if "first_seen" in known else "updated"]["S"]
    known_memory, fingerprint = known["memory"]["S"], known["fingerprint"]["S"]
    if "stage" in known:
        known_memory = known_memory.removesuffix(FIRST_ATTEMPT)
    if fingerprint != message.fingerprint:
        return conflict(message, fingerprint, f" at {seen}")
    if now - datetime.fromisoformat(seen) > names_remembered:
        return Refusal(
            Reason.TOO_OLD_TO_TELL,
            f"The message id was first seen at {seen}, more than {names_remembered.days} days "
            "ago: its execution's name may be free again, so starting it could act twice.",
            message.message_id,
        )
    if known_memory != memory:
        return Refusal(
            Reason.OTHER_MEMORY,
            f"The message id was first seen at {seen} by another state machine, which "
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
        first_attempt: makes it here, and executions are started for trouble only; None: every
            message is started. Rows of the other way are understood in both, so that a stack can
            change from one to the other while messages are open.
    """

    reader: MessageReader
    dynamodb: "DynamoDBClient"
    table: str
    stepfunctions: "SFNClient"
    state_machine: str
    unstarted: UnstartedQueue
    names_remembered: timedelta
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    first_attempt: FirstAttempt | None = None

    def start_message(self, delivery: Delivery) -> DeliveryResult:
        """Start a delivery's message, find that it is a duplicate, or hand the delivery on.

        Raises:
            Exception: none of these is certain; the delivery must not be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.send_to_unstarted(delivery, message)
            return DeliveryResult(message, None)
        outcome = self._begin(message)
        if isinstance(outcome, Refusal):
            self.unstarted.send_to_unstarted(delivery, outcome)
        return DeliveryResult(outcome, message)

    def _begin(self, message: Message) -> Start | Refusal:
        """Write the message's row, or go by the one that its id already has.

        DynamoDB returns that row with the failed condition, so it costs no read.
        """
        now = self.clock()
        row: Item = {
            "message_id": {"S": message.message_id},
            "fingerprint": {"S": message.fingerprint},
            "first_seen": {"S": timestamp(now)},
            "memory": {"S": self.state_machine},
        }
        if self.first_attempt is not None:
            self.first_attempt.check_time_left()
            row = self.first_attempt.begun(row)
        known = self._put(row, "attribute_not_exists(message_id)")
        if known is None and self.first_attempt is None:
            return self._start(message, first_seen_now=True)
        return self._go_by(known or row, message, row, now)

    def _go_by(self, known: Item, message: Message, row: Item, now: datetime) -> Start | Refusal:
        """What its id's row says of a message; `row` is the one that this delivery would write."""
        stage = known["stage"]["S"] if "stage" in known else None
        first = self.first_attempt
        if first and stage == BEGUN and known["attempt_id"] == row["attempt_id"]:
            return self._attempt(first, message, known, now)
        is_complete = stage is not None and known["status"]["S"] == "COMPLETE"
        refusal = refusal_of(
            message,
            known,
            now,
            memory=self.state_machine,
            names_remembered=self.names_remembered,
        )
        if refusal and (
            refusal.reason is Reason.CONFLICT or not (is_complete or stage == RELEASED)
        ):
            return refusal
        if is_complete:
            return Start.SUPPRESSED
        if first and stage == RELEASED:
            begun = int(known["consumption_count"]["N"]) + 1
            anew = row | {"consumption_count": {"N": str(begun)}}
            newer = self._replace(known, anew)
            return self._go_by(newer or anew, message, anew, now)
        if stage in (BEGUN, RELEASED):
            return self._go_on(known, message, row, now)
        return self._start(message, first_seen_now=False, attempted=version_in(known))

    def _attempt(
        self, first: FirstAttempt, message: Message, row: Item, now: datetime
    ) -> Start | Refusal:
        """Make the attempt that `row` says this delivery has begun."""
        attempts = int(row["consumption_count"]["N"])
        try:
            effect = first.perform(message, attempts)
        except NotPerformed:
            if attempts < first.most_attempts:
                self._replace(row, row | {"stage": {"S": RELEASED}})
                raise
        except Exception as error:  # noqa: BLE001 - whatever it is, an execution looks it up
            first.on_trouble(message, error)
        else:
            self._complete(row, effect)
            return Start.PERFORMED
        return self._go_on(row, message, row, now)

    def _go_on(self, known: Item, message: Message, row: Item, now: datetime) -> Start | Refusal:
        """Have an execution go on with a message that an attempt has begun, or released.

        Of a released one no execution has the name, so it may be another machine's, or old.
        """
        started = known | {"stage": {"S": STARTED}}
        if known["stage"]["S"] == RELEASED:
            memory = {"S": self.state_machine + FIRST_ATTEMPT}
            started |= {"memory": memory, "first_seen": row["first_seen"]}
        return self._go_by(self._replace(known, started) or started, message, row, now)

    def _complete(self, row: Item, effect: dict[str, Any]) -> None:
        text = json.dumps(effect)  # in ASCII: DynamoDB takes no half of a surrogate pair
        done = {"status": {"S": "COMPLETE"}, "outcome": {"S": "performed"}, "effect": {"S": text}}
        newer = self._replace(row, row | done)
        if newer is not None and newer["stage"]["S"] == STARTED:  # whose execution will find it
            self._replace(newer, newer | done)

    def _replace(self, known: Item, row: Item) -> Item | None:
        """Write a row in place of the known one, or return the row if it is another by now.

        Also in place of none: what is known here must not be lost with a row that somebody deleted.
        """
        return self._put(
            row | {"updated": {"S": timestamp(self.clock())}},
            "attribute_not_exists(message_id)"
            " OR (#status = :in_progress AND #stage = :stage AND attempt_id = :attempt_id)",
            ExpressionAttributeNames={"#status": "status", "#stage": "stage"},
            ExpressionAttributeValues={
                ":in_progress": {"S": "IN_PROGRESS"},
                ":stage": known["stage"],
                ":attempt_id": known["attempt_id"],
            },
        )

    def _put(self, row: Item, condition: str, **more: Any) -> Item | None:
        """Write a row; if the condition refuses it, return the one that is there."""
        try:
            self.dynamodb.put_item(
                TableName=self.table,
                Item=row,
                ConditionExpression=condition,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **more,
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            there: Item = error.response["Item"]  # type: ignore[typeddict-item]
            return there
        return None

    def _start(
        self,
        message: Message,
        *,
        first_seen_now: bool,
        attempted: Mapping[str, Any] | None = None,
    ) -> Start | Refusal:
        """Start the message's execution, or find that it has one.

        While an execution runs, AWS answers the same start with 200 and the original start date. So
        a date before this call means a duplicate, unless the id was `first_seen_now`. That only
        chooses the label; no decision depends on it.
        Source: StartExecution, API reference (idempotent for Standard workflows).
        """
        called_at = self.clock()
        try:
            answer = self.stepfunctions.start_execution(
                stateMachineArn=self.state_machine,
                name=message.execution_name,
                input=execution_input(message.message_id, message.body, attempted),
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
        called_at = called_at.replace(microsecond=called_at.microsecond // 1000 * 1000)
        was_running = not first_seen_now and answer["startDate"] < called_at
        return Start.SUPPRESSED if was_running else Start.STARTED
