"""What lies in a queue, read once for however many tabs, and what a form asked somebody about.

Reading a queue hides its messages from other readers meanwhile. So one thread reads it, while a
page is open, and a third of the time at most. No count shows that a queue is as it was: one message
may have gone and another have come.
"""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from actonce.messages.filters import Listing
from actonce.messages.newest import Newest
from actonce.stack.aws_errors import error_text
from actonce.terminal.words import in_utc

E = TypeVar("E")

FRESH_SECONDS: Final = 10.0
"""For which a listing is not read again; an open page asks every 15 seconds."""

PAUSE: Final = 2
"""Times as long as a reading took, the queue is not read again."""

OLD: Final = timedelta(seconds=60)
"""A listing of that age is not shown as what the queue has now."""

KEPT: Final = 100
"""Most forms of a queue that can be sent; opening one more closes the oldest."""


@dataclass(frozen=True, slots=True)
class QueueState(Generic[E]):
    """What is known of a queue at one moment; pages are drawn of this.

    Attributes:
        listing: what was read last; empty before.
        at: when that ended (UTC); None: nothing was read.
        reading: how many messages the reading under way has read; None: none is under way.
        error: why the last reading failed; None: it did not.
    """

    listing: Listing[E]
    at: datetime | None = None
    reading: int | None = None
    error: str | None = None

    @property
    def messages(self) -> int:
        """How many messages of the queue the listing accounts for."""
        listing = self.listing
        return len(listing.entries) + listing.not_listed + listing.in_flight_elsewhere

    @property
    def is_old(self) -> bool:
        """Whether the listing is too old to be shown as what the queue has now."""
        return self.at is None or datetime.now(UTC) - self.at > OLD

    def is_sure(self, count: int | None) -> bool:
        """Whether the listing has all that lies in the queue.

        Args:
            count: the queue's messages; None: they could not be counted.
        """
        is_whole = not self.listing.in_flight_elsewhere and self.messages == count
        return is_whole and self.reading is None and self.error is None and not self.is_old

    def how_far_read(self, queue: str) -> str:
        """Sentences on how far the queue of that name was read, in which something is missing."""
        text = f"{queue} has not been read yet."
        if self.at is not None:
            text = f"{queue} was read at {in_utc(self.at)}."
            if held := self.listing.in_flight_elsewhere:
                text += f" Another reader held {held:,} more of its messages."
        if self.reading is not None:
            text += " It is being read now."
        if self.error is not None:
            text += f" The last attempt to read it failed: {self.error}"
        return text


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
        is_busy: whether a job is under way.
        clock: seconds, like `time.monotonic`.

    Attributes:
        state: what is known; never changed, but replaced.
        forms: what was shown with each form that can be sent, by the form's key.
    """

    def __init__(
        self,
        read: Callable[[Callable[[int], None]], Listing[E]],
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.state: QueueState[E] = QueueState(Listing([], 0))
        self.forms: Newest[str, Shown] = Newest(KEPT)
        self._read, self._is_busy, self._clock = read, is_busy, clock
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queue scan")
        self._readings = 0  # that were begun, or are to begin
        self._due = clock()

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

    def refresh(self, seconds: float) -> QueueState[E]:
        """What is known, once the queue was read, if that is due, but after `seconds` at most."""
        # What a reading holds, a job would wait for, though not for ever.
        if not self._is_busy() and self._clock() >= self._due:
            self.scan()
        self.wait(seconds)
        return self.state

    def scan(self, *, after_this: bool = False) -> None:
        """Begin to read, unless somebody reads already.

        Args:
            after_this: a reading under way may have missed what was just done: read once more.
        """
        with self._lock:
            if self._readings == 0 or (after_this and self._readings == 1):
                self._readings += 1
                self.state = replace(self.state, reading=self.state.reading or 0)
                self._thread.submit(self._run)

    def wait(self, seconds: float) -> None:
        """Wait until no reading is under way, for so long at most."""
        with contextlib.suppress(TimeoutError):
            self._thread.submit(bool).result(seconds)  # it comes after them

    def _run(self) -> None:
        began = self._clock()
        known: dict[str, Any]
        try:
            known = {"listing": self._read(self._tell), "at": datetime.now(UTC), "error": None}
        except Exception as error:  # noqa: BLE001 - pages show it
            known = {"error": error_text(error)}
        with self._lock:
            now = self._clock()
            self._due = now + max(FRESH_SECONDS, PAUSE * (now - began))
            self._readings -= 1
            self.state = replace(self.state, **known, reading=0 if self._readings else None)

    def _tell(self, number: int) -> None:
        with self._lock:
            self.state = replace(self.state, reading=number)
