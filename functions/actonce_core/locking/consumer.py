"""What happens to one delivery where a ledger or a lease stands in front of the effect.

    delivery ── read ──▶ message ── acquire ──▶ attempt ── act once ──▶ COMPLETE
                  │                  │  │  │        │
                  └───── refused ◀───┘  │  └▶ suppressed: it is COMPLETE
                            │           │           └▶ dead letter, and COMPLETE
                            ▼           └▶ in progress: back to the queue
                      UnstartedQueue

Invariant: `consume` returns only when the message is COMPLETE or the delivery has been handed on.
In every other case it raises, and SQS brings the delivery back.
"""

import json
import math
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from actonce_core.delivery import Delivery
from actonce_core.effect import Effect, NotPerformed, Rejected, answer
from actonce_core.locking.attempt import (
    Acquired,
    Attempt,
    Completed,
    DifferentContent,
    JsonObject,
    OtherMemory,
    Outcome,
    ProcessingLocks,
)
from actonce_core.locking.dead_letters import DeadLetterQueue, Failure, dead_letter
from actonce_core.locking.idempotent import StillInProgress
from actonce_core.locking.once import act_once
from actonce_core.locking.patience import TriedLater, is_over, next_wait
from actonce_core.message import Message, MessageReader, Reason, Refusal
from actonce_core.start import End, Start
from actonce_core.unstarted import UnstartedQueue

MAX_MARKS_SIDE_BY_SIDE = 20_000
"""Marks of a body (`,`, `[`, `{`) up to which it is acted on beside others; each value that they
part takes some 100 bytes for as long as the effect holds the request."""

_of_many_values = threading.Lock()


def _alone_if_of_many_values(body: str) -> AbstractContextManager[object]:
    """One body of very many values at a time: ten would take more than the function's memory."""
    marks = body.count(",") + body.count("[") + body.count("{")
    return _of_many_values if marks > MAX_MARKS_SIDE_BY_SIDE else nullcontext()


@dataclass(frozen=True, slots=True)
class Consumer:
    """The consumer and what it talks to.

    Attributes:
        lock_timeout: see `ProcessingLocks.acquire_processing_lock`.
        max_rounds: attempts after which a message becomes a dead letter.
        patience: seconds for which a message waits for a provider that proves that nothing
            happened, or for a look-up, before it does; see `actonce_core.locking.patience`.
    """

    reader: MessageReader
    locks: ProcessingLocks
    effect: Effect
    unstarted: UnstartedQueue
    dead_letters: DeadLetterQueue
    lock_timeout: float
    max_rounds: int
    patience: float = 0.0

    def consume(self, delivery: Delivery) -> End:
        """Bring one delivery to its end.

        Raises:
            Exception: anything that leaves the end open; the delivery is not to be acknowledged.
        """
        with _alone_if_of_many_values(delivery.body):
            return self._consume(delivery)

    def _consume(self, delivery: Delivery) -> End:
        message = self.reader.read(delivery)
        if isinstance(message, Refusal):
            self.unstarted.hand_on(delivery, message)
            return End(message, None)
        got = self.locks.acquire_processing_lock(
            message.message_id, self.lock_timeout, fingerprint=message.fingerprint
        )
        if isinstance(got, Attempt):
            self._act(delivery, message, got)
            return End(Start.STARTED, message)
        return self._not_acquired(delivery, message, got)

    def _not_acquired(self, delivery: Delivery, message: Message, got: Acquired) -> End:
        refusal = _refusal_of(message, got)
        if refusal is not None:
            self.unstarted.hand_on(delivery, refusal)
            return End(refusal, message)
        if isinstance(got, Completed):
            return End(Start.SUPPRESSED, message)
        raise StillInProgress(f"message {message.message_id} is held by another attempt")

    def _act(self, delivery: Delivery, message: Message, attempt: Attempt) -> None:
        """Act once, or post a dead letter; a dead letter completes the message like an effect."""
        try:
            act_once(
                self.locks,
                attempt,
                lambda held: self._perform(message, held),
                lambda: self._find(message),
            )
        except Rejected as error:
            self._give_up(delivery, message, attempt, Failure("rejected", error))
        except _RoundsUsedUp as error:
            self._give_up(delivery, message, attempt, Failure("rounds_used_up", error))
        except NotPerformed as error:
            if is_over(attempt.waited, self.patience):
                self._give_up(delivery, message, attempt, Failure("not_performed", error))
                return
            wait = self._next_wait(attempt)
            self.locks.release_processing_lock(attempt, waited=(attempt.waited or 0) + wait)
            raise TriedLater(error, wait) from error
        except _CannotFind as error:
            if is_over(attempt.waited, self.patience):
                self._give_up(delivery, message, attempt, Failure("outcome_unknown", error))
                return
            wait = self._next_wait(attempt)
            self.locks.give_back_unseen(attempt, waited=(attempt.waited or 0) + wait)
            raise TriedLater(error, wait) from error

    def _next_wait(self, attempt: Attempt) -> float:
        """In whole seconds, because a queue knows no others."""
        return math.ceil(next_wait(attempt.waited, self.patience, self.locks.host.chance()))

    def _perform(self, message: Message, attempt: Attempt) -> JsonObject:
        if attempt.consumption_count > self.max_rounds:
            raise _RoundsUsedUp(f"its outcome was unknown {self.max_rounds} times")
        request = json.loads(message.execution_input)
        event = {"operation": "perform", "message": request}
        effect: JsonObject = answer(self.effect, event, attempt.fence)["effect"]
        return effect

    def _find(self, message: Message) -> JsonObject | None:
        event = {"operation": "find", "message": {"message_id": message.message_id}}
        try:
            found: JsonObject | None = answer(self.effect, event)["effect"]
        except Exception as error:
            raise _CannotFind(f"{type(error).__name__}: {error}") from error
        return found

    def _give_up(
        self, delivery: Delivery, message: Message, attempt: Attempt, failure: Failure
    ) -> None:
        # Posted first: a crash in between posts it again, and never loses it.
        letter = dead_letter(delivery, message, attempt, failure, self.locks.host.clock())
        self.dead_letters.post(letter)
        self.locks.mark_message_processed(attempt, Outcome.DEAD_LETTER, None)


def _refusal_of(message: Message, got: Acquired) -> Refusal | None:
    if isinstance(got, DifferentContent):
        return Refusal(
            Reason.CONFLICT,
            "The message id was first seen with another content "
            f"(fingerprint {got.fingerprint[:12]}…, now {message.fingerprint[:12]}…).",
            message.message_id,
        )
    if isinstance(got, OtherMemory):
        is_lock = got.memory in ("ledger", "lease")
        by = f"a {got.memory}, which has not completed it" if is_lock else "a state machine"
        return Refusal(
            Reason.OTHER_MEMORY,
            f"The message was taken by {by}, and only that can tell what became of it: acting on "
            "it could act twice.",
            message.message_id,
        )
    return None


class _RoundsUsedUp(Exception):
    """The outcome was unknown too often to try once more."""


class _CannotFind(Exception):
    """The effect could not be looked up."""
