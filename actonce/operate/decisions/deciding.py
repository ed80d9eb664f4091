"""Making a decision on one message that waits, or on many that were listed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.dead_letters import DeadLetter, dead_letter, letter_of
from actonce.operate.bulk import Bulk
from actonce.operate.decisions.answers import (
    ANOTHER_SINCE,
    Answer,
    Decider,
    DecisionEnd,
    Unsure,
    why_unsure,
)
from actonce.operate.decisions.by_task_token import ByTaskToken
from actonce.operate.decisions.in_lock_row import InLockRow
from actonce.operate.decisions.offered import Decision
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.aws_errors import is_forbidden
from actonce.stack.clients import Stack


def decider(stack: Stack, decision: Decision, note: str = "") -> Decider:
    """What makes decisions on this stack: by task tokens, or in the rows of a lock.

    Raises:
        Failed: this cannot be decided just now.
    """
    if stack.ledger_table is None:
        return ByTaskToken(stack, decision, note)
    return InLockRow(stack, stack.ledger_table, decision, note)


def decide(stack: Stack, name: str, decision: Decision, note: str = "") -> Answer:
    """Answer a message's dead letter.

    The decision comes first and the letter is deleted then, so that none is deleted whose execution
    still waits. Made twice, or for an execution that waits no more, a decision changes nothing, and
    letters whose task was answered before are removed. Where nothing was decided the letter stays.
    A letter that cannot be deleted changes nothing about the decision; the answer says so.

    `name` is the message's id, or its execution's name.

    Raises:
        Failed: there is no such message, or its dead letter cannot be found now.
        Unsure: no answer says whether it was decided.
    """
    by = decider(stack, decision, note)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letter = letter_of(queue, name)
        letters = [] if letter is None else [letter, *letter.older]
        try:
            answer = by.answer(name, letters, queue.held_elsewhere)
        except Exception as error:
            if (why := why_unsure(error)) is None:
                raise
            raise Unsure(why) from error
        return _without_letters(answer, queue, letters) if answer.end.goes else answer


def _without_letters(answer: Answer, queue: QueueReader, letters: Sequence[DeadLetter]) -> Answer:
    """Delete the letters; the answer also says if some are left."""
    left, why = 0, ""
    try:
        left = len(queue.delete([one.queued for one in letters]))
    except (ClientError, BotoCoreError) as error:
        left, why = len(letters), f" ({error})"
    if not left:
        return answer
    said = (
        f"{answer.said} Its dead letter could not be deleted{why}: it is still in the queue, and "
        "counted as waiting, until you give the same command again."
    )
    return replace(answer, said=said, left_behind=left)


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
        self._by: Decider = decider(self.stack, self.decision, self.note)
        super().run(tell)

    def word(self, end: str) -> str:
        """See `Bulk.word`; what was decided, where it was."""
        return _DECIDED[self.decision] if end == DecisionEnd.DECIDED else super().word(end)

    def _queue(self) -> str:
        return self.stack.dead_letter_queue

    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        for queued in batch:
            letter = dead_letter(queued)
            if letter is None:
                continue  # it was a letter when it was listed, and SQS changes none
            if letter.entry not in self._ends:
                yield queued, self._older(letter)
            elif self._rate_limiter.wait():
                yield queued, self._newest(letter)
            else:
                return

    def _newest(self, letter: DeadLetter) -> bool:
        """Decide by a message's newest letter; whether to delete it."""
        answer = self._tried(letter.entry, lambda: self._by.answer(letter.message_id, [letter]))
        if answer is None:
            return False
        self._end(letter.entry, answer.end, answer.said, happened=answer.end.happened)
        return answer.end.goes

    def _older(self, letter: DeadLetter) -> bool:
        """Decide by an older letter, which counts only if it is the open one."""
        try:
            # Not again where it is throttled: behind a lock it is two steps. The letter stays.
            accepted = self._by.answer_older(letter)
        except ClientError as error:
            if is_forbidden(error):
                raise
            return False
        if accepted:
            self._end(letter.entry, DecisionEnd.DECIDED, "Decided.", happened=True)
        return True

    def _not_known(self, error: Exception) -> str | None:
        return why_unsure(error)

    def _end(self, name: str, end: str, said: str, *, happened: bool) -> None:
        """Note the result of a message, unless one of its letters was decided already."""
        before = self._ends[self._listed[name].entry]
        if before is None or before.end != DecisionEnd.DECIDED:
            super()._end(name, end, said, happened=happened)
