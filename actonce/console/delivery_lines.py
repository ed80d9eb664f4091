"""What the starter's log had of the messages that somebody looks at."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from actonce.messages import story as stories
from actonce.messages.story import Story
from actonce.stack.clients import Stack

KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class DeliveryLines:
    """The log is slow to read: it is read when somebody asks, and told until they ask again.

    Attributes:
        stack: whose log.
    """

    stack: Stack
    _kept: OrderedDict[str, Story] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, story: Story) -> Story:
        """The story with what the log has of it now."""
        told = stories.with_log(self.stack, story)
        with self._lock:
            self._kept[story.message_id] = told
            self._kept.move_to_end(story.message_id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return told

    def kept(self, story: Story) -> Story | None:
        """The story with what was read before; None: nothing was."""
        with self._lock:
            before = self._kept.get(story.message_id)
        if before is None:
            return None
        return replace(story, deliveries=before.deliveries, conflicts=before.conflicts)
