"""Dead letters: messages that the state machine cannot finish without a decision."""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages import history
from actonce.messages.history import Execution
from actonce.messages.unstarted import MAX_ATTRIBUTES, Attributes, sqs_form
from actonce.queues.scan import Queued, QueueReader, held_by_another
from actonce.queues.sending import for_fifo
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.delivery import SOURCE_DEDUPLICATION_ID, SOURCE_MESSAGE_ID
from actonce_core.execution import execution_name
from actonce_core.histories.dead_letters import DEAD_LETTER, Stay, dead_letter_stays
from actonce_core.histories.reading import read_events
from actonce_core.locking.locks import COMPLETE, Outcome, ProcessingTable
from actonce_core.records import timestamp

Decision = Literal["retry", "perform", "resolve", "reject"]
"""`perform` is a person's word that it did not happen, so nothing is looked up; `retry` looks
first wherever the outcome is unknown."""

MEANINGS = {
    "rejected": "the effect refused it, and it did not happen",
    "not_performed": "it did not happen; it was tried for as long as the patience lasts",
    "rounds_used_up": "each attempt ended unclear, and each time it was found not to have happened",
    "outcome_unknown": "it may have happened: whether it did could not be found out",
}
REASONS = tuple(MEANINGS)
"""Why a message waits for a decision; a sentence of each is in `MEANINGS`."""
_NOTHING_HAPPENED = frozenset({"rejected", "not_performed"})

NO_FUNCTION_FINDS = "No function is named to look it up"
"""What FindEffect, or a consumer, ends with where no FindFunctionArn was given."""
IN_VAIN = (
    "Nothing can look it up (no FindFunctionArn was given), so a retry would only bring it back. "
    "Find out by hand whether it happened, then say actonce dead-letters perform if it did not, "
    "or resolve if it did, with a note of how you know."
)
"""Why a retry is refused."""

ANOTHER_SINCE = "the message has another letter since"
"""What to say where a letter that was seen is not the one that waits."""

_AFTER_A_DECISION = frozenset({DEAD_LETTER, "Failed"})
"""Where an execution has failed because a decision said so."""

_NO_OPEN_TASK = frozenset({"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"})
_NO_SUCH_OPERATION = frozenset(
    {"InvalidAction", "UnknownOperationException", "NotImplemented", "NotImplementedException"}
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An entry of DeadLetterQueue; the fields are those that the state DeadLetter posts.

    Attributes:
        execution_arn: None where a ledger or a lease stands in the state machine's place.
        task_token: likewise.
        attempt_id: of the attempt that posted it, only where there is no execution.
        source: the message as its producer sent it, only where there is no execution.
        message: the execution's input, or None where it was too large to be posted.
        older: letters of the same message that were posted before it; they go with it.
    """

    queued: Queued
    message_id: str
    execution_name: str
    execution_arn: str | None
    reason: str
    error: str
    cause: str
    rounds: int
    posted_at: str
    task_token: str | None
    attempt_id: str | None
    source: dict[str, Any] | None
    message: dict[str, Any] | None
    older: tuple["DeadLetter", ...] = ()

    @property
    def kind(self) -> Mapping[str, str]:
        """What letters are grouped by."""
        return {"reason": self.reason, "error": self.error}

    @property
    def since(self) -> datetime:
        """When SQS took it (UTC)."""
        return self.queued.sent_at

    @property
    def called(self) -> str:
        """The message's id."""
        return self.message_id

    @property
    def entry(self) -> str:
        """SQS's id of it."""
        return self.queued.sqs_message_id

    @property
    def entries(self) -> list[str]:
        """SQS's ids of all that goes with it, its own first."""
        return [self.entry, *(one.entry for one in self.older)]

    @property
    def ids(self) -> Mapping[str, str | None]:
        """What it is named by, for machines."""
        return {"message_id": self.message_id, "execution_name": self.execution_name}

    def texts(self) -> list[str]:
        """What can be looked for in it: id, execution, error, cause and the message."""
        message = json.dumps(self.message, ensure_ascii=False) if self.message else ""
        return [self.message_id, self.execution_name, self.error, self.cause, message]

    def without_message(self) -> "DeadLetter":
        """As much of it as can be kept of 10,000 letters."""
        return replace(self, queued=replace(self.queued, body=""), message=None, source=None)

    def is_named(self, name: str) -> bool:
        """Whether `name` is the message's id, or its execution's name."""
        return self.execution_name in (execution_name(name), name)

    def as_json(self) -> dict[str, Any]:
        """For machines; without the token, which is as good as the decision."""
        return {
            "message_id": self.message_id,
            "execution_name": self.execution_name,
            "execution_arn": self.execution_arn,
            "reason": self.reason,
            "error": self.error,
            "cause": self.cause,
            "rounds": self.rounds,
            "posted_at": self.posted_at,
        }


class End(StrEnum):
    """How a decision ended."""

    DECIDED = "decided"
    """It was accepted."""
    ALREADY = "already_decided"
    """The same decision had been accepted before."""
    CONTINUED = "continued"
    """The execution had failed and was redriven, or the message was sent again."""
    NOT_DECIDED = "not_decided"
    """Nothing was decided: nobody waits for it, or what waits cannot be decided so."""
    FAILED = "failed"
    """It could not be asked; nothing was changed."""

    @property
    def happened(self) -> bool:
        """What was asked for is so, or comes to be so by itself or by the next decision."""
        return self not in (End.NOT_DECIDED, End.FAILED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a decision.

    Attributes:
        said: one sentence for the person who asked.
        entry_goes: the entries that told of it are of no more use. Where nothing was decided they
            stay to be seen, unless another decision has been made.
    """

    end: End
    said: str
    entry_goes: bool

    @property
    def decided(self) -> bool:
        """This decision was accepted, just now."""
        return self.end is End.DECIDED


class NotThere(Failed):
    """No dead letter of what was named was found; another reader may hold it."""


class Decider(Protocol):
    """Makes one decision, of any number of messages; may be called in threads."""

    def answer(self, letters: Sequence[DeadLetter]) -> Answer:
        """Decide on a message by its letters, one at least, the newest first. Deletes nothing.

        Made twice it changes nothing.

        Raises:
            Failed: it cannot be done.
            ClientError: AWS could not be asked; nothing is known to be changed.
        """

    def answer_older(self, letter: DeadLetter) -> bool:
        """Decide by a letter that is not its message's newest; whether that was accepted.

        It is of no more use then, whatever the answer is.
        """


def dead_letter(queued: Queued) -> DeadLetter | None:
    """Read an entry; None if somebody else put it there."""
    try:
        posted = json.loads(queued.body)
        return DeadLetter(
            queued=queued,
            message_id=_text(posted["message_id"]),
            execution_name=_text(posted["execution_name"]),
            execution_arn=_text_or_none(posted.get("execution_arn")),
            reason=_text(posted["reason"]),
            error=_text(posted["error"]),
            cause=_text(posted["cause"]),
            rounds=int(posted["rounds"]),
            posted_at=_text(posted["posted_at"]),
            task_token=_text_or_none(posted.get("task_token")),
            attempt_id=_text_or_none(posted.get("attempt_id")),
            source=posted.get("source"),
            message=posted.get("message"),
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def letters_of(queue: QueueReader) -> list[DeadLetter]:
    """Every letter of the queue, older ones of the same messages too, in no order."""
    return [letter for queued in queue.messages() if (letter := dead_letter(queued)) is not None]


def newest_first(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """By the time at which they were posted."""
    return sorted(letters, key=lambda letter: (letter.posted_at, letter.since), reverse=True)


def newest_of_each(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """The newest letter of each message with its older ones, the longest waiting first."""
    of_message: dict[str, list[DeadLetter]] = {}
    for letter in newest_first(letters):
        of_message.setdefault(letter.execution_name, []).append(letter)
    chosen = [replace(newest, older=tuple(older)) for newest, *older in of_message.values()]
    return chosen[::-1]


def waiting(queue: QueueReader) -> list[DeadLetter]:
    """The newest dead letter of each message, the longest waiting first."""
    return newest_of_each(letters_of(queue))


def is_of_last(letter: DeadLetter, stays: Sequence[Stay]) -> bool:
    """Whether a letter is the one that the last stay has posted, and not one of a stay before it.

    By the token, where the history tells it. Elsewhere by the time; a letter's and its own stay's
    are of two clocks, so it is not these two that are compared.

    Args:
        letter: of the execution whose stays they are.
        stays: one at least, in order.
    """
    last = stays[-1]
    if last.task_token is not None:
        return letter.task_token == last.task_token
    if len(stays) == 1:
        return True
    before = stays[-2]
    return letter.posted_at > timestamp(before.answered_at or before.posted_at)


def none_seen(message_id: str, held_elsewhere: int) -> str:
    """What to say of a message of which no letter was found, without a full stop.

    Args:
        message_id: as it was named.
        held_elsewhere: letters that another reader held, its own perhaps among them.
    """
    if not held_elsewhere:
        return f"There is no dead letter of {message_id!r} in the queue"
    return (
        f"Whether there is a dead letter of {message_id!r} cannot be told: "
        f"{held_by_another(held_elsewhere)}; look again"
    )


def is_retried_in_vain(stack: Stack, reason: str, cause: str) -> bool:
    """Whether a retry leads back to the same dead letter, because nothing can look it up.

    The letter tells that nothing was named; a retry looks up by what the stack names now.

    Args:
        stack: that has the letter.
        reason, cause: of the letter.
    """
    said = cause.rpartition(" | FindEffect: ")[2]
    was_unnamed = reason == "outcome_unknown" and NO_FUNCTION_FINDS in said
    return was_unnamed and stack.find_function is None


def decisions_on(stack: Stack, letter: DeadLetter) -> list[Decision]:
    """The decisions to choose from; where it is known not to have happened, retry performs it."""
    again: list[Decision] = ["retry"]
    if is_retried_in_vain(stack, letter.reason, letter.cause):
        again = ["perform"]
    elif letter.reason not in _NOTHING_HAPPENED:
        again = ["retry", "perform"]
    return [*again, "resolve", "reject"]


def decider(stack: Stack, decision: Decision, note: str = "") -> "_ByToken | _ByRow":
    """Who decides on this stack by the letters given: Step Functions, or the table's rows."""
    if stack.ledger_table is not None:
        return _ByRow(stack, stack.ledger_table, decision, note)
    return _ByToken(stack, decision, note)


def decide(stack: Stack, message_id: str, decision: Decision, note: str = "") -> Answer:
    """Answer a message's dead letter.

    First the decision, then the entry is deleted: never is one deleted whose execution still waits.
    Made twice, or for an execution that waits no more, it changes nothing, and entries whose task
    was answered before are removed. Where nothing was decided the entry stays to be seen.

    `message_id` is the message's id, or its execution's name.

    Raises:
        NotThere: there is no such message, or of a ledger's no dead letter; as far as was seen.
        Failed: its dead letter cannot be found now.
    """
    by = decider(stack, decision, note)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = newest_first(one for one in letters_of(queue) if one.is_named(message_id))
        if letters:
            answer = by.answer(letters)
            if answer.entry_goes:
                for letter in letters:
                    queue.delete(letter.queued)
            return answer
        held_elsewhere = queue.held_elsewhere
    if isinstance(by, _ByToken):
        return by.answer_without_letter(message_id, held_elsewhere)
    raise NotThere(f"{none_seen(message_id, held_elsewhere)}.")


class _ByToken:
    """Answers the task that waits, by its token; Step Functions takes the first answer only."""

    def __init__(self, stack: Stack, decision: Decision, note: str) -> None:
        self._stack = stack
        self._decision = decision
        self._output = json.dumps(_answer(stack, decision, note), ensure_ascii=False)

    def answer(self, letters: Sequence[DeadLetter]) -> Answer:
        # An execution has one open task; once that is answered, its older entries have none.
        if any(
            self._send(letter.task_token)
            for letter in letters
            if not self._is_in_vain(letter.reason, letter.cause)
        ):
            return self._accepted()
        newest = letters[0]
        execution = history.find_execution(self._stack, newest.execution_name, newest.execution_arn)
        if execution is None:
            return Answer(
                End.NOT_DECIDED,
                "Its execution is gone, so nobody waits for a decision: find out by hand whether "
                "it was acted on. SQS drops its dead letter 14 days after it was posted.",
                entry_goes=False,
            )
        return self._unanswered(execution, letters)

    def answer_older(self, letter: DeadLetter) -> bool:
        return self._send(letter.task_token)

    def answer_without_letter(self, message_id: str, held_elsewhere: int) -> Answer:
        """Decide on a message whose letter cannot be seen.

        Another reader holds it, or it outlived the queue's retention, or there is none.
        """
        execution = history.find_execution_of(self._stack, message_id)
        if execution is None and held_elsewhere:
            raise NotThere(
                f"Whether there is a dead letter of {message_id!r} cannot be told, and it has no "
                f"execution: {held_by_another(held_elsewhere)}; look again."
            )
        if execution is None:
            raise NotThere(f"There is no dead letter and no execution of a message {message_id!r}.")
        answer = self._unanswered(execution, ())
        if answer.end is not End.FAILED:
            return answer
        if held_elsewhere:
            raise Failed(
                f"Another reader holds the dead letter of {message_id!r} now; try again in a "
                "minute."
            )
        raise Failed(
            f"{message_id!r} waits for a decision, but its dead letter is gone from the queue: "
            f"stop its execution ({execution.arn}), and retry will have it posted again."
        )

    def _accepted(self) -> Answer:
        return Answer(End.DECIDED, f"Decided: {self._decision}.", entry_goes=True)

    def _unanswered(self, execution: Execution, letters: Sequence[DeadLetter]) -> Answer:
        """What to do where no token was accepted: the execution tells why."""
        events = read_events(self._stack.stepfunctions, execution.arn)
        stays = dead_letter_stays(events)
        if execution.status != "RUNNING":
            return self._over(execution, stays, history.last_state(events))
        if not stays or stays[-1].over:
            return self._decided_before(stays)
        if letters and not is_of_last(letters[0], stays):
            return self._decided_before(stays[:-1], f" But {ANOTHER_SINCE}: look again.")
        failure = stays[-1].failure
        if self._is_in_vain(str(failure.get("reason")), str(failure.get("cause"))):
            return Answer(End.NOT_DECIDED, IN_VAIN, entry_goes=False)
        if letters and stays[-1].task_token is not None:
            # The very token that was not accepted: it was answered, and the history lags behind.
            raise Failed(
                "Its task was answered a moment ago, by this command perhaps, and its history does "
                "not say so yet: ask actonce where before anything is done by hand."
            )
        # On AWS the history tells the token, too.
        if not letters and self._send(stays[-1].task_token):
            return self._accepted()
        return Answer(
            End.FAILED,
            "It waits for a decision, but not for this dead letter's: say the same again.",
            entry_goes=False,
        )

    def _over(self, execution: Execution, stays: Sequence[Stay], state: str | None) -> Answer:
        """What to do with an execution that has ended; `state` is the one that it entered last."""
        end = f"its execution ended {execution.status} in {state or 'its first state'}"
        if execution.error:
            end += f" ({execution.error})"
        is_decided = bool(stays) and bool(stays[-1].decision) and state in _AFTER_A_DECISION
        if execution.status == "SUCCEEDED" or is_decided:
            return self._decided_before(stays, f" {end[0].upper()}{end[1:]}.")
        if self._decision != "retry":
            said = f"Nobody had decided when {end}; retry has it go on from there."
            return Answer(End.NOT_DECIDED, said, entry_goes=False)
        _redrive(self._stack, execution, end)
        return Answer(
            End.CONTINUED,
            f"Nobody had decided when {end}; it goes on from there now: it looks the effect up "
            "before it performs it, and posts a dead letter again that it had posted.",
            entry_goes=True,
        )

    def _decided_before(self, stays: Sequence[Stay], since: str = "") -> Answer:
        made = next((stay.decision for stay in reversed(stays) if stay.decision), None)
        if made is None:
            said = f"It waits for no decision: no decision was made.{since}"
            return Answer(End.NOT_DECIDED, said, entry_goes=False)
        when = f" at {made['decided_at']}" if "decided_at" in made else ""
        by = f" by {made['decided_by']}" if "decided_by" in made else ""
        told = f"the last decision was {made['decision']}{when}{by}.{since}"
        if made["decision"] == self._decision:
            return Answer(End.ALREADY, f"It was decided already: {told}", entry_goes=True)
        return Answer(End.NOT_DECIDED, f"It waits for no decision: {told}", entry_goes=True)

    def _is_in_vain(self, reason: str, cause: str) -> bool:
        return self._decision == "retry" and is_retried_in_vain(self._stack, reason, cause)

    def _send(self, task_token: str | None) -> bool:
        """Answer the task; False if it is open no more, or there was none."""
        if task_token is None:
            return False
        try:
            self._stack.stepfunctions.send_task_success(taskToken=task_token, output=self._output)
        except ClientError as error:
            if error.response["Error"]["Code"] in _NO_OPEN_TASK:
                return False
            raise
        return True


_OUTCOMES: dict[Decision, Outcome | None] = {
    "retry": None,
    "perform": None,
    "resolve": Outcome.RESOLVED,
    "reject": Outcome.REJECTED,
}


class _ByRow:
    """Writes the decision to the row that stands in an execution's place.

    A message that is to be tried again is sent anew after that, and the dead letter deleted last:
    a crash in between sends it again, and its row makes a duplicate of one of them.
    """

    def __init__(self, stack: Stack, table: str, decision: Decision, note: str) -> None:
        self._stack = stack
        self._table = table
        self._rows = ProcessingTable(stack.dynamodb, table)
        self._decision = decision
        self._note = note

    def answer(self, letters: Sequence[DeadLetter]) -> Answer:
        newest = letters[0]
        refusal = self._refusal(newest)
        if refusal is not None:
            return Answer(End.NOT_DECIDED, refusal, entry_goes=False)
        # The row is one attempt's; the letters of the others tell of nothing that waits.
        if any(self.answer_older(letter) for letter in letters):
            return Answer(End.DECIDED, f"Decided: {self._decision}.", entry_goes=True)
        row = self._row(newest.message_id)
        if row is None:
            said = "Its row is gone, so nothing is known of it: find out by hand what was done."
            return Answer(End.NOT_DECIDED, said, entry_goes=False)
        if row["status"] == COMPLETE:
            return self._is_done(row.get("outcome"))
        if _OUTCOMES[self._decision] is None:
            self._send_anew(newest)
            said = "Nobody has completed it yet; it was sent again, and goes on."
            return Answer(End.CONTINUED, said, entry_goes=True)
        return Answer(
            End.NOT_DECIDED,
            "A consumer has begun it and not completed it, so it waits for no decision yet; "
            "retry has it taken up.",
            entry_goes=False,
        )

    def answer_older(self, letter: DeadLetter) -> bool:
        if letter.attempt_id is None:
            return False
        decided = self._rows.decide(
            letter.message_id,
            letter.attempt_id,
            _OUTCOMES[self._decision],
            datetime.now(UTC),
            self._note,
            nothing_happened=self._decision == "perform" or letter.reason in _NOTHING_HAPPENED,
        )
        if decided and _OUTCOMES[self._decision] is None:
            self._send_anew(letter)
        return decided

    def _send_anew(self, letter: DeadLetter) -> None:
        if letter.source is not None and letter.message is not None:
            _send_anew(
                self._stack, letter.message["body"], letter.source, letter.queued.sqs_message_id
            )

    def _refusal(self, letter: DeadLetter) -> str | None:
        """Why a letter that still waits cannot be decided so; None: it can be."""
        if _OUTCOMES[self._decision] is None and (letter.source is None or letter.message is None):
            return "It cannot be sent again: its dead letter does not say what was sent."
        if self._decision == "retry" and is_retried_in_vain(
            self._stack, letter.reason, letter.cause
        ):
            row = self._row(letter.message_id) or {}
            return IN_VAIN if row.get("outcome") == Outcome.DEAD_LETTER else None
        return None

    def _is_done(self, outcome: str | None) -> Answer:
        wanted = _OUTCOMES[self._decision]
        if wanted is not None and outcome == wanted:
            said = f"It was decided already: {self._decision}."
            return Answer(End.ALREADY, said, entry_goes=True)
        said = f"It waits for no decision: its row says that it is done ({outcome})."
        if outcome == Outcome.DEAD_LETTER:
            said = f"This letter waits for no decision: {ANOTHER_SINCE}: look again."
        return Answer(End.NOT_DECIDED, said, entry_goes=True)

    def _row(self, message_id: str) -> dict[str, str] | None:
        row = self._stack.dynamodb.get_item(
            TableName=self._table, Key={"message_id": {"S": message_id}}, ConsistentRead=True
        ).get("Item")
        if row is None:
            return None
        return {name: str(row[name].get("S")) for name in ("status", "outcome") if name in row}


def _send_anew(stack: Stack, body: str, source: dict[str, Any], deduplication_id: str) -> None:
    attributes: Attributes = {
        name: sqs_form(value) for name, value in source["message_attributes"].items()
    }
    # Room for the id of a message whose id is SQS's: sent anew it gets another.
    if len(attributes) < MAX_ATTRIBUTES:
        attributes.setdefault(
            SOURCE_MESSAGE_ID, {"DataType": "String", "StringValue": source["sqs_message_id"]}
        )
    if source["deduplication_id"] is not None:
        attributes[SOURCE_DEDUPLICATION_ID] = {
            "DataType": "String",
            "StringValue": source["deduplication_id"],
        }
    stack.sqs.send_message(
        QueueUrl=stack.requests_queue,
        MessageBody=body,
        MessageAttributes=attributes,
        **for_fifo(stack.requests_queue, source["message_group_id"], deduplication_id),
    )


def _answer(stack: Stack, decision: Decision, note: str) -> dict[str, Any]:
    """The task's output. Who decided is for the record only, so it may be missing.

    Raises:
        Failed: see `_deployed_version`.
    """
    answer: dict[str, Any] = {
        "decision": decision,
        "note": note,
        "decided_at": timestamp(datetime.now(UTC)),
    }
    if _OUTCOMES[decision] is None:
        answer["version"] = _deployed_version(stack)
    with contextlib.suppress(ClientError, BotoCoreError, Failed):
        answer["decided_by"] = stack.aws.client("sts").get_caller_identity()["Arn"]
    return answer


def _deployed_version(stack: Stack) -> dict[str, Any]:
    """The effect's function that is deployed now, for an execution to go on with.

    Read anew, since a console may have found its stack hours ago.

    Returns:
        `perform` and `find`, what to invoke, the latter empty where nothing looks up; `timeout` and
        `margin` in seconds, which a straggler of that function is awaited for. All of them are of
        one deployment.

    Raises:
        Failed: a deployment is under way, or has got stuck. What a stack tells until it has ended
            is documented nowhere, and a function with another one's time-out may act twice.
    """
    answer = stack.aws.client("cloudformation").describe_stacks(StackName=stack.name)
    (described,) = answer["Stacks"]
    status = described["StackStatus"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in described.get("Outputs", [])}
    if "_COMPLETE" not in status or not outputs:  # also while it only cleans up after itself
        raise Failed(
            f"The stack {stack.called!r} is {status}, and the message would be tried again with "
            "the version that is deployed: say it again when the deployment has ended."
        )
    now = Stack(stack.aws, stack.name, outputs)
    return {
        "perform": now.effect_function,
        "find": now.find_function or "",
        "timeout": int(outputs["EffectTimeoutSeconds"]),
        "margin": int(outputs["StragglerMarginSeconds"]),
    }


def _redrive(stack: Stack, execution: Execution, end: str) -> None:
    """Have an execution go on in the state that failed, in every one of which that is safe."""
    try:
        stack.stepfunctions.redrive_execution(executionArn=execution.arn)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _NO_SUCH_OPERATION:
            raise Failed(
                f"Nobody had decided when {end}, and this endpoint cannot redrive executions "
                "(AWS can), so it cannot go on."
            ) from error
        if code == "ExecutionNotRedrivable":
            raise Failed(
                f"Nobody had decided when {end}, and Step Functions cannot redrive it any more: "
                f"{error.response['Error']['Message']}"
            ) from error
        raise
