"""Starting the one execution that belongs to a message."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from actonce_core.message import Message
from actonce_core.refusal import Reason, Refusal

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_GONE = frozenset({"StateMachineDoesNotExist", "StateMachineDeleting"})
_CANNOT_BE_STARTED = frozenset({"InvalidName", "InvalidExecutionInput"})


class Start(StrEnum):
    """What StartExecution did."""

    STARTED = "started"
    SUPPRESSED = "suppressed"


class Executions:
    """The edge to Step Functions.

    Invariant: for one message id there is at most one execution for as long as Step Functions
    remembers its name (90 days after its end, or the 30 that an account may ask for), whoever calls
    this, however often, from wherever: StartExecution with a name is atomic.
    Source: StartExecution, API reference (idempotent for Standard workflows).
    """

    def __init__(self, stepfunctions: "SFNClient", state_machine_arn: str) -> None:
        self._stepfunctions = stepfunctions
        self._state_machine_arn = state_machine_arn

    def start(self, message: Message, *, first_seen_now: bool) -> Start | Refusal:
        """Start the message's execution, or find that it has one.

        Args:
            first_seen_now: this delivery wrote the fingerprint. It only helps to name the answer:
                while an execution runs, AWS answers a duplicate start with 200 and the original's
                start date, so a date before the call tells the duplicate. No decision rests on it.

        Raises:
            ClientError: throttled, not allowed, or failing; nothing is known to have started.
        """
        return self._start(message, self._state_machine_arn, first_seen_now=first_seen_now)

    def start_in(self, state_machine_arn: str, message: Message) -> Start | Refusal:
        """Start the execution of a message that another state machine knows, where it knows it.

        That one refuses what it has had, as this one does. Refused if it is gone: then nobody knows
        what it has had.

        Raises:
            ClientError: as `start`.
        """
        try:
            return self._start(message, state_machine_arn, first_seen_now=False)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _GONE:
                raise
            return Refusal(
                Reason.OTHER_MEMORY,
                "The message id was first seen by another state machine, which is gone, so "
                "starting it could act twice.",
                message.stored_message_id,
            )

    def _start(
        self, message: Message, state_machine_arn: str, *, first_seen_now: bool
    ) -> Start | Refusal:
        asked_at = datetime.now(UTC)
        try:
            answer = self._stepfunctions.start_execution(
                stateMachineArn=state_machine_arn,
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
                    message.stored_message_id,
                )
            raise
        # AWS gives milliseconds, so the comparison must not see microseconds.
        asked_at = asked_at.replace(microsecond=asked_at.microsecond // 1000 * 1000)
        was_running = not first_seen_now and answer["startDate"] < asked_at
        return Start.SUPPRESSED if was_running else Start.STARTED
