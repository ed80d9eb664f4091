"""Acting on many entries of a queue at once: on those that were listed, and no others."""

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from botocore.exceptions import ClientError

from actonce.messages.filters import E, Listing
from actonce.queues.rate import RateLimiter
from actonce.queues.scan import READERS, Queued, QueueReader
from actonce.stack.aws_errors import is_forbidden
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.transient import retry_throttled

FAILED = "failed"
"""The end of an entry that could not be acted on; nothing was changed."""

UNKNOWN = "unknown"
"""The end of an entry where no answer tells whether it was acted on."""

HELD = "Another reader holds it. Give the same command again."
"""What to say of an entry that may be in the queue."""

LOOK_SECONDS = 0.2
"""How often progress is reported."""

IN_HAND_SECONDS = 10
"""With a rate, no more are received than are due within this time."""

_RETRY_FOR = 120.0
"""How long a throttled call is retried, on top of the SDK's own retries."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BulkResult(Generic[E]):
    """What became of one entry.

    Attributes:
        end: one word for machines.
        text: a sentence for the person who asked.
        happened: the request was carried out, or will be.
    """

    entry: E
    end: str
    text: str
    happened: bool

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**self.entry.ids, "end": self.end, "text": self.text}


@dataclass(eq=False)
class Bulk(ABC, Generic[E]):
    """Acts on every listed entry once, while it reads the queue.

    It leaves alone what came since. It holds an entry only while it acts on it, and what was not
    listed until it ends: another reader finds it again soon, also after a kill. It acts first and
    deletes then: a crash in between leaves the entry in the queue.

    Stopped early, or killed, it has acted on some and left the others as they were; run again, it
    continues with those.

    Attributes:
        listing: the entries to act on.
        rate: most entries a second.
        wait_for_others: see `QueueReader`.
        kept_in: the file that has everything that was discarded; None: nothing was.
        left_behind: how many messages are done and could not be deleted. They come again, which
            does no harm, and still count as waiting.
    """

    gone: ClassVar = "It is no longer in the queue: somebody else acted on it. Look again."
    """What to say of an entry that was not received."""

    stack: Stack
    listing: Listing[E]
    rate: float | None = field(default=None, kw_only=True)
    wait_for_others: float | None = field(default=None, kw_only=True)
    kept_in: Path | None = field(default=None, init=False)
    left_behind: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        in_hand = 10 * READERS if self.rate is None else max(1, int(self.rate * IN_HAND_SECONDS))
        self._reader = QueueReader(
            self.stack.sqs, self.queue_url, wait_for_others=self.wait_for_others, in_hand=in_hand
        )
        entries = self.listing.entries
        self._listed = {name: entry for entry in entries for name in entry.entries}
        self._missing = set(self._listed)
        self._ends: dict[str, BulkResult[E] | None] = {entry.entry: None for entry in entries}
        self._stopping = threading.Event()
        self._rate_limiter = RateLimiter(self.rate, self._stopping.wait)
        self._lock = threading.Lock()

    @property
    def ended(self) -> list[BulkResult[E]]:
        """The results so far, in the order of the entries."""
        return [end for end in self._ends.values() if end is not None]

    @property
    def results_by_end(self) -> Mapping[str, int]:
        """How many have ended so far, by their end."""
        return Counter(result.end for result in self.ended)

    def word(self, end: str) -> str:
        """A person's word for an end."""
        return end.replace("_", " ")

    @property
    def left(self) -> int:
        """How many entries it has not acted on: they are as they were."""
        return sum(end is None for end in self._ends.values())

    @property
    def notes(self) -> list[str]:
        """What else to say, in sentences."""
        sentences = []
        if self.left_behind:
            sentences.append(
                f"{self.left_behind:,} of them could not be deleted from the queue, and count as "
                "waiting until you give the same command again. Nothing is done twice."
            )
        if self.kept_in is not None:
            sentences.append(
                f"{self.kept_in} has what was discarded, whole. Keep it: nothing else does."
            )
        return sentences

    def run(self, tell: Callable[[int], None] = lambda _: None) -> None:
        """Act on the entries.

        Whatever stops it early, Ctrl-C too, it finishes the entries it has begun and gives back the
        rest.

        Args:
            tell: is called now and then with how many are done.

        Raises:
            ClientError: AWS refuses this entry, and so all others.
        """
        if not self._missing:
            return
        with (
            self._reader as reader,
            ThreadPoolExecutor(READERS, thread_name_prefix="bulk") as threads,
        ):
            for answers in reader.receives():
                listed = [
                    [m for m in answer if m.sqs_message_id in self._missing] for answer in answers
                ]
                work = [threads.submit(self._act, mine) for mine in listed if mine]
                try:
                    while wait(work, LOOK_SECONDS).not_done:
                        tell(len(self.ended))
                except BaseException:
                    self.stop()
                    raise
                for future in work:
                    future.result()
                if not self._missing or self._stopping.is_set():
                    break
        tell(len(self.ended))
        if self._stopping.is_set():
            return  # the rest was not looked for to its end
        where = HELD if self._reader.in_flight_elsewhere else self.gone
        for name in [name for name, end in self._ends.items() if end is None]:
            self._end(name, FAILED, where, happened=False)

    def stop(self) -> None:
        """Begin no other entry; `run` ends soon and leaves the rest as it was."""
        self._stopping.set()

    @property
    @abstractmethod
    def queue_url(self) -> str:
        """Of the queue that has the entries."""

    @abstractmethod
    def _batch(self, batch: Sequence[Queued]) -> Iterator[tuple[Queued, bool]]:
        """Act on the listed messages of one receive, in order; called in threads.

        It yields each message that it has acted on, and whether to delete it. The others are given
        back.
        """

    def _act(self, mine: Sequence[Queued]) -> None:
        """Act and delete; messages that were not acted on stay missing."""
        done: list[Queued] = []
        try:
            for queued, deletes in self._batch(mine):
                with self._lock:
                    self._missing.discard(queued.sqs_message_id)
                if deletes:
                    done.append(queued)
        except BaseException:
            self.stop()
            raise
        finally:
            kept = {message.sqs_message_id for message in done}
            try:
                kept = self._through_throttling(lambda: self._reader.delete(done))
            finally:
                self._could_not_delete(kept)

    def _could_not_delete(self, names: set[str]) -> None:
        """Note the messages, by SQS id, that were acted on and are still in the queue."""
        with self._lock:
            self.left_behind += len(names)

    def _end(self, name: str, end: str, text: str, *, happened: bool) -> None:
        """Note what became of an entry, by any of its SQS ids."""
        entry = self._listed[name]
        with self._lock:
            self._ends[entry.entry] = BulkResult(entry, end, text, happened)

    def _not_known(self, error: Exception) -> str | None:
        """What to say of an entry that may be acted on despite this error; None: it is not."""
        raise NotImplementedError

    def _tried(self, name: str, call: Callable[[], T]) -> T | None:
        """Call for an entry, through throttling; None: it failed, and that is its result.

        Raises:
            Exception: the call would fail for every other entry as well. This entry has a result
                only if it may be acted on; otherwise it is as it was.
        """
        try:
            return self._through_throttling(call)
        except Exception as error:
            ends_all = not isinstance(error, ClientError | Failed) or is_forbidden(error)
            unknown = self._not_known(error)
            if unknown is not None:
                self._end(name, UNKNOWN, unknown, happened=False)
            elif not ends_all:
                self._end(name, FAILED, str(error), happened=False)
            if ends_all:
                raise
            return None

    def _through_throttling(self, call: Callable[[], T]) -> T:
        return retry_throttled(call, _RETRY_FOR, self._stopping.wait)
