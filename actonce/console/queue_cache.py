"""What lies in a queue, read once for however many tabs, and what a form asked somebody about.

Reading a queue hides its messages from other readers meanwhile. So one thread reads it, while a
page is open, and only so often. No count shows that a queue is as it was: one message may have gone
and another have come.
"""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from actonce.messages.filters import Listing
from actonce.messages.newest import Newest
from actonce.stack.aws_errors import error_text

E = TypeVar("E")

FRESH_SECONDS: Final = 10.0
"""For which a listing is not read again; an open page asks every 15 seconds."""

OLD: Final = timedelta(seconds=60)
"""A listing of that age is not shown as what the queue has now."""

A_MOMENT: Final = 2.0
"""Seconds for which a page waits for a reading that it has begun."""

SMALL: Final = 500
"""Messages; a queue of more is not read again unless somebody asks."""

KEPT: Final = 100
"""Most forms of a queue that can be sent; opening one more closes the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueListing(Listing[E]):
    """What was read of a queue; `at` is when that ended (UTC)."""

    at: datetime

    @property
    def messages(self) -> int:
        """How many messages of the queue it accounts for."""
        return len(self.entries) + self.unrecognized + self.in_flight_elsewhere

    @property
    def is_old(self) -> bool:
        """Whether it is too old to be shown as what the queue has now."""
        return datetime.now(UTC) - self.at > OLD


@dataclass(frozen=True, slots=True)
class QueueState(Generic[E]):
    """What was known of a queue at one moment; pages are drawn of this.

    Attributes:
        latest: what was read last; None: nothing was.
        reading: how many messages the reading under way has read; None: none is under way.
        error: why the last reading failed; None: it did not.
    """

    latest: QueueListing[E] | None
    reading: int | None
    error: str | None

    def is_sure(self, count: int | None) -> bool:
        """Whether the listing has all that lies in the queue.

        Args:
            count: the queue's messages; None: they could not be counted.
        """
        if self.latest is None or self.reading is not None or self.error is not None:
            return False
        is_whole = not self.latest.in_flight_elsewhere and self.latest.messages == count
        return is_whole and not self.latest.is_old


@dataclass(frozen=True, slots=True)
class Shown:
    """What a form asks about: these entries, and nothing else.

    Attributes:
        entries: without their messages.
        at: when they were read (UTC).
        kind: all entries of this kind were meant, and the queue was read whole; None: each of them.
    """

    entries: Sequence[Any]
    at: datetime
    kind: Mapping[str, str] | None = None


class QueueCache(Generic[E]):
    """The newest listing of one queue, and the forms that ask about what lies there.

    Args:
        read: reads the whole queue; now and then it calls its argument with how many it has read.
        clock: seconds, like `time.monotonic`.

    Attributes:
        forms: what was shown with each form that can be sent, by the form's key.
    """

    def __init__(
        self,
        read: Callable[[Callable[[int], None]], Listing[E]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._clock = read, clock
        self.forms: Newest[str, Shown] = Newest(KEPT)
        self._lock = threading.Lock()
        self._latest: QueueListing[E] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queue scan")
        self._readings = 0  # that were begun, or are to begin
        self._so_far = 0
        self._error: str | None = None
        self._due = self._clock()

    @property
    def latest(self) -> QueueListing[E] | None:
        """What was read last; None: nothing was."""
        return self.state().latest

    def state(self) -> QueueState[E]:
        """What is known: a reading that ends meanwhile is in all of it or in none."""
        with self._lock:
            reading = self._so_far if self._readings else None
            return QueueState(self._latest, reading, self._error)

    def open_form(self, shown: Shown) -> str:
        """The key of a new form."""
        key = secrets.token_urlsafe(16)
        self.forms[key] = shown
        return key

    def form_alone(self, wanted: Callable[[E], bool]) -> tuple[str, Shown] | None:
        """The newest form, with its key, that asks about one entry alone, a wanted one."""
        for key, shown in reversed(list(self.forms.items())):
            if len(shown.entries) == 1 and wanted(shown.entries[0]):
                return key, shown
        return None

    def refresh(self, count: int | None) -> None:
        """Read the queue if it was not read just now and is small, or never; wait a moment for it.

        Args:
            count: the queue's messages; None: they could not be counted.
        """
        with self._lock:
            is_due = self._clock() >= self._due
            may = self._latest is None or (count is not None and count <= SMALL)
        if is_due and may:
            self.scan()
        self.wait(A_MOMENT)

    def scan(self, *, after_this: bool = False) -> None:
        """Begin to read, unless somebody reads already.

        Args:
            after_this: a reading under way may have missed what was just done: read once more.
        """
        with self._lock:
            if self._readings == 0 or (after_this and self._readings == 1):
                self._readings += 1
                self._thread.submit(self._run)

    def wait(self, seconds: float) -> None:
        """Wait until no reading is under way, for so long at most."""
        with contextlib.suppress(TimeoutError):
            self._thread.submit(bool).result(seconds)  # it comes after them

    def _run(self) -> None:
        found, error = None, None
        try:
            found = self._read(self._tell)
        except Exception as raised:  # noqa: BLE001 - pages show it
            error = error_text(raised)
        with self._lock:
            self._error, self._due = error, self._clock() + FRESH_SECONDS
            if found is not None:
                told = {one.name: getattr(found, one.name) for one in fields(found)}
                self._latest = QueueListing(**told, at=datetime.now(UTC))
            self._readings -= 1
            self._so_far = 0

    def _tell(self, number: int) -> None:
        with self._lock:
            self._so_far = number
