"""What became of a delivery."""

from dataclasses import dataclass
from enum import StrEnum

from actonce_core.message import Message, Refusal


class Start(StrEnum):
    """What happened to a message that was not refused."""

    STARTED = "started"
    PERFORMED = "performed"
    """By the first attempt, without an execution."""
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """A handled delivery: started, performed, suppressed, or refused and handed on."""

    outcome: Start | Refusal
    message: Message | None
