"""Dead letters: messages that the state machine cannot finish without a decision."""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from botocore.exceptions import BotoCoreError, ClientError

from actonce import history
from actonce.aws import Stack
from actonce.deployed import (
    DEAD_LETTER,
    SOURCE_DEDUPLICATION_ID,
    SOURCE_MESSAGE_ID,
    Outcome,
    ProcessingTable,
    Stay,
    dead_letter_stays,
    execution_name,
    json_object,
    read_events,
    timestamp,
)
from actonce.errors import Failed
from actonce.history import Execution
from actonce.queue_peek import Queued, QueueReader
from actonce.sending import for_fifo
from actonce.unstarted import MAX_ATTRIBUTES, Attributes, sqs_form

Decision = Literal["retry", "resolve", "reject"]

_ENDS_OF_DEAD_LETTERS = frozenset({DEAD_LETTER, "Failed"})
_PERFORM_EFFECT = "PerformEffect"
_MAY_GO_ON = frozenset({"AwaitStraggler", "FindEffect", "Performed?", "Decision"})
"""States that may be entered again in every version of the state machine."""

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
        source: the message as its producer sent it, only where there is no execution.
        message: the execution's input, or None where it was too large to be posted.
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
    source: dict[str, Any] | None
    message: dict[str, Any] | None

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


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a decision.

    Attributes:
        decided: Step Functions accepted it.
        posted_again: the execution was redriven, and posts its dead letter again.
        continued: the execution was redriven, in the middle of something else.
        said: one sentence for the person who asked.
    """

    decided: bool
    said: str
    posted_again: bool = False
    continued: bool = False


def dead_letter(queued: Queued) -> DeadLetter | None:
    """Read an entry; None if somebody else put it there."""
    try:
        posted = json.loads(queued.body)
        return DeadLetter(
            queued=queued,
            message_id=posted["message_id"],
            execution_name=posted["execution_name"],
            execution_arn=posted.get("execution_arn"),
            reason=posted["reason"],
            error=posted["error"],
            cause=posted["cause"],
            rounds=int(posted["rounds"]),
            posted_at=posted["posted_at"],
            task_token=posted.get("task_token"),
            source=posted.get("source"),
            message=posted.get("message"),
        )
    except (KeyError, TypeError, ValueError):
        return None


def waiting(queue: QueueReader) -> list[DeadLetter]:
    """The newest dead letter of each message, the longest waiting first."""
    newest: dict[str, DeadLetter] = {}
    for letter in _newest_first(_letters(queue)):
        newest.setdefault(letter.execution_name, letter)
    return list(reversed(newest.values()))


def decide(stack: Stack, message_id: str, decision: Decision, note: str = "") -> Answer:
    """Answer a message's dead letter.

    First the decision, then the entry is deleted: never is one deleted whose execution still waits.
    Made twice, or for an execution that waits no more, it changes nothing, and entries that nobody
    can answer any more are removed.

    `message_id` is the message's id, or its execution's name.

    Raises:
        Failed: there is no such message, or its dead letter cannot be found now.
    """
    if stack.ledger_table is not None:
        return _decide_in_ledger(stack, stack.ledger_table, message_id, decision, note)
    return _decide_by_token(stack, message_id, decision, note)


def _decide_by_token(stack: Stack, message_id: str, decision: Decision, note: str) -> Answer:
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = [letter for letter in _letters(queue) if letter.is_named(message_id)]
        output = json.dumps(_answer(stack, decision, note), ensure_ascii=False)
        accepted = False
        for letter in _newest_first(letters):
            # An execution has one open task; once that is answered, its older entries have none.
            accepted = accepted or _send(stack, letter.task_token, output)
            queue.delete(letter.queued)
        held_elsewhere = queue.held_elsewhere
    if accepted:
        return Answer(decided=True, said=f"Decided: {decision}.")

    name = letters[0].execution_name if letters else None
    execution = _execution(stack, name, message_id)
    if execution is None:
        if letters:
            return Answer(
                decided=False, said="Its execution is gone: nothing waits for a decision."
            )
        raise Failed(f"There is no dead letter and no execution of a message {message_id!r}.")
    events = read_events(stack.stepfunctions, execution.arn)
    stays = dead_letter_stays(events)
    if execution.status != "RUNNING":
        return _over(stack, execution, stays, history.last_state(events), decision)
    if not stays or stays[-1].over:
        return Answer(decided=False, said=f"It waits for no decision: {_how_it_stands(stays)}.")
    # It waits, and its entry cannot be seen: another reader holds it, or it outlived the queue's
    # retention. On AWS the history tells the token, too.
    token = stays[-1].task_token
    if token is not None and _send(stack, token, output):
        return Answer(decided=True, said=f"Decided: {decision}.")
    if held_elsewhere:
        raise Failed(
            f"Another reader holds the dead letter of {message_id!r} now; try again in a minute."
        )
    if letters:
        return Answer(decided=False, said="It was decided already, this very moment.")
    raise Failed(
        f"{message_id!r} waits for a decision, but its dead letter is gone from the queue: stop "
        f"its execution ({execution.arn}), and retry will have it posted again."
    )


_OUTCOMES: dict[Decision, Outcome | None] = {
    "retry": None,
    "resolve": Outcome.RESOLVED,
    "reject": Outcome.REJECTED,
}


def _decide_in_ledger(
    stack: Stack, table: str, message_id: str, decision: Decision, note: str
) -> Answer:
    """The same where a row stands in an execution's place: the decision is written to the row.

    A message that is to be tried again is sent anew after that, and the dead letter deleted last:
    a crash in between sends it again, and its row makes a duplicate of one of them.
    """
    rows = ProcessingTable(stack.dynamodb, table)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = [letter for letter in _letters(queue) if letter.is_named(message_id)]
        decided = False
        for letter in _newest_first(letters):
            now = datetime.now(UTC)
            decided = rows.decide(letter.message_id, _OUTCOMES[decision], now, note) or decided
            if decision == "retry" and letter.source is not None:
                _send_anew(stack, letter.source, letter.queued.sqs_message_id)
            queue.delete(letter.queued)
    if not letters:
        raise Failed(f"There is no dead letter of {message_id!r} in the queue.")
    if decided:
        return Answer(decided=True, said=f"Decided: {decision}.")
    return Answer(decided=False, said="It waits for no decision: its row says that it is done.")


def _send_anew(stack: Stack, source: dict[str, Any], deduplication_id: str) -> None:
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
        MessageBody=source["body"],
        MessageAttributes=attributes,
        **for_fifo(stack.requests_queue, source["message_group_id"], deduplication_id),
    )


def _letters(queue: QueueReader) -> list[DeadLetter]:
    return [letter for queued in queue.messages() if (letter := dead_letter(queued)) is not None]


def _newest_first(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    return sorted(
        letters, key=lambda letter: (letter.posted_at, letter.queued.sent_at), reverse=True
    )


def _answer(stack: Stack, decision: Decision, note: str) -> dict[str, str]:
    """The task's output. Who decided is for the record only, so it may be missing."""
    answer = {"decision": decision, "note": note, "decided_at": timestamp(datetime.now(UTC))}
    with contextlib.suppress(ClientError, BotoCoreError, Failed):
        answer["decided_by"] = stack.aws.client("sts").get_caller_identity()["Arn"]
    return answer


def _send(stack: Stack, task_token: str | None, output: str) -> bool:
    """Answer the task; False if it is open no more, or there was none."""
    if task_token is None:
        return False
    try:
        stack.stepfunctions.send_task_success(taskToken=task_token, output=output)
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_OPEN_TASK:
            return False
        raise
    return True


def _execution(stack: Stack, name: str | None, message_id: str) -> Execution | None:
    """The execution of an entry, or of a message id, or of that name."""
    if name is not None:
        return history.find_execution(stack, name)
    return history.find_execution_of(stack, message_id)


def _over(
    stack: Stack, execution: Execution, stays: list[Stay], state: str | None, decision: Decision
) -> Answer:
    """What to say of an execution that has ended; `state` is the one that it entered last."""
    if execution.status != "SUCCEEDED" and state not in _ENDS_OF_DEAD_LETTERS:
        return _interrupted(stack, execution, state, decision)
    end = f"its execution ended {execution.status}"
    if execution.error:
        end += f" ({execution.error})"
    unanswered = bool(stays) and not stays[-1].decision
    if unanswered and decision == "retry":
        return _redrive(stack, execution, end)
    if unanswered:
        return Answer(
            decided=False,
            said=f"Nobody had decided when {end}; retry posts the dead letter again.",
        )
    return Answer(decided=False, said=f"It waits for no decision: {end}, {_how_it_stands(stays)}.")


def _interrupted(
    stack: Stack, execution: Execution, state: str | None, decision: Decision
) -> Answer:
    """Continue what was aborted, or broke, in the state in which it was; never on a guess."""
    end = f"Its execution ended {execution.status} in {state or 'its first state'}"
    if decision != "retry":
        return Answer(decided=False, said=f"{end}, and waits for no decision; retry continues it.")
    if state not in _MAY_GO_ON and not _looks_when_redriven(stack, execution):
        raise Failed(
            f"{end}, and its state machine is one that performs again when it is redriven. Find "
            "out by hand whether it was acted on; do not redrive it in the console either."
        )
    _redrive_execution(stack, execution, end)
    return Answer(
        decided=False,
        said=f"{end}; it goes on now, and looks the effect up before it performs it.",
        continued=True,
    )


def _looks_when_redriven(stack: Stack, execution: Execution) -> bool:
    """Whether the definition that the execution was started with guards its `PerformEffect`."""
    answer = stack.stepfunctions.describe_state_machine_for_execution(executionArn=execution.arn)
    states = json_object(answer["definition"]).get("States", {})
    return "RedriveCount" in json.dumps(states.get(_PERFORM_EFFECT, {}).get("Arguments"))


def _redrive(stack: Stack, execution: Execution, end: str) -> Answer:
    """Have the dead letter posted again: a redrive goes on in the state that failed."""
    _redrive_execution(stack, execution, f"Nobody had decided when {end}")
    return Answer(
        decided=False,
        said=f"Nobody had decided when {end}; it goes on now and posts the dead letter again, for "
        "you to decide.",
        posted_again=True,
    )


def _redrive_execution(stack: Stack, execution: Execution, end: str) -> None:
    try:
        stack.stepfunctions.redrive_execution(executionArn=execution.arn)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _NO_SUCH_OPERATION:
            raise Failed(
                f"{end}, and this endpoint cannot redrive executions (AWS can), so it cannot go on."
            ) from error
        if code == "ExecutionNotRedrivable":
            raise Failed(
                f"{end}, and Step Functions cannot redrive it any more: "
                f"{error.response['Error']['Message']}"
            ) from error
        raise


def _how_it_stands(stays: list[Stay]) -> str:
    made = next((stay.decision for stay in reversed(stays) if stay.decision), None)
    if made is None:
        return "no decision was made"
    when = f" at {made['decided_at']}" if "decided_at" in made else ""
    by = f" by {made['decided_by']}" if "decided_by" in made else ""
    return f"the last decision was {made['decision']}{when}{by}"
