"""What the starter's log had of the messages that somebody looks at."""

import threading
from dataclasses import replace
from typing import Final

from actonce.messages import story as stories
from actonce.messages.story import Story
from actonce.stack.clients import Stack

KEPT: Final = 64


class DeliveryLines:
    """The log is slow to read: it is read when somebody asks, and told until they ask again."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._kept: dict[str, Story] = {}
        self._lock = threading.Lock()

    def read(self, story: Story) -> None:
        """Read what the log has of it now."""
        told = stories.with_log(self._stack, story)
        with self._lock:
            self._kept.pop(story.message_id, None)
            self._kept[story.message_id] = told
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def kept(self, story: Story) -> Story | None:
        """The story with what was read before; None: nothing was."""
        before = self._kept.get(story.message_id)
        if before is None:
            return None
        unread = dict(story.unread)
        if "log" in before.unread:
            unread["log"] = before.unread["log"]
        return replace(story, lines=before.lines, unread=unread)
