"""The verdicts in words, for who has no Spark, too; `verdicts` says when a message has which."""

from collections.abc import Mapping
from typing import Final

VERDICTS: Final[Mapping[str, str]] = {
    "performed_once": "one effect, as it should be",
    "performed_again": "more than one effect",
    "lost": "it ended nowhere: look with actonce where before you send it again",
    "contradiction": "its records cannot all be true",
    "conflict": "the same id came with another content",
    "refused": "could not be started: in UnstartedQueue with its reason, or not given up",
    "awaiting_decision": "a dead letter that waits for a person",
    "rejected": "a person decided that it is not to be done",
    "resolved": "a person settled it by hand",
    "in_flight": "not finished yet",
}
"""What each means."""
ALARMS: Final = {
    "performed_again": "acted on more than once",
    "lost": "lost",
    "contradiction": "in contradiction",
    "conflict": "in conflict",
}
"""The verdicts that are alarms, the worst first, and what their messages are."""
