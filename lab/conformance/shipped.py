"""The code under test that ships in `functions/`."""

import appointments
from actonce_core.delivery import (
    EFFECT_BACKOFF_GROWTH,
    START_BACKOFF_GROWTH,
    Delivery,
    seconds_until_back,
)
from actonce_core.effect import Effect, NotPerformed, Rejected, answer
from actonce_core.invoked_effect import InvokedEffect
from actonce_core.locking import locks
from actonce_core.locking.consumer import Consumer
from actonce_core.locking.dead_letters import DeadLetterQueue
from actonce_core.locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from actonce_core.locking.locks import Host, Lease, Ledger, ProcessingLocks
from actonce_core.message import Message, MessageReader
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue

__all__ = [
    "EFFECT_BACKOFF_GROWTH",
    "START_BACKOFF_GROWTH",
    "ConflictingContent",
    "Consumer",
    "DeadLetterQueue",
    "Delivery",
    "Effect",
    "Host",
    "InvokedEffect",
    "KnownElsewhere",
    "Lease",
    "Ledger",
    "Message",
    "MessageReader",
    "NotPerformed",
    "ProcessingLocks",
    "Rejected",
    "Starter",
    "UnstartedQueue",
    "answer",
    "appointments",
    "idempotent",
    "locks",
    "seconds_until_back",
]
