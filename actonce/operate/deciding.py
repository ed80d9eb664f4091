"""One decision for many dead letters: those that were listed before, and no others."""

from collections.abc import Callable, Iterator, Sequence

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import (
    ANOTHER_SINCE,
    DeadLetter,
    Decider,
    Decision,
    End,
    dead_letter,
    decider,
    newest_of_each,
)
from actonce.messages.filters import Narrowing
from actonce.operate.bulk import Bulk, Listing, raise_if_forbidden
from actonce.queues.bulk_pass import Handled
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed


def look(
    queue: QueueReader, narrowing: Narrowing, tell: Callable[[int], None] = lambda _: None
) -> Listing[DeadLetter]:
    """Read the queue and keep what is meant, without the messages.

    A message's newest letter is what counts: whether that is meant, and how old it is.

    Args:
        queue: of dead letters; it is read whole.
        narrowing: which are meant; `match` is looked for in `DeadLetter.texts`.
        tell: see `QueueReader.messages`.
    """
    letters: list[DeadLetter] = []
    matching: set[str] = set()
    others = 0
    for queued in queue.messages(tell):
        letter = dead_letter(queued)
        if letter is None:
            others += 1
            continue
        if narrowing.matches(letter.texts()):
            matching.add(letter.entry)
        letters.append(letter.without_message())
    chosen = narrowing.of(one for one in newest_of_each(letters) if one.entry in matching)
    beside = others + sum(len(letter.older) for letter in chosen)
    return Listing(chosen, queue.held_elsewhere, beside)


class Deciding(Bulk[DeadLetter]):
    """Makes one decision about every letter that was listed.

    What was posted since is left alone, also of the same messages.

    Args:
        decision: for all of them.
        note: why.
    """

    _gone = (
        f"It is gone from the queue: somebody has decided on it, or {ANOTHER_SINCE}: look again."
    )

    def __init__(  # noqa: PLR0913 - what is decided, and how fast
        self,
        stack: Stack,
        listing: Listing[DeadLetter],
        decision: Decision,
        note: str = "",
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        super().__init__(
            stack, stack.dead_letter_queue, listing, rate=rate, wait_for_others=wait_for_others
        )
        self._newest = {one.execution_name: one.entry for one in listing.entries}
        self._decision = decision
        self._note = note

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """See `Bulk.run`.

        Raises:
            Failed: nothing can be decided so just now.
        """
        self._by: Decider = decider(self._stack, self._decision, self._note)
        super().run(tell)

    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            letter = dead_letter(queued)
            if letter is None:
                continue  # it was a letter when it was listed, and SQS changes none
            if letter.entry not in self._entries:
                yield Handled(queued, goes=self._older(letter))
                continue
            if not self._rate_limiter.wait():
                return
            yield Handled(queued, goes=self._decide(letter))

    def _decide(self, letter: DeadLetter) -> bool:
        """Decide by a message's newest letter; whether its entry goes."""
        try:
            answer = self._through_throttling(lambda: self._by.answer([letter]))
        except (ClientError, Failed) as error:
            raise_if_forbidden(error)
            self._note_end(letter, End.FAILED, str(error))
            return False
        self._note_end(letter, answer.end, answer.said)
        return answer.entry_goes

    def _older(self, letter: DeadLetter) -> bool:
        """Decide by an older letter; it says nothing of its message, unless it was the open one."""
        try:
            # Not again where it is throttled: behind a lock it is two steps. The letter stays.
            accepted = self._by.answer_older(letter)
        except ClientError as error:
            raise_if_forbidden(error)
            return False
        if accepted:
            self._note_end(letter, End.DECIDED, "Decided.")
        return True

    def _note_end(self, letter: DeadLetter, end: End, said: str) -> None:
        """Note what became of a message by one of its letters; that it was decided stays."""
        entry = self._newest[letter.execution_name]
        before = self._ends.get(entry)
        if before is None or before.end != End.DECIDED:
            self._end(entry, end, said, happened=end.happened)
