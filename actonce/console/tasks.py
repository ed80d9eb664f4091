"""The tasks of works: what decides, sends back and discards for the command line as well."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from actonce.console.letters import Letter, as_shown
from actonce.console.works import Ended
from actonce.messages.dead_letters import Decision
from actonce.messages.unstarted import Unstarted
from actonce.operate.bulk import Bulk, Listing
from actonce.operate.deciding import Deciding
from actonce.operate.discarding import Discarding, Redriving
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader

_WAIT_FOR_OTHERS = 15.0
"""Seconds for which a work waits for what another reader of the queue holds."""


class Decide:
    """One decision for all letters that were seen.

    Args:
        stack: whose.
        letters: as they were seen; what came later is not decided.
        decision: for all of them.
        note: why.
    """

    def __init__(
        self, stack: Stack, letters: Sequence[Letter], decision: Decision, note: str
    ) -> None:
        shown = as_shown(letters)
        self._work = Deciding(stack, shown, decision, note, wait_for_others=_WAIT_FOR_OTHERS)

    def run(self) -> None:
        """See `Task.run`."""
        self._work.run()

    def stop(self) -> None:
        """See `Task.stop`."""
        self._work.stop()

    def ended(self) -> Sequence[Ended]:
        """See `Task.ended`."""
        return [
            Ended(
                name=one.entry.message_id,
                message_id=one.entry.message_id,
                end=one.end,
                said=one.said,
                happened=one.happened,
            )
            for one in self._work.ended
        ]

    def said(self) -> Sequence[str]:
        """See `Task.said`."""
        return ()


class Clear:
    """Entries of UnstartedQueue that are sent back, or discarded.

    Args:
        stack: whose.
        entries: as they were seen.
        file: for what is discarded; None: they are sent back.
        note: why they are discarded.
    """

    def __init__(
        self, stack: Stack, entries: Sequence[Unstarted], file: Path | None = None, note: str = ""
    ) -> None:
        self._make: Callable[[], Bulk[Unstarted]] = lambda: _clearing(stack, entries, file, note)
        self._file = file
        self._work: Bulk[Unstarted] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self) -> None:
        """See `Task.run`."""
        work = self._make()  # asks AWS how ids are read
        with self._lock:
            self._work = work
            if self._stopped:
                return
        work.run()

    def stop(self) -> None:
        """See `Task.stop`."""
        with self._lock:
            self._stopped = True
            if self._work is not None:
                self._work.stop()

    def ended(self) -> Sequence[Ended]:
        """See `Task.ended`."""
        if self._work is None:
            return []
        return [
            Ended(
                name=one.entry.message_id or one.entry.sqs_message_id,
                message_id=one.entry.message_id,
                end=one.end,
                said=one.said,
                happened=one.happened,
            )
            for one in self._work.ended
        ]

    def said(self) -> Sequence[str]:
        """See `Task.said`."""
        told = []
        if self._file is not None and any(one.happened for one in self.ended()):
            told.append(f"What was discarded stands in {self._file}, whole: keep that file.")
        if self._work is not None and self._work.left_behind:
            told.append(
                f"{self._work.left_behind} of them could not be deleted and come again; that is "
                "harmless."
            )
        return told


def _clearing(
    stack: Stack, entries: Sequence[Unstarted], file: Path | None, note: str
) -> Bulk[Unstarted]:
    reader = message_reader(stack)
    listing = Listing(entries, held_elsewhere=0)
    if file is None:
        return Redriving(stack, reader, listing, wait_for_others=_WAIT_FOR_OTHERS)
    return Discarding(stack, reader, listing, file, note=note, wait_for_others=_WAIT_FOR_OTHERS)
