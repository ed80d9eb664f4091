"""Queue scans: what lies in a queue, read once for however many tabs.

Reading a queue hides its messages from other readers meanwhile. So one thread reads it, and keeps
what it found as a snapshot with a number and an age. When the queue's count differs from what was
found, something has changed.
"""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar

from actonce.messages.filters import Listing
from actonce.stack.aws_errors import error_text

E = TypeVar("E")

KEPT: Final = 8
"""So many of the newest snapshots are kept, and as many of those that a page asked somebody to
decide on: they decide on what they saw, however often the queue is read meanwhile."""

MOST_ENTRIES: Final = 40_000
"""Of all snapshots of either sort; two are kept however long they are."""

A_MOMENT: Final = 0.2
"""Seconds for which a page waits for a scan that it has begun."""

SMALL: Final = 500
"""Messages; a queue of more is not read again unless somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Listing[E]):
    """What a scan found; `number` names it while it is kept, and `at` is when it ended (UTC)."""

    number: int
    at: datetime

    @property
    def messages(self) -> int:
        """How many messages of the queue it accounts for."""
        return len(self.entries) + self.beside + self.held_elsewhere


@dataclass(frozen=True, slots=True)
class ScanState(Generic[E]):
    """How the scans stood at one moment; pages are drawn of this.

    Attributes:
        latest: the newest snapshot; None: there is none yet.
        reading: how many messages the scan under way has read; None: none is under way.
        error: why the last scan failed; None: it did not.
    """

    latest: Snapshot[E] | None
    reading: int | None
    error: str | None

    def is_sure(self, count: int | None) -> bool:
        """Whether the newest snapshot has all that lies in the queue.

        Args:
            count: the queue's messages; None: they could not be counted.
        """
        if self.latest is None or self.reading is not None or self.error is not None:
            return False
        return not self.latest.held_elsewhere and self.latest.messages == count


def first_number() -> int:
    """A random one, which no tab of an earlier console can name."""
    return secrets.randbelow(10**12) + 1


class QueueScans(Generic[E]):
    """The scans of one queue, and their snapshots.

    Args:
        read: reads the whole queue; now and then it calls its argument with how many it has read.
    """

    def __init__(self, read: Callable[[Callable[[int], None]], Listing[E]]) -> None:
        self._read = read
        self._next = first_number()
        self._lock = threading.Lock()
        self._kept: dict[int, Snapshot[E]] = {}
        self._asked_about: dict[int, Snapshot[E]] = {}
        self._thread: threading.Thread | None = None
        self._again = False
        self._so_far = 0
        self._error: str | None = None
        self._ended: datetime | None = None

    @property
    def latest(self) -> Snapshot[E] | None:
        """The newest snapshot; None: there is none yet."""
        return self.state().latest

    def state(self) -> ScanState[E]:
        """How the scans stand: a scan that ends meanwhile is in all of it or in none."""
        with self._lock:
            reading = self._so_far if self._thread is not None else None
            return ScanState(self._newest(), reading, self._error)

    def snapshot(self, number: int) -> Snapshot[E] | None:
        """The snapshot of that number; None: it is no longer kept."""
        with self._lock:
            return self._kept.get(number) or self._asked_about.get(number)

    def pin(self, snapshot: Snapshot[E]) -> None:
        """Keep a snapshot that a page asks somebody to decide on; see `KEPT`."""
        with self._lock:
            _keep(self._asked_about, snapshot)

    def find(self, wanted: Callable[[E], bool]) -> E | None:
        """An entry of the newest snapshots, as it was last read; None: none of them has it."""
        with self._lock:
            kept = list(reversed(self._kept.values()))
        return next((one for snapshot in kept for one in snapshot.entries if wanted(one)), None)

    def scan(self, *, after_this: bool = False) -> None:
        """Begin to read, unless somebody reads already.

        Args:
            after_this: a scan under way may have missed what was just done: read once more.
        """
        with self._lock:
            if self._thread is not None:
                self._again = self._again or after_this
                return
            self._so_far = 0
            self._thread = threading.Thread(target=self._run, name="queue scan", daemon=True)
            self._thread.start()

    def scan_if_changed(
        self, messages: int, counted_at: datetime, *, is_missed: bool = False
    ) -> None:
        """Read again if the queue is small, and may have something else than was read.

        It may if it has another number of messages, if another reader held some of them, or if the
        last scan failed. A queue that was not read yet is read, however long it is.

        Args:
            messages: how many the queue has.
            counted_at: when (UTC). A count from before the last scan's end starts none: each count
                has the queue read once at most, for a scan hides its messages from others.
            is_missed: something that must lie there was not found.
        """
        state = self.state()
        latest, ended = state.latest, self._ended
        if latest is None or ended is None:
            self.scan()
            return
        doubtful = is_missed or state.error or latest.held_elsewhere or messages != latest.messages
        if doubtful and messages <= SMALL and counted_at >= ended:
            self.scan()

    def wait(self, seconds: float) -> None:
        """Wait until no scan is under way, for so long at most."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            found, error = None, None
            try:
                found = self._read(self._tell)
            except Exception as raised:  # noqa: BLE001 - pages show it
                error = error_text(raised)
            with self._lock:
                self._error = error
                self._ended = datetime.now(UTC)
                if found is not None:
                    told = (found.entries, found.held_elsewhere, found.beside)
                    _keep(self._kept, Snapshot(*told, number=self._next, at=self._ended))
                    self._next += 1
                if not self._again:
                    self._thread = None
                    return
                self._again, self._so_far = False, 0

    def _newest(self) -> Snapshot[E] | None:
        return next(reversed(self._kept.values()), None)

    def _tell(self, number: int) -> None:
        with self._lock:
            self._so_far = number


def _keep(kept: dict[int, Snapshot[E]], snapshot: Snapshot[E]) -> None:
    """Keep it as the newest, and drop the oldest if they are too many."""
    kept.pop(snapshot.number, None)
    kept[snapshot.number] = snapshot
    while len(kept) > KEPT or (
        len(kept) > 2 and sum(len(one.entries) for one in kept.values()) > MOST_ENTRIES
    ):
        del kept[next(iter(kept))]
