"""The code under test that ships in `functions/`, found by way of `actonce.deployed`."""

import actonce.deployed  # noqa: F401 - puts functions/ on the path
import appointments
from deduplication import executions
from deduplication.coming_back import RequestsQueue, seconds_until_back
from deduplication.delivery import Delivery
from deduplication.executions import Executions
from deduplication.fingerprints import FingerprintTable
from deduplication.memory import Memories, Names
from deduplication.message import Message, MessageReader
from deduplication.patience import Patience
from deduplication.start import Starter
from deduplication.unstarted import UnstartedQueue
from effect import Effect, NotPerformed, Rejected, answer
from invoked_effect import InvokedEffect
from locking import row_locks
from locking.attempt import ProcessingLocks
from locking.consumer import Consumer
from locking.dead_letters import DeadLetterQueue
from locking.host import Host
from locking.idempotent import ConflictingContent, KnownElsewhere, idempotent
from locking.lease import Lease
from locking.ledger import Ledger
from time_allowed import EndProcessIn

__all__ = [
    "ConflictingContent",
    "Consumer",
    "DeadLetterQueue",
    "Delivery",
    "Effect",
    "EndProcessIn",
    "Executions",
    "FingerprintTable",
    "Host",
    "InvokedEffect",
    "KnownElsewhere",
    "Lease",
    "Ledger",
    "Memories",
    "Message",
    "MessageReader",
    "Names",
    "NotPerformed",
    "Patience",
    "ProcessingLocks",
    "Rejected",
    "RequestsQueue",
    "Starter",
    "UnstartedQueue",
    "answer",
    "appointments",
    "executions",
    "idempotent",
    "row_locks",
    "seconds_until_back",
]
