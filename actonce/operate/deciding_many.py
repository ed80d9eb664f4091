"""One decision for many dead letters: those that were listed before, and no others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import DeadLetter, dead_letter
from actonce.operate.bulk import FAILED, UNKNOWN, Bulk, raise_if_forbidden
from actonce.operate.deciding import decider
from actonce.operate.decisions import (
    ANOTHER_SINCE,
    Decider,
    Decision,
    End,
    may_be_made,
    not_known,
)
from actonce.queues.scan import Queued
from actonce.terminal.errors import Failed


@dataclass(eq=False)
class Deciding(Bulk[DeadLetter]):
    """Makes one decision about every letter that was listed.

    What was posted since is left alone, also of the same messages.

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
            Failed: nothing can be decided so just now.
        """
        self._by: Decider = decider(self.stack, self.decision, self.note)
        super().run(tell)

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
        """Decide by a message's newest letter; whether its entry goes."""
        try:
            answer = self._through_throttling(lambda: self._by.answer(letter.message_id, [letter]))
        except Exception as error:
            is_unknown = may_be_made(error)
            if is_unknown:
                self._note_end(letter, UNKNOWN, not_known(error), happened=False)
            if not isinstance(error, ClientError | Failed):
                raise
            raise_if_forbidden(error)
            if not is_unknown:
                self._note_end(letter, FAILED, str(error), happened=False)
            return False
        self._note_end(letter, answer.end, answer.said, happened=answer.end.happened)
        return answer.end.goes

    def _older(self, letter: DeadLetter) -> bool:
        """Decide by an older letter; it says nothing of its message, unless it was the open one."""
        try:
            # Not again where it is throttled: behind a lock it is two steps. The letter stays.
            accepted = self._by.answer_older(letter)
        except ClientError as error:
            raise_if_forbidden(error)
            return False
        if accepted:
            self._end(letter.entry, End.DECIDED, "Decided.", happened=True)
        return True

    def _note_end(self, letter: DeadLetter, end: str, said: str, *, happened: bool) -> None:
        """Note what became of a message, unless an older letter of it was decided on before."""
        before = self._ends[letter.entry]
        if before is None or before.end != End.DECIDED:
            self._end(letter.entry, end, said, happened=happened)
