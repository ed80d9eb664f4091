"""Going once over a queue, and ending those of its messages that were chosen before."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actonce.queues.rate_limiter import through_throttling
from actonce.queues.scan import HOLD_SECONDS, Queued, counts, give_back, hold_for, receive

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

WORKERS = 8
"""Most messages of a pass that are ended at a time."""

LOOK_SECONDS = 0.2
"""How often a pass tells how far it is."""

_IDLE_ROUNDS = 2  # without anything new, and nobody holds any: what is missing is gone


class Pace:
    """No more than `rate` a second, evenly; None for as many as there can be."""

    def __init__(self, rate: float | None, stopping: threading.Event) -> None:
        self._between = 1 / rate if rate else 0.0
        self._stopping = stopping
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> bool:
        """Wait for one's turn; False if there will be none, because all is being stopped."""
        if not self._between:
            return not self._stopping.is_set()
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._between
        return not self._stopping.wait(turn - now)


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one chosen message.

    Attributes:
        goes: it is to be deleted; otherwise it is given back.
    """

    queued: Queued
    goes: bool


Handle = Callable[[Sequence[Queued]], Iterable[Handled]]
"""Ends the messages of one receive, in their order. What it stops short of is given back."""


class QueuePass:
    """Takes every message of a queue, has the chosen ones ended, and gives back the others.

    Each is held for about as long as its own end takes, and the ones that were not chosen until the
    pass is over, some minutes at most: a second reader finds them again soon, also after a kill.
    What comes meanwhile was not chosen. A chosen message is handled once, however often it comes.

    First handled, then deleted: a crash in between leaves it in the queue.

    Args:
        chosen: SQS message ids.
        rate: about how many are ended a second, so that no more are held than are due soon.
        wait_for_others: seconds without anything new after which what others hold is given up;
            None for as long as a reader may hold it.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        queue_url: str,
        chosen: Iterable[str],
        *,
        rate: float | None = None,
        wait_for_others: float | None = None,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._missing = set(chosen)
        self._lock = threading.Lock()
        self._held: dict[str, str] = {}
        self._wait_for_others = wait_for_others
        self.ended: list[Handled] = []
        self.stopping = threading.Event()
        """Set when the pass ends early; a handler looks at it where it waits."""
        self.held_elsewhere = 0
        """Afterwards: how many others hold, some of the missing ones perhaps."""
        self.left_behind = 0
        """Afterwards: how many could not be deleted, though they are ended."""
        self._workers, self._most, self._turn = _shape(rate)
        self._hold = HOLD_SECONDS

    @property
    def missing(self) -> frozenset[str]:
        """Chosen messages that did not come."""
        return frozenset(self._missing)

    def run(self, handle: Handle, tell: Callable[[int], None] = lambda _: None) -> None:
        """End the chosen messages; `ended` has what became of them.

        Whatever ends this early, Ctrl-C too, lets the messages that are being handled come to their
        end and gives back the rest. An error of `handle`, or of SQS, ends the pass.

        Args:
            handle: is called in threads.
            tell: is told now and then how many have been ended.
        """
        visible, in_flight = counts(self._sqs, self._queue_url)
        # Not for longer than a reader: so long the next one waits for what a dead one held.
        self._hold = hold_for(visible + in_flight) + self._turn
        patience = float(hold_for(visible + in_flight) + 5)
        if self._wait_for_others is not None:
            patience = self._wait_for_others
        news, idle = time.monotonic(), 0
        try:
            while self._missing and not self.stopping.is_set():
                left = len(self._missing)
                self._round(handle, tell)
                self.held_elsewhere = self._hidden() if self._missing else 0
                if len(self._missing) < left:
                    news, idle = time.monotonic(), 0
                elif not self.held_elsewhere:
                    idle += 1
                if idle == _IDLE_ROUNDS or time.monotonic() > news + patience:
                    break
                if self._missing:
                    self._give_back()  # of a FIFO queue they may stand in the way of others
        finally:
            self._give_back()
            tell(len(self.ended))

    def _round(self, handle: Handle, tell: Callable[[int], None]) -> None:
        """Until there is nothing more to receive."""
        seen: set[str] = set()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="pass") as threads:
            work = [threads.submit(self._work, handle, seen) for _ in range(self._workers)]
            try:
                while wait(work, LOOK_SECONDS).not_done:
                    tell(len(self.ended))
            except BaseException:
                self.stopping.set()
                raise
        for one in work:
            one.result()

    def _work(self, handle: Handle, seen: set[str]) -> None:
        again = 0
        while self._missing and not self.stopping.is_set():
            messages = through_throttling(
                lambda: receive(self._sqs, self._queue_url, self._hold, most=self._most),
                self.stopping,
            )
            with self._lock:
                is_new = any(message.sqs_message_id not in seen for message in messages)
                seen |= {message.sqs_message_id for message in messages}
                mine = [message for message in messages if message.sqs_message_id in self._missing]
                self._missing -= {message.sqs_message_id for message in mine}
                self._held |= {m.sqs_message_id: m.receipt_handle for m in messages}
            if mine:
                self._end(handle, mine)
            # What comes again was held for too long; what is missing may lie behind it.
            again = 0 if is_new else again + len(messages)
            if not messages or again > len(seen):
                return

    def _end(self, handle: Handle, mine: Sequence[Queued]) -> None:
        """Handle and delete; what the handler did not come to is missing again."""
        left = {message.sqs_message_id for message in mine}
        go: list[Queued] = []
        try:
            for one in handle(mine):
                left.discard(one.queued.sqs_message_id)
                self.ended.append(one)
                if one.goes:
                    go.append(one.queued)
        except BaseException:
            self.stopping.set()
            raise
        finally:
            with self._lock:
                self._missing |= left
            self._delete(go)

    def _delete(self, messages: Sequence[Queued]) -> None:
        if not messages:
            return
        with self._lock:
            handles = [self._held[message.sqs_message_id] for message in messages]
        answer = through_throttling(
            lambda: self._sqs.delete_message_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": handle}
                    for number, handle in enumerate(handles)
                ],
            ),
            self.stopping,
        )
        kept = {int(failed["Id"]) for failed in answer.get("Failed", [])}
        with self._lock:
            self.left_behind += len(kept)
            for number, message in enumerate(messages):
                if number not in kept:
                    self._held.pop(message.sqs_message_id, None)

    def _hidden(self) -> int:
        """How many others hold just now."""
        _, in_flight = counts(self._sqs, self._queue_url)
        return max(0, in_flight - len(self._held))

    def _give_back(self) -> None:
        with self._lock:
            handles = list(self._held.values())
            self._held.clear()
        give_back(self._sqs, self._queue_url, handles)


def _shape(rate: float | None) -> tuple[int, int, int]:
    """Workers, messages of a receive, and seconds for which one of them may wait for its turn."""
    if rate is None or rate >= 100:
        return WORKERS, 10, 0
    # No more in hand than what is due within about ten seconds, and one at least.
    workers = max(1, min(WORKERS, int(rate)))
    most = max(1, min(10, int(rate * 10 / workers)))
    return workers, most, 0 if rate >= 1 else int(1 / rate)
