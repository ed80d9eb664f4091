"""The messages that somebody looks at: their stories, and what is asked again while one runs.

Invariant: while a page follows a message, its execution alone is asked again, or its row; the log
is read when somebody asks for it. When the execution ends, the rest is asked once more. While there
is no execution, so is it now and then.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from actonce.messages import story as stories
from actonce.messages.own_effects import OwnEffects
from actonce.messages.story import Story
from actonce.messages.unstarted import Unstarted
from actonce.stack.clients import Stack

KEPT: Final = 64

FRESH_EVERY: Final = 5
"""Looks at a message without an execution until all parts are asked again: it may have been refused
meanwhile, or a starter may have left a row of it and nothing else."""


@dataclass(frozen=True, slots=True)
class CachedStory:
    """A story as it was read last.

    Attributes:
        log_read: whether the starter's log was read for it.
        looks: at its execution alone, since all parts were asked.
    """

    story: Story
    log_read: bool
    looks: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it goes on by itself, or may begin yet."""
        if self.story.execution is not None:
            return self.story.execution.status == "RUNNING"
        if self.story.row is not None:
            return self.story.row.get("outcome") is None
        return not self.story.unstarted

    @property
    def waits_for_a_person(self) -> bool:
        """Whether nothing happens before somebody decides."""
        letters = self.story.dead_letters
        row = self.story.row or {}
        return bool(letters and not letters[-1].over) or row.get("outcome") == "dead_letter"


class StoryCache:
    """Reads stories, and keeps the last ones.

    Args:
        stack: whose messages.
        own: where a team's own effects are.
        entries: what is known to lie in UnstartedQueue.
    """

    def __init__(
        self, stack: Stack, own: OwnEffects | None, entries: Callable[[], Iterable[Unstarted]]
    ) -> None:
        self._stack = stack
        self._own = own
        self._entries = entries
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, CachedStory] = OrderedDict()

    def fresh(self, message_id: str) -> CachedStory:
        """All but the log, of which what was read before is told.

        Raises:
            Failed: where own effects are cannot be asked.
            ClientError: AWS says no.
        """
        found = stories.read_story(
            self._stack, message_id, self._own, log=False, entries=self._entries
        )
        before = self._before(message_id)
        if before is not None and before.log_read:
            found = replace(
                found, deliveries=before.story.deliveries, conflicts=before.story.conflicts
            )
        return self._keep(message_id, CachedStory(found, before is not None and before.log_read))

    def with_log(self, message_id: str) -> CachedStory:
        """The same, and what the log has of it now."""
        before = self._before(message_id) or self.fresh(message_id)
        story = stories.with_log(self._stack, before.story)
        return self._keep(message_id, CachedStory(story, log_read=True))

    def now(self, message_id: str) -> CachedStory:
        """How it is now; see the invariant."""
        before = self._before(message_id)
        if before is None or before.story.row is not None or self._stack.ledger_table is not None:
            return self.fresh(message_id)
        without = before.story.execution is None
        if without and before.looks + 1 >= FRESH_EVERY:
            return self.fresh(message_id)
        story = stories.with_execution(self._stack, before.story)
        now = CachedStory(story, before.log_read, before.looks + 1)
        appeared = without and story.execution is not None
        if appeared or (before.is_open and not now.is_open):
            return self.fresh(message_id)
        return self._keep(message_id, now)

    def is_known(self, message_id: str) -> bool:
        """Whether any part of the stack had a record of it when it was looked at last."""
        before = self._before(message_id)
        return before is not None and before.story.is_known

    def _before(self, message_id: str) -> CachedStory | None:
        with self._lock:
            return self._kept.get(message_id)

    def _keep(self, message_id: str, story: CachedStory) -> CachedStory:
        with self._lock:
            self._kept[message_id] = story
            self._kept.move_to_end(message_id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return story
