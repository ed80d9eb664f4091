"""Decisions on a task that waits in Step Functions, by its token."""

import contextlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages import history
from actonce.messages.dead_letters import DeadLetter, describe_missing_letter, is_of_last
from actonce.messages.history import Execution
from actonce.operate.decisions.allowed import RETRYING, Decision, why_not
from actonce.operate.decisions.results import (
    ANOTHER_SINCE,
    Answer,
    DecisionOutcome,
    DecisionUnconfirmed,
)
from actonce.stack.aws_errors import is_forbidden, may_be_done
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.histories.reading import read_events
from actonce_core.histories.stays import DEAD_LETTER, DecisionWait, decision_waits
from actonce_core.records import timestamp

_NOT_CARRIED_OUT = (DEAD_LETTER, history.TELL_DECISION)
"""States after whose decision nothing was done yet."""

_NO_OPEN_TASK = frozenset({"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"})


class ByTaskToken:
    """Answers the task that waits; Step Functions accepts only the first answer.

    Raises:
        Failed: nothing can be tried again just now; see `_deployed_version`.
    """

    def __init__(self, stack: Stack, decision: Decision, note: str) -> None:
        self._stack = stack
        self._decision = decision
        self._output = json.dumps(_output(stack, decision, note), ensure_ascii=False)
        self._closed: set[str] = set()

    def answer(self, letter: DeadLetter) -> Answer:
        """Decide on a message by this very letter, and only if it waits. Deletes nothing.

        Made twice it changes nothing; may be called in threads.

        Raises:
            Failed: it cannot be done.
            ClientError: AWS could not be asked; as of other errors, see `why_unsure`.
        """
        refusal = self._why_not(letter.reason, letter.cause)
        if refusal is None and self._send(letter.task_token):
            return self._accepted()
        if refusal is not None and self._decision != "retry":
            return Answer(DecisionOutcome.NOT_DECIDED, refusal)
        execution = history.find_execution(self._stack, letter.execution_name, letter.execution_arn)
        if execution is not None:
            return self._unanswered(execution, letter, refusal)
        return Answer(
            DecisionOutcome.NOT_DECIDED,
            "Step Functions no longer has its execution, so no decision can be made. Find out by "
            "hand whether the effect happened. SQS deletes the dead letter 14 days after it was "
            "posted.",
        )

    def retry_without_letter(self, name: str, in_flight_elsewhere: int) -> Answer:
        """Retry a message by its id or its execution's name: it has ended, or has no letter.

        Raises:
            Failed, ClientError: as `answer`.
        """
        execution = history.find_execution_of(self._stack, name)
        if execution is None:
            raise Failed(
                f"{describe_missing_letter(name, in_flight_elsewhere)}. It has no execution."
            )
        events = read_events(self._stack.stepfunctions, execution.arn)
        waits = decision_waits(events)
        if execution.status != "RUNNING":
            return self._ended(execution, waits, history.last_state(events))
        if not waits or waits[-1].over:
            return self._decided_before(waits)
        if in_flight_elsewhere:
            raise Failed(
                "It waits for a decision, but its dead letter was not found just now. Give the "
                "same command again."
            )
        raise Failed(
            "It waits for a decision, but its dead letter is no longer in the queue. Stop its "
            f"execution ({execution.arn}); retry then has the dead letter posted again."
        )

    def is_closed(self, letter: DeadLetter) -> bool:
        """Whether nothing waits for this very letter; a history may lag behind, and is not asked.

        A heartbeat tells, and changes nothing: the task has no time for one.

        Raises:
            ClientError: that cannot be told.
        """
        token = letter.task_token
        if token in self._closed:
            return True
        try:
            self._stack.stepfunctions.send_task_heartbeat(taskToken=token)
        except ClientError as error:
            if error.response["Error"]["Code"] in _NO_OPEN_TASK:
                return True
            raise
        return False

    def _unanswered(self, execution: Execution, letter: DeadLetter, refusal: str | None) -> Answer:
        """The answer where the letter's token was not accepted, or not sent: its execution tells.

        Raises:
            DecisionUnconfirmed: its history does not tell yet.
        """
        events = read_events(self._stack.stepfunctions, execution.arn)
        waits = decision_waits(events)
        if execution.status != "RUNNING":
            return self._ended(execution, waits, history.last_state(events))
        if refusal is not None:
            return Answer(DecisionOutcome.NOT_DECIDED, refusal)
        is_open = bool(waits) and not waits[-1].over
        if _is_later(letter, waits) or (is_open and is_of_last(letter, waits)):
            raise DecisionUnconfirmed(
                "A decision was taken a moment ago, perhaps this one, and the execution's history "
                "does not show it yet. Look with actonce where before you do anything by hand."
            )
        if not is_open:
            return self._decided_before(waits)
        text = f"This one waits no more, for {ANOTHER_SINCE}. Look again."
        return Answer(DecisionOutcome.SUPERSEDED, f"{text} {self._decided_before(waits[:-1]).text}")

    def _accepted(self) -> Answer:
        return Answer(DecisionOutcome.DECIDED, f"Decided: {self._decision}.")

    def _ended(
        self, execution: Execution, waits: Sequence[DecisionWait], state: str | None
    ) -> Answer:
        """Redrive an execution that has ended, if it can be; it entered `state` last."""
        end = f"its execution ended {execution.status} in {state or 'its first state'}"
        if execution.error:
            end += f" ({execution.error})"
        if execution.status == "SUCCEEDED" or execution.outcome == "rejected":
            return self._decided_before(waits, f" {end[0].upper()}{end[1:]}.")
        undecided = f"Nobody had decided when {end}"
        then = (
            "ActOnce looks the effect up before it performs it, or posts the dead letter again if "
            "it had posted one"
        )
        if waits and waits[-1].decision and state in _NOT_CARRIED_OUT:
            undecided = f"It was decided ({waits[-1].decision['decision']}), and {end}"
            then = "ActOnce carries out what was decided"
        if self._decision != "retry":
            return Answer(DecisionOutcome.NOT_DECIDED, f"{undecided}. Only retry continues it.")
        try:
            self._stack.stepfunctions.redrive_execution(executionArn=execution.arn)
        except ClientError as error:
            if may_be_done(error) or is_forbidden(error):
                raise
            raise Failed(f"{undecided}. Step Functions does not redrive it: {error}") from error
        return Answer(DecisionOutcome.CONTINUED, f"{undecided}. It continues now: {then}.")

    def _decided_before(self, waits: Sequence[DecisionWait], since: str = "") -> Answer:
        made = next((wait.decision for wait in reversed(waits) if wait.decision), None)
        if made is None:
            text = f"It does not wait for a decision, and nobody has made one.{since}"
            return Answer(DecisionOutcome.NOT_DECIDED, text)
        when = f" at {made['decided_at']}" if "decided_at" in made else ""
        by = f" by {made['decided_by']}" if "decided_by" in made else ""
        last = f"the last decision was {made['decision']}{when}{by}.{since}"
        if made["decision"] == self._decision:
            return Answer(DecisionOutcome.ALREADY, f"It was already decided: {last}")
        return Answer(DecisionOutcome.SUPERSEDED, f"It no longer waits for a decision: {last}")

    def _why_not(self, reason: str, cause: str) -> str | None:
        return why_not(self._stack, self._decision, reason, cause)

    def _send(self, task_token: str) -> bool:
        """Answer the task; False: it is no longer open."""
        try:
            self._stack.stepfunctions.send_task_success(taskToken=task_token, output=self._output)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _NO_OPEN_TASK:
                raise
            self._closed.add(task_token)
            return False
        self._closed.add(task_token)
        return True


def _is_later(letter: DeadLetter, waits: Sequence[DecisionWait]) -> bool:
    """Whether a history does not have the letter yet: it may lag behind by one or more."""
    if not waits or letter.task_token in [wait.task_token for wait in waits]:
        return not waits
    last = waits[-1]
    return letter.posted_at > timestamp(last.answered_at or last.posted_at)


def _output(stack: Stack, decision: Decision, note: str) -> dict[str, Any]:
    """The task's output. Who decided is only for the record, and may be missing."""
    output: dict[str, Any] = {
        "decision": decision,
        "note": note,
        "decided_at": timestamp(datetime.now(UTC)),
    }
    if decision in RETRYING:
        output["version"] = _deployed_version(stack)
    with contextlib.suppress(ClientError, BotoCoreError, Failed):
        output["decided_by"] = stack.aws.client("sts").get_caller_identity()["Arn"]
    return output


def _deployed_version(stack: Stack) -> dict[str, Any]:
    """The effect's function that is deployed now, as an execution's `version`; read anew.

    Raises:
        Failed: a deployment is under way, or has got stuck. What a stack tells until it has ended
            is documented nowhere, and a function with another one's time-out may act twice.
    """
    answer = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)
    (described,) = answer["Stacks"]
    status = described["StackStatus"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}
    if "_COMPLETE" not in status or not outputs:  # also while it only cleans up after itself
        raise Failed(
            f"The stack {stack.display_name!r} is {status}, and the message would be tried again "
            "with the version that is deployed: say it again when the deployment has ended."
        )
    now = Stack(stack.aws, stack.name, outputs)
    return {
        "perform": now.effect_function,
        "find": now.find_function or "",
        "timeout": int(outputs["EffectTimeoutSeconds"]),
        "margin": int(outputs["StragglerMarginSeconds"]),
    }
