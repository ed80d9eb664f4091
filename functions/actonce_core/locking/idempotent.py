"""`@idempotent` makes a message handler act once per message id.

    lease = Lease(dynamodb, "messages", straggler_seconds=30)

    @idempotent(lease, message_id=lambda message: message["id"], lock_timeout=12, find=look_up)
    def book(message):
        ...

A second call with the same message returns the first call's result. While the first is in progress
it raises `StillInProgress`: return the delivery to the queue, do not acknowledge it.
"""

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from actonce_core import strict_json
from actonce_core.effect import NotPerformed, Rejected
from actonce_core.locking.lease import Lease, act_once
from actonce_core.locking.lease_table import (
    Attempt,
    Completed,
    ConflictingContent,
    JsonObject,
    KnownElsewhere,
)

__all__ = ["ConflictingContent", "KnownElsewhere", "idempotent"]

Handler = Callable[..., JsonObject]
HandleOnce = Callable[[Any], JsonObject]


def idempotent(  # noqa: PLR0913 - all but the lease are named
    lease: Lease,
    *,
    message_id: Callable[[Any], str],
    lock_timeout: float,
    find: Callable[[Any], JsonObject | None] | None = None,
    content: Callable[[Any], Any] = lambda message: message,
    fenced: bool = False,
) -> Callable[[Handler], HandleOnce]:
    """Make a message handler act once per message id.

    Args:
        lease: its table's key is `message_id`.
        message_id: returns a message's id, the producer's.
        lock_timeout: see `Lease.acquire_processing_lock`.
        find: looks up what was done for a message, with a consistent read. Without it, a message
            whose handler crashed raises `OutcomeUnknown` from then on, and ends in the queue's
            dead-letter queue, for a person.
        content: two messages with the same id and content are the same message.
        fenced: the handler's second argument is `Attempt.fence`. A handler that writes its effect
            in one transaction with it cannot act late, however long its process stood still.

    The handler returns a JSON object. It may raise `NotPerformed` or `Rejected` if nothing
    happened, which releases the lock at once; after any other exception the outcome is unknown.

    The decorated handler raises, besides what `act_once` raises:
        StillInProgress: another attempt holds the message.
        ConflictingContent: same id, other content; even long after the message is done.
        KnownElsewhere: the row belongs to another memory, such as a state machine.
    """

    def decorate(handler: Handler) -> HandleOnce:
        @functools.wraps(handler)
        def handle_once(message: Any) -> JsonObject:
            def perform(attempt: Attempt) -> JsonObject:
                try:
                    return handler(message, attempt.fence) if fenced else handler(message)
                except (NotPerformed, Rejected):  # from `find` they would prove nothing
                    lease.release_processing_lock(attempt)
                    raise

            key = message_id(message)
            print_of = hashlib.sha256(strict_json.canonical(content(message)).encode()).hexdigest()
            got = lease.acquire_processing_lock(key, lock_timeout, fingerprint=print_of)
            if isinstance(got, Completed):
                return got.effect or {}
            look_up = None if find is None else functools.partial(find, message)
            return act_once(lease, got, perform, look_up)

        return handle_once

    return decorate
