"""What a stream is: its name, what it tells, and what one row says, as a number.

The audit's one shuffle carries these codes instead of words: an aggregate over numbers costs half
of one over strings.
"""

from enum import IntEnum
from typing import Final

STREAMS: Final = ("sent", "deliveries", "executions", "rows", "effects", "dead_letters")

OPTIONAL: Final = frozenset({"rows"})
"""Streams that only some stacks have."""

STANDS_FOR: Final = {"executions": ("rows",)}
"""By a stream, those that tell the same in its place: a ledger or a lease has a row per message
where the state machine has an execution."""

TELLS: Final = {
    "sent": "whether a message was sent and never delivered",
    "deliveries": "whether a message was refused, or delivered and lost",
    "executions": "whether a message without an effect is lost or still in work",
    "effects": "whether a message was acted on, once or again; its execution's word is all "
    "there is",
}
"""What cannot be told of a day without the stream, or what stands for it."""

WITNESSES: Final = ("deliveries", "executions", "effects")
"""Who has to be there on every day that is judged. `sent` has to be if it is on any: whether a
producer records what it sends is not the stack's to know. No alarm hangs on `dead_letters`."""

KNOWN_VERSION: Final = "1"
"""Of the plain records; a line of any other version is quarantined."""

REFUSALS: Final = (
    "conflict",
    "not_json",
    "no_message_id",
    "too_large",
    "too_old_to_tell",
    "not_startable",
    "other_memory",
)
"""The reasons for which the starter refuses a delivery."""


class Code(IntEnum):
    """What one record says of its message.

    The order inside executions and dead letters decides between records of one millisecond: a
    closed execution beats a running one, a decision beats the dead letter that it answers. The row
    of a ledger or a lease says what an execution would, and two things that none does.
    """

    SENT = 0
    STARTED = 1
    SUPPRESSED = 2
    REFUSED_CONFLICT = 3
    REFUSED_NOT_JSON = 4
    REFUSED_NO_MESSAGE_ID = 5
    REFUSED_TOO_LARGE = 6
    REFUSED_TOO_OLD_TO_TELL = 7
    REFUSED_NOT_STARTABLE = 8
    REFUSED_OTHER_MEMORY = 9
    FAILED = 10
    RUNNING = 11
    ROW_IN_PROGRESS = 12
    ROW_DEAD_LETTER = 13
    CLOSED_FAILED = 14
    CLOSED_REJECTED = 15
    CLOSED_RESOLVED = 16
    CLOSED_FOUND = 17
    CLOSED_PERFORMED = 18
    EFFECT = 19
    POSTED = 20
    DECIDED_RETRY = 21
    DECIDED_RESOLVE = 22
    DECIDED_REJECT = 23
    QUARANTINED = 24
    EXPORTED = 25
    OF_ANOTHER = 26


REFUSED: Final = {reason: Code.REFUSED_CONFLICT + index for index, reason in enumerate(REFUSALS)}
STREAM_OF: Final = {
    "sent": (Code.SENT, Code.SENT),
    "deliveries": (Code.STARTED, Code.FAILED),
    "executions": (Code.RUNNING, Code.CLOSED_PERFORMED),
    "effects": (Code.EFFECT, Code.EFFECT),
    "dead_letters": (Code.POSTED, Code.DECIDED_REJECT),
}
"""First and last code of each stream's records; those of `rows` are among the executions'."""

OPERATOR_REJECTED: Final = "RejectedByOperator"
"""The error of an execution that an operator's `reject` has ended."""
