"""Why a delivery cannot be started."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The reasons, as they stand in UnstartedQueue, logs and metrics."""

    NOT_JSON = "not_json"
    NO_MESSAGE_ID = "no_message_id"
    TOO_LARGE = "too_large"
    CONFLICT = "conflict"
    TOO_OLD_TO_TELL = "too_old_to_tell"
    OTHER_MEMORY = "other_memory"
    """Whether it was acted on is known to a state machine or a strategy that this stack does not
    ask."""
    NOT_STARTABLE = "not_startable"
    """Step Functions refused the name or the input that the starter had checked; never seen."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason, and one sentence for the person who finds the message in UnstartedQueue.

    `detail` never quotes the body: it is logged.
    """

    reason: Reason
    detail: str
    message_id: str | None = None
