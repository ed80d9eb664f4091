"""Handles one delivery behind a lease.

    delivery ── read ──▶ message ── acquire ──▶ attempt ── act once ──▶ COMPLETE
                  │                  │  │  │        │ │
                  └───── refused ◀───┘  │  │        │ └▶ dead letter, and COMPLETE
                            │           │  │        └▶ released: back to the queue
                            ▼           │  └▶ suppressed: it is COMPLETE
                      UnstartedQueue    └▶ in progress: back to the queue

Invariant: `consume` returns only once the message is COMPLETE or the delivery has been handed on.
Otherwise it raises, and SQS brings the delivery back, each time later.
"""

import json
from dataclasses import dataclass
from typing import Final

from actonce_core.delivery import Delivery
from actonce_core.effect import Effect, NotPerformed, Rejected, answer
from actonce_core.locking.dead_letters import DeadLetterQueue, dead_letter
from actonce_core.locking.locks import Lease, act_once
from actonce_core.locking.processing_table import (
    Attempt,
    Completed,
    ConflictingContent,
    JsonObject,
    KnownElsewhere,
    Outcome,
)
from actonce_core.message import Message, MessageReader, Refusal, conflict
from actonce_core.reason import DeadLetterReason, Reason
from actonce_core.result import DeliveryResult, Start
from actonce_core.unstarted import UnstartedQueue

MAX_RETRIES: Final = 24
"""As many as the state machine's `Retry`. At the queue's intervals they last some three hours; half
of that for a message that was sent twice, whose deliveries share them."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """Acts on each message once.

    Attributes:
        lock_timeout: see `Lease.acquire_processing_lock`.
        max_rounds: attempts with an unknown outcome before a message becomes a dead letter.
        max_retries: how often a message is given back, because nothing happened or the effect
            could not be looked up, before it becomes a dead letter.
    """

    reader: MessageReader
    lease: Lease
    effect: Effect
    unstarted: UnstartedQueue
    dead_letters: DeadLetterQueue
    lock_timeout: float
    max_rounds: int
    max_retries: int = MAX_RETRIES

    def consume(self, delivery: Delivery) -> DeliveryResult:
        """Act on a delivery's message, find that it is a duplicate, or hand the delivery on.

        Raises:
            Exception: none of these is certain; the delivery must not be acknowledged.
        """
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.send_to_unstarted(delivery, message)
            return DeliveryResult(message, None)
        try:
            got = self.lease.acquire_processing_lock(
                message.message_id, self.lock_timeout, fingerprint=message.fingerprint
            )
        except (ConflictingContent, KnownElsewhere) as error:
            refusal = _refusal(message, error)
            self.unstarted.send_to_unstarted(delivery, refusal)
            return DeliveryResult(refusal, message)
        if isinstance(got, Completed):
            return DeliveryResult(Start.SUPPRESSED, message)
        return DeliveryResult(Start.STARTED, message, self._act(delivery, message, got))

    def _act(self, delivery: Delivery, message: Message, attempt: Attempt) -> JsonObject | None:
        """Act once, or post and return a dead letter, which completes the message as well."""
        last: Exception
        try:
            act_once(
                self.lease,
                attempt,
                lambda held: self._perform(message, held),
                lambda: self._find(message),
            )
            return None
        except Rejected as error:
            reason, last = DeadLetterReason.REJECTED, error
        except _RoundsUsedUp as error:
            reason, last = DeadLetterReason.ROUNDS_USED_UP, error
        except (NotPerformed, _CannotFind) as error:
            nothing_happened = isinstance(error, NotPerformed)
            reason, last = DeadLetterReason.OUTCOME_UNKNOWN, error
            if nothing_happened:
                reason = DeadLetterReason.NOT_PERFORMED
            if attempt.given_back < self.max_retries:
                self.lease.release_processing_lock(attempt, nothing_happened=nothing_happened)
                raise
        # Posted first: after a crash in between it is posted again, but never lost.
        now = self.lease.host.clock()
        letter = dead_letter(delivery, message, attempt, reason, last, now)
        self.dead_letters.post(letter)
        self.lease.mark_message_processed(attempt, Outcome.DEAD_LETTER, None)
        return letter

    def _perform(self, message: Message, attempt: Attempt) -> JsonObject:
        if attempt.rounds > self.max_rounds:
            raise _RoundsUsedUp(f"attempts with an unknown outcome: {self.max_rounds}")
        event = {"operation": "perform", "message": json.loads(message.execution_input)}
        effect: JsonObject = answer(self.effect, event, attempt.fence)["effect"]
        return effect

    def _find(self, message: Message) -> JsonObject | None:
        event = {"operation": "find", "message": {"message_id": message.message_id}}
        try:
            found: JsonObject | None = answer(self.effect, event)["effect"]
        except Exception as error:
            raise _CannotFind(f"{type(error).__name__}: {error}") from error
        return found


def _refusal(message: Message, why: ConflictingContent | KnownElsewhere) -> Refusal:
    if isinstance(why, ConflictingContent):
        return conflict(message, why.fingerprint)
    by = "ledger of an earlier release" if why.memory == "ledger" else "state machine"
    return Refusal(
        Reason.OTHER_MEMORY,
        f"The message was taken by a {by}, and only that can tell what became of it: acting on it "
        "could act twice.",
        message.message_id,
    )


class _RoundsUsedUp(Exception):
    """The outcome was unknown too often to try again."""


class _CannotFind(Exception):
    """The effect could not be looked up."""
