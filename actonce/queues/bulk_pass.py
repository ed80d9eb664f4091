"""Going once over a queue, and ending those of its messages that were chosen before."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actonce.queues.scan import READERS, Queued, QueueReader
from actonce.queues.throttling import through_throttling

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LOOK_SECONDS = 0.2
"""How often a pass tells how far it is."""

IN_HAND_SECONDS = 10
"""At a rate, no more are taken than are due within these."""


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
        wait_for_others: see `QueueReader`.
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
        in_hand = 10 * READERS if rate is None else max(1, int(rate * IN_HAND_SECONDS))
        self._reader = QueueReader(sqs, queue_url, wait_for_others=wait_for_others, in_hand=in_hand)
        self._missing = set(chosen)
        self._lock = threading.Lock()
        self._number = 0
        self.stopping = threading.Event()
        """Set when the pass ends early; a handler looks at it where it waits."""
        self.left_behind: frozenset[str] = frozenset()
        """Those that could not be deleted, though they are ended."""

    @property
    def held_elsewhere(self) -> int:
        """Afterwards: how many others hold, some of the missing ones perhaps."""
        return self._reader.held_elsewhere

    @property
    def missing(self) -> frozenset[str]:
        """Chosen messages that did not come, or that the handler did not come to."""
        return frozenset(self._missing)

    def run(self, handle: Handle, tell: Callable[[int], None] = lambda _: None) -> None:
        """End the chosen messages. Of those that are done nothing is kept but their number.

        Whatever ends this early, Ctrl-C too, lets the messages that are being handled come to their
        end and gives back the rest. An error of `handle`, or of SQS, ends the pass.

        Args:
            handle: is called in threads.
            tell: is told now and then how many have been ended.
        """
        if not self._missing:
            return
        with (
            self._reader as reader,
            ThreadPoolExecutor(READERS, thread_name_prefix="pass") as threads,
        ):
            for answers in reader.receives():
                chosen = [[m for m in one if m.sqs_message_id in self._missing] for one in answers]
                work = [threads.submit(self._end, handle, mine) for mine in chosen if mine]
                try:
                    while wait(work, LOOK_SECONDS).not_done:
                        tell(self._number)
                except BaseException:
                    self.stopping.set()
                    while not all(one.done() for one in work):  # a second Ctrl-C does not hurry
                        with contextlib.suppress(KeyboardInterrupt):
                            wait(work)
                    raise
                for one in work:
                    one.result()
                if not self._missing or self.stopping.is_set():
                    break
        tell(self._number)

    def _end(self, handle: Handle, mine: Sequence[Queued]) -> None:
        """Handle and delete; what the handler did not come to is missing still."""
        go: list[Queued] = []
        try:
            for one in handle(mine):
                with self._lock:
                    self._missing.discard(one.queued.sqs_message_id)
                    self._number += 1
                if one.goes:
                    go.append(one.queued)
        except BaseException:
            self.stopping.set()
            raise
        finally:
            if go:
                kept = {one.sqs_message_id for one in go}
                try:
                    kept = through_throttling(lambda: self._reader.delete_all(go), self.stopping)
                finally:
                    with self._lock:
                        self.left_behind |= kept
