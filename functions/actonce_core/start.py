"""What happens to one delivery: the whole of the starter's logic.

    delivery ── read ──▶ message ── remember ──▶ its fingerprint ── start ──▶ its execution
                  │                    │                              │
                  └── refused ◀────────┴──────────────────────────────┘
                         │
                         ▼
                   UnstartedQueue

Invariant: `start_message` returns only when the message's execution exists or the delivery has been
handed on. In every other case it raises, and SQS brings the delivery back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from actonce_core.delivery import Delivery
from actonce_core.executions import Executions, Start
from actonce_core.fingerprints import FingerprintTable, refusal_of
from actonce_core.memory import Lock, Memories
from actonce_core.message import Message, MessageReader
from actonce_core.pace import Pace
from actonce_core.patience import ONCE, Patience
from actonce_core.refusal import Refusal
from actonce_core.unstarted import UnstartedQueue


@dataclass(frozen=True, slots=True)
class End:
    """How a delivery ended: `outcome` is a `Start`, or a `Refusal` that was handed on."""

    outcome: Start | Refusal
    message: Message | None


@dataclass(frozen=True, slots=True)
class Starter:
    """The starter and the four things it talks to.

    Attributes:
        memories: whom it may ask about a message id that is known; see `refusal_of`.
        patience: repeats each call that fails like weather.
        pace: what every start waits for; None for nothing.
    """

    reader: MessageReader
    fingerprints: FingerprintTable
    executions: Executions
    unstarted: UnstartedQueue
    memories: Memories
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    patience: Patience = ONCE
    pace: Pace | None = None

    def start_message(self, delivery: Delivery) -> End:
        """Bring one delivery to its end.

        Raises:
            Exception: anything that leaves the end open; the delivery is not to be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self._hand_on(delivery, message)
            return End(message, None)
        outcome = self._start(message)
        if isinstance(outcome, Refusal):
            self._hand_on(delivery, outcome)
        return End(outcome, message)

    def _hand_on(self, delivery: Delivery, refusal: Refusal) -> None:
        self.patience(lambda: self.unstarted.hand_on(delivery, refusal))

    def _start(self, message: Message) -> Start | Refusal:
        if self.pace is not None:
            self.pace.hold()
        now = self.clock()
        known = self.patience(lambda: self.fingerprints.remember(message, now))
        if known is None:
            return self.patience(lambda: self.executions.start(message, first_seen_now=True))
        refusal = refusal_of(message, known, now, self.memories)
        if refusal is not None:
            return refusal
        if isinstance(known.memory, Lock):
            return Start.SUPPRESSED
        asked = self.memories.to_ask(known.memory)
        if asked in self.memories.former:
            return self.patience(lambda: self.executions.start_in(asked, message))
        return self.patience(lambda: self.executions.start(message, first_seen_now=False))
