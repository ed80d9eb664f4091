"""Dead letters as the console keeps them: one of each message, and the older ones beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from actonce.console.queue_scans import Found
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.filters import Narrowing
from actonce.operate.bulk import Listing
from actonce.operate.deciding import look
from actonce.queues.scan import QueueReader

_ALL = Narrowing({})


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that waits for a decision: its newest letter, and older ones of it.

    What `actonce.messages.filters.Waiting` asks for is the newest one's.
    """

    newest: DeadLetter
    older: tuple[DeadLetter, ...]

    @property
    def kind(self) -> Mapping[str, str]:
        """See `DeadLetter.kind`."""
        return self.newest.kind

    @property
    def since(self) -> datetime:
        """See `DeadLetter.since`."""
        return self.newest.since

    @property
    def called(self) -> str:
        """The message's id."""
        return self.newest.called

    @property
    def entry(self) -> str:
        """SQS's id of the newest letter, which names this on a page."""
        return self.newest.queued.sqs_message_id


def read_letters(queue: QueueReader, tell: Callable[[int], None]) -> Found[Letter]:
    """All letters of the queue, without the messages in them."""
    shown = look(queue, _ALL, tell)
    older: dict[str, list[DeadLetter]] = {}
    for letter in shown.older:
        older.setdefault(letter.execution_name, []).append(letter)
    entries = [Letter(one, tuple(older.get(one.execution_name, ()))) for one in shown.entries]
    return Found(entries, len(shown.older) + shown.others, shown.held_elsewhere)


def as_shown(letters: Iterable[Letter]) -> Listing[DeadLetter]:
    """What `actonce.operate.deciding.Deciding` decides on."""
    chosen: Sequence[Letter] = list(letters)
    older = [letter for one in chosen for letter in one.older]
    return Listing([one.newest for one in chosen], held_elsewhere=0, older=older)
