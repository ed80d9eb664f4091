"""Acting on many entries of a queue at once: on those that were listed before, and no others."""

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from botocore.exceptions import ClientError

from actonce.messages.filters import Waiting
from actonce.queues.bulk_pass import Handled, QueuePass
from actonce.queues.scan import Queued
from actonce.queues.throttling import is_forbidden, through_throttling
from actonce.stack.clients import Stack
from pipeline.sqs import RateLimiter

FAILED = "failed"
"""How an entry ended that could not be acted on; nothing was changed."""


class Entry(Waiting, Protocol):
    """What lies in a queue."""

    @property
    def entry(self) -> str:
        """SQS's id of it."""

    @property
    def entries(self) -> Sequence[str]:
        """SQS's ids of all that goes with it, its own first."""

    @property
    def message_id(self) -> str | None:
        """The producer's; None where it cannot be read."""

    @property
    def ids(self) -> Mapping[str, str | None]:
        """What it is named by, for machines."""


E = TypeVar("E", bound=Entry)
Listed = TypeVar("Listed")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Listed]):
    """What a person was shown of a queue.

    Attributes:
        entries: most without their messages, the longest waiting first.
        held_elsewhere: how many another reader held, so that they are not among these.
        beside: messages that are not among `entries`: older letters of theirs, and what somebody
            else has put there.
    """

    entries: Sequence[Listed]
    held_elsewhere: int
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Ended(Generic[E]):
    """What became of one of the entries.

    Attributes:
        end: one word for machines.
        said: a sentence for the person who asked.
        happened: what was asked for is so, or comes to be so.
    """

    entry: E
    end: str
    said: str
    happened: bool

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**self.entry.ids, "end": self.end, "said": self.said}


class Bulk(ABC, Generic[E]):
    """Acts on every entry that was listed, each once.

    What came since is left alone. Ended early, or killed, it has acted on some and left the others
    as they were; begun again it goes on.

    Args:
        stack: whose.
        queue_url: where the entries lie.
        listing: what is acted on.
        rate: most entries a second.
        wait_for_others: see `QueuePass`.
    """

    _gone = "It is gone from the queue: somebody else has seen to it; look again."

    def __init__(
        self,
        stack: Stack,
        queue_url: str,
        listing: Listing[E],
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        self._stack = stack
        self._entries = {one.entry: one for one in listing.entries}
        self._pass = QueuePass(
            stack.sqs,
            queue_url,
            [name for one in listing.entries for name in one.entries],
            rate=rate,
            wait_for_others=wait_for_others,
        )
        self._rate_limiter = RateLimiter(rate, self._pass.stopping.wait)
        self._lock = threading.Lock()
        self._ends: dict[str, Ended[E]] = {}

    @property
    def ended(self) -> list[Ended[E]]:
        """What became of the entries so far, in their order."""
        return [self._ends[name] for name in self._entries if name in self._ends]

    @property
    def left(self) -> int:
        """How many entries it did not come to."""
        return len(self._entries) - len(self._ends)

    @property
    def left_behind(self) -> int:
        """How many of those that are done could not be deleted, and come again: no harm is done."""
        return len(self._pass.left_behind)

    @property
    def kept_in(self) -> Path | None:
        """The file in which everything stands that was taken away; None: nothing was."""
        return None

    @property
    def notes(self) -> list[str]:
        """What else is to be told, in sentences."""
        told = []
        if self.left_behind:
            told.append(
                f"{self.left_behind:,} of them could not be deleted and come again; that is "
                "harmless."
            )
        if self.kept_in is not None:
            told.append(f"What was discarded stands in {self.kept_in}, whole: keep that file.")
        return told

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Act.

        Args:
            tell: is told now and then how many have been seen to.

        Raises:
            ClientError: AWS says that this cannot be done, for this one and so for all others.
        """
        self._pass.run(self._batch, lambda _: tell(len(self._ends)))
        if self._pass.stopping.is_set():
            return  # the rest was not looked for to its end
        where = (
            "Another reader holds it: look again, and say the same again."
            if self._pass.held_elsewhere
            else self._gone
        )
        for name in self._entries.keys() - self._ends.keys():
            self._end(name, FAILED, where, happened=False)

    def stop(self) -> None:
        """Begin nothing more; `run` ends soon, and what it did not come to is as it was."""
        self._pass.stopping.set()

    @abstractmethod
    def _batch(self, batch: Sequence[Queued]) -> Iterator[Handled]:
        """See `bulk_pass.Handle`."""

    def _end(self, entry: str, end: str, said: str, *, happened: bool) -> None:
        with self._lock:
            self._ends[entry] = Ended(self._entries[entry], end, said, happened)

    def _through_throttling(self, call: Callable[[], T]) -> T:
        return through_throttling(call, self._pass.stopping)


def raise_if_forbidden(error: Exception) -> None:
    """Raise what AWS would say of every other entry as well."""
    if isinstance(error, ClientError) and is_forbidden(error):
        raise error


def counted(ended: Iterable[Ended[Any]]) -> Mapping[str, int]:
    """How many ended how; only what there is."""
    return Counter(one.end for one in ended)
