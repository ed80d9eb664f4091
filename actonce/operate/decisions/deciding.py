"""Making a decision on one message that waits, or on many that were listed."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.arguments import command_to_decide
from actonce.messages.dead_letters import (
    LETTER_CHARACTERS,
    DeadLetter,
    dead_letter,
    describe_missing_letter,
    find_letter,
)
from actonce.messages.history import find_execution
from actonce.operate.bulk import HELD, Bulk
from actonce.operate.decisions.allowed import Decision, why_not
from actonce.operate.decisions.by_task_token import ByTaskToken
from actonce.operate.decisions.results import (
    ANOTHER_SINCE,
    Answer,
    DecisionOutcome,
    DecisionUnconfirmed,
    why_unsure,
)
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed, UsageError


def decide(
    stack: Stack, name: str, decision: Decision, note: str = "", letter: str | None = None
) -> Answer:
    """Decide on a message by the dead letter that was shown, and only if that one still waits.

    The decision comes first and the letter is deleted then, so that none is deleted whose execution
    still waits. Made twice, or for an execution that waits no more, a decision changes nothing, and
    letters for which nothing waits are removed. Where nothing was decided the letter stays. A
    letter that cannot be deleted changes nothing about the decision; the answer says so.

    Args:
        stack: that has it.
        name: the message's id, or its execution's name.
        decision: which.
        note: why.
        letter: the SQS id of the letter that was shown, or its first `LETTER_CHARACTERS` at least.
            None: only a retry of a message that has none in the queue, or whose execution ended.

    Raises:
        UsageError: this needs a letter, which the error shows; or it may be one of several.
        Failed: there is no such message, or this letter is not in the queue now.
        DecisionUnconfirmed: no answer says whether it was decided.
    """
    if letter is not None and len(letter) < LETTER_CHARACTERS:
        raise UsageError(f"--letter {letter}: say {LETTER_CHARACTERS} characters of it at least.")
    by = ByTaskToken(stack, decision, note)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        found = find_letter(queue, name, letter or "")
        try:
            if letter is not None and found is not None:
                answer = by.answer(found)
            elif letter is not None:
                raise Failed(HELD if queue.in_flight_elsewhere else BulkDecision.gone)
            elif decision == "retry" and (found is None or _has_ended(stack, found)):
                answer = by.retry_without_letter(name, queue.in_flight_elsewhere)
            elif found is None:
                seen = describe_missing_letter(name, queue.in_flight_elsewhere)
                raise UsageError(f"{seen}, and without one that you were shown only retry decides.")
            else:
                command = command_to_decide(stack.options, found, decision, note)
                raise UsageError(
                    "Look first, then decide on the dead letter that you were shown, if it is this "
                    f"one: {command}"
                )
        except Exception as error:
            if (why := why_unsure(error)) is None:
                raise
            raise DecisionUnconfirmed(why) from error
        if found is None or answer.end is DecisionOutcome.NOT_DECIDED:
            return answer
        gone = [letter for letter in (found, *found.older) if is_closed(by, letter)]
        return _without_letters(answer, queue, gone)


def is_closed(by: ByTaskToken, letter: DeadLetter) -> bool:
    """Whether a letter may be deleted, as far as that can be told just now."""
    with contextlib.suppress(ClientError, BotoCoreError):
        return by.is_closed(letter)
    return False


def _has_ended(stack: Stack, letter: DeadLetter) -> bool:
    execution = find_execution(stack, letter.execution_name, letter.execution_arn)
    return execution is not None and execution.status != "RUNNING"


def _without_letters(answer: Answer, queue: QueueReader, letters: Sequence[DeadLetter]) -> Answer:
    """Delete the letters; the answer also says if some are left."""
    left, why = 0, ""
    try:
        left = len(queue.delete([letter.queued for letter in letters]))
    except (ClientError, BotoCoreError) as error:
        left, why = len(letters), f" ({error})"
    if not left:
        return answer
    text = (
        f"{answer.text} Its dead letter could not be deleted{why}: it is still in the queue, and "
        "counted as waiting, until you give the same command again."
    )
    return replace(answer, text=text, left_behind=left)


_DECIDED: Final[Mapping[Decision, str]] = {
    "retry": "retried",
    "perform": "to be performed",
    "resolve": "resolved",
    "reject": "rejected",
}


@dataclass(eq=False)
class BulkDecision(Bulk[DeadLetter]):
    """Makes one decision on every listed letter.

    It leaves alone what was posted since, also of the same messages.

    Attributes:
        decision: for all of them.
        note: why.
    """

    gone = f"It is no longer in the queue: somebody decided on it, or {ANOTHER_SINCE}. Look again."

    decision: Decision
    note: str = ""

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """See `Bulk.run`.

        Raises:
            Failed: this cannot be decided just now.
        """
        self._by = ByTaskToken(self.stack, self.decision, self.note)
        super().run(tell)

    def word(self, end: str) -> str:
        """See `Bulk.word`; what was decided, where it was."""
        return _DECIDED[self.decision] if end == DecisionOutcome.DECIDED else super().word(end)

    @property
    def queue_url(self) -> str:
        """See `Bulk.queue_url`."""
        return self.stack.dead_letter_queue

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        for queued in batch:
            letter = dead_letter(queued)
            if letter is None:
                continue  # it was a letter when it was listed, and SQS changes none
            if letter.entry not in self._ends:
                yield queued, self._deletes_older(letter)
            elif self._rate_limiter.wait():
                yield queued, self._decided(letter)
            else:
                return

    def _decided(self, letter: DeadLetter) -> bool:
        """Decide by a letter that was shown; whether to delete it."""
        answer = self._tried(letter.entry, lambda: self._by.answer(letter))
        if answer is None:
            return False
        self._end(letter.entry, answer.end, answer.text, happened=answer.end.happened)
        return answer.end is not DecisionOutcome.NOT_DECIDED and is_closed(self._by, letter)

    def _deletes_older(self, letter: DeadLetter) -> bool:
        """Whether to delete another letter of a message; it was not shown, so nobody decides it."""
        shown = self._listed[letter.entry]
        refusal = why_not(self.stack, self.decision, shown.reason, shown.cause)
        return refusal is None and is_closed(self._by, letter)

    def _not_known(self, error: Exception) -> str | None:
        return why_unsure(error)
