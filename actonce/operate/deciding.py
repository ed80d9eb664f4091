"""One decision for many dead letters: those that were looked at before, and no others."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from actonce.messages.dead_letters import (
    ANOTHER_SINCE,
    DeadLetter,
    Decider,
    Decision,
    End,
    dead_letter,
    decider,
    newest_first,
    newest_of_each,
)
from actonce.messages.filters import Narrowing
from actonce.queues.bulk_pass import LOOK_SECONDS, WORKERS, Handled, Pace, QueuePass
from actonce.queues.rate_limiter import is_forbidden, through_throttling
from actonce.queues.scan import Queued, QueueReader
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed

_LOOKS = 5
"""Looks at an execution whose task was answered, and which waits all the same, a second apart."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person was shown: letters without their messages.

    Attributes:
        letters: the newest of each message, the longest waiting first.
        older: other letters of the same messages, which go with them.
        held_elsewhere: how many another reader held, so that they are not among these.
        others: messages of the queue that are no letters; somebody else has put them there.
    """

    letters: Sequence[DeadLetter]
    older: Sequence[DeadLetter]
    held_elsewhere: int
    others: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one of the letters."""

    letter: DeadLetter
    end: End
    said: str

    @property
    def happened(self) -> bool:
        """See `Answer.happened`."""
        return self.end not in (End.NOT_DECIDED, End.FAILED)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "message_id": self.letter.message_id,
            "execution_name": self.letter.execution_name,
            "end": self.end,
            "said": self.said,
        }


def look(
    queue: QueueReader, narrowing: Narrowing, tell: Callable[[int], None] = lambda _: None
) -> Shown:
    """Read the queue and keep what is meant.

    A message's newest letter is what counts: whether that is meant, and how old it is.

    Args:
        queue: of dead letters; it is read whole.
        narrowing: which are meant; `match` is looked for in `DeadLetter.texts`.
        tell: is told now and then how many have been read.
    """
    letters: list[DeadLetter] = []
    matching: set[str] = set()
    number = 0
    for number, queued in enumerate(queue.messages(), 1):
        letter = dead_letter(queued)
        if letter is not None:
            if narrowing.matches(letter.texts()):
                matching.add(queued.sqs_message_id)
            letters.append(letter.without_message())
        if number % 100 == 0:
            tell(number)
    newest = newest_of_each(letters)
    chosen = narrowing.of(one for one in newest if one.queued.sqs_message_id in matching)
    names = {letter.execution_name: letter for letter in chosen}
    older = [
        letter
        for letter in newest_first(letters)
        if letter.execution_name in names and letter is not names[letter.execution_name]
    ]
    return Shown(chosen, older, queue.held_elsewhere, number - len(letters))


class Deciding:
    """Makes one decision about every letter that was shown, letter by letter.

    What was posted since is left alone, also of the same messages. Ended early, or killed, it has
    decided on some of them and left the others as they were; begun again it goes on.

    Args:
        rate: most decisions a second.
        wait_for_others: see `QueuePass`.
    """

    def __init__(
        self,
        stack: Stack,
        shown: Shown,
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        self._stack = stack
        self._shown = shown
        self._newest = {letter.queued.sqs_message_id: letter for letter in shown.letters}
        older = {letter.queued.sqs_message_id for letter in shown.older}
        self._pass: QueuePass = QueuePass(
            stack.sqs,
            stack.dead_letter_queue,
            self._newest.keys() | older,
            rate=rate,
            wait_for_others=wait_for_others,
        )
        self._pace = Pace(rate, self._pass.stopping)
        self._lock = threading.Lock()
        self._ends: dict[str, Decided] = {}

    @property
    def decided(self) -> list[Decided]:
        """What became of the letters so far, in their order."""
        ends = self._ends
        names = [letter.execution_name for letter in self._shown.letters]
        return [ends[name] for name in names if name in ends]

    @property
    def undecided(self) -> int:
        """How many letters it did not come to."""
        return len(self._shown.letters) - len(self._ends)

    def run(
        self, decision: Decision, note: str = "", tell: Callable[[int], None] = lambda _: None
    ) -> None:
        """Decide.

        Args:
            decision: for all of them.
            note: why.
            tell: is told now and then how many letters have been seen to.

        Raises:
            ClientError: AWS says that this cannot be done, for this one and so for all others.
        """
        by = decider(self._stack, decision, note)
        self._pass.run(lambda batch: self._batch(by, batch), lambda _: tell(len(self._ends)))
        if self._pass.stopping.is_set():
            return  # the rest was not looked for to its end
        rest = [one for one in self._shown.letters if one.execution_name not in self._ends]
        with ThreadPoolExecutor(WORKERS, thread_name_prefix="decide") as threads:
            work = [threads.submit(self._without_entry, by, letter) for letter in rest]
            try:
                while wait(work, LOOK_SECONDS, return_when=FIRST_EXCEPTION).not_done:
                    tell(len(self._ends))
                    _raise_first(work)
            except BaseException:
                self._pass.stopping.set()
                threads.shutdown(cancel_futures=True)
                raise
        _raise_first(work)

    def stop(self) -> None:
        """Begin nothing more; `run` ends soon, and what it did not come to is as it was."""
        self._pass.stopping.set()

    def _batch(self, by: Decider, batch: Sequence[Queued]) -> Iterator[Handled]:
        for queued in batch:
            letter = dead_letter(queued)
            if letter is None:
                continue  # it was a letter when it was shown, and SQS changes none
            if queued.sqs_message_id not in self._newest:
                yield Handled(queued, goes=self._older(by, letter))
                continue
            if not self._pace.wait():
                return
            yield Handled(queued, goes=self._newest_one(by, letter))

    def _newest_one(self, by: Decider, letter: DeadLetter) -> bool:
        stopping = self._pass.stopping
        try:
            answer = through_throttling(lambda: by.answer([letter]), stopping)
            for _ in range(_LOOKS):
                # Answered a moment ago, and its history does not say so yet.
                if answer.end is not End.FAILED or stopping.wait(1):
                    break
                answer = through_throttling(lambda: by.answer([letter]), stopping)
        except (ClientError, Failed) as error:
            if isinstance(error, ClientError) and is_forbidden(error):
                raise
            self._note(Decided(letter, End.FAILED, str(error)))
            return False
        self._note(Decided(letter, answer.end, answer.said))
        return answer.entry_goes

    def _older(self, by: Decider, letter: DeadLetter) -> bool:
        """See to an older letter; it says nothing of its message, unless it was the open one."""
        try:
            accepted = through_throttling(lambda: by.answer_older(letter), self._pass.stopping)
        except ClientError as error:
            if is_forbidden(error):
                raise
            return False
        if accepted:
            self._note(Decided(letter, End.DECIDED, "Decided."))
        return True

    def _without_entry(self, by: Decider, letter: DeadLetter) -> None:
        """See to a letter whose entry did not come: somebody has it, or has decided meanwhile."""
        held = self._pass.held_elsewhere
        if letter.task_token is None:
            said = (
                "Not decided: another reader holds it. Look again, and say the same again."
                if held
                else "Not decided: it is gone from the queue, so somebody has decided on it, or "
                f"{ANOTHER_SINCE}: look again."
            )
            self._note(Decided(letter, End.FAILED, said))
            return
        if self._pace.wait():
            self._newest_one(by, letter)

    def _note(self, decided: Decided) -> None:
        with self._lock:
            before = self._ends.get(decided.letter.execution_name)
            if before is None or before.end is not End.DECIDED:
                self._ends[decided.letter.execution_name] = decided


def counted(decided: Iterable[Decided]) -> Mapping[End, int]:
    """How many ended how; only what there is."""
    return Counter(one.end for one in decided)


def _raise_first(work: Iterable[Future[None]]) -> None:
    for one in work:
        if one.done():
            one.result()
