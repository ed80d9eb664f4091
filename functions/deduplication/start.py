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
from datetime import UTC, datetime, timedelta

from deduplication.delivery import Delivery
from deduplication.executions import Executions, Start
from deduplication.fingerprints import FingerprintTable, refusal_of
from deduplication.message import Message, MessageReader
from deduplication.refusal import Refusal
from deduplication.unstarted import UnstartedQueue


@dataclass(frozen=True, slots=True)
class End:
    """How a delivery ended: `outcome` is a `Start`, or a `Refusal` that was handed on."""

    outcome: Start | Refusal
    message: Message | None


@dataclass(frozen=True, slots=True)
class Starter:
    """The starter and the four things it talks to.

    `names_remembered`: see `refusal_of`.
    """

    reader: MessageReader
    fingerprints: FingerprintTable
    executions: Executions
    unstarted: UnstartedQueue
    names_remembered: timedelta
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def start_message(self, delivery: Delivery) -> End:
        """Bring one delivery to its end.

        Raises:
            Exception: anything that leaves the end open; the delivery is not to be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.hand_on(delivery, message)
            return End(message, None)
        outcome = self._start(message)
        if isinstance(outcome, Refusal):
            self.unstarted.hand_on(delivery, outcome)
        return End(outcome, message)

    def _start(self, message: Message) -> Start | Refusal:
        now = self.clock()
        known = self.fingerprints.remember(message, now)
        if known is not None:
            refusal = refusal_of(message, known, now, self.names_remembered)
            if refusal is not None:
                return refusal
        return self.executions.start(message, first_seen_now=known is None)
