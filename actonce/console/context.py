"""What all views of the console share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from actonce.console.cache import Cache
from actonce.console.delivery_lines import DeliveryLines
from actonce.console.jobs import Jobs
from actonce.console.queue_scans import A_MOMENT, QueueScans
from actonce.console.read_only import make_clients
from actonce.console.templating import renderer
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.dead_letters import look as look_at_letters
from actonce.messages.filters import Listing, Narrowing
from actonce.messages.own_effects import OwnEffects
from actonce.messages.unstarted import Unstarted
from actonce.messages.unstarted import look as look_at_unstarted
from actonce.operate.status import Status, status
from actonce.queues.scan import QueueReader, counts
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

COUNTS_SECONDS: Final = 15.0
"""For which the queues' counts are kept. Three calls of GetQueueAttributes."""

STATUS_SECONDS: Final = 60.0
"""For which the stack's status is kept. About a dozen calls."""

_WAIT_FOR_OTHERS = 2.0
"""Seconds for which what another reader holds is waited for: it is counted, and told."""

_FIRST_UNSTARTED = 1_000_001
"""So that no number of one queue's snapshots is one of the other's."""

QueueName = Literal["dead_letters", "unstarted"]
"""A queue that is read, by its name among the counts."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the console works, as the person who started it said.

    Attributes:
        told: in one line; see `actonce.stack.endpoint.line`.
        options: what a command line needs to work there, with a space before it, or nothing.
        discarded: the folder for files of what is discarded.
    """

    told: str
    options: str
    discarded: Path


@dataclass(frozen=True, slots=True)
class Context:
    """What all views share.

    Attributes:
        own: where a team's own effects are.
        letters: scans of DeadLetterQueue.
        unstarted: scans of UnstartedQueue.
        counts: messages of each queue, in flight or not.
        audit: the folder of an audit's results that are of this stack; None: what its daily audit
            left counts.
        render: draws a template of that name, with values.
    """

    stack: Stack
    own: OwnEffects | None
    place: Place
    read_only: bool
    letters: QueueScans[DeadLetter]
    unstarted: QueueScans[Unstarted]
    counts: Cache[dict[str, int]]
    status: Cache[Status]
    log: DeliveryLines
    jobs: Jobs
    audit: Path | None
    render: Callable[[str, Mapping[str, Any]], str]

    @property
    def has_rows(self) -> bool:
        """Whether a ledger or a lease stands in the state machine's place."""
        return self.stack.ledger_table is not None

    def count(self, queue: QueueName | Literal["requests"]) -> int | None:
        """How many messages the queue has; None: it could not be counted just now."""
        cached = self.counts.get()
        return None if cached.value is None or cached.error else cached.value[queue]

    def scan_if_changed(self, queue: QueueName, *, is_missed: bool = False) -> None:
        """Read the queue where it was not read yet, or its count says that it has changed.

        It is waited for a moment: a short queue is there at once.

        Args:
            queue: which.
            is_missed: see `QueueScans.scan_if_changed`.
        """
        scans: QueueScans[Any] = self.letters if queue == "dead_letters" else self.unstarted
        cached = self.counts.get()
        if cached.value is not None and cached.error is None:
            scans.scan_if_changed(cached.value[queue], cached.at, is_missed=is_missed)
        elif scans.latest is None:
            scans.scan()
        scans.wait(A_MOMENT)


def context_of(
    stack: Stack,
    place: Place,
    *,
    own: OwnEffects | None = None,
    read_only: bool = False,
    audit: Path | None = None,
) -> Context:
    """Everything for a stack. Nothing is read yet but how the stack is to be reached.

    Args:
        stack: to look at.
        place: where.
        own: where a team's own effects are.
        read_only: whether changes are refused.
        audit: the folder of an audit's results that are of this stack.
    """
    make_clients(stack.aws, read_only=read_only)
    sqs = stack.sqs

    def read_unstarted(tell: Callable[[int], None]) -> Listing[Unstarted]:
        with _reader(sqs, stack.unstarted_queue) as queue:
            reader = message_reader(stack)
            return look_at_unstarted(queue, reader, Narrowing({}), tell, whole=True)

    def read_dead_letters(tell: Callable[[int], None]) -> Listing[DeadLetter]:
        with _reader(sqs, stack.dead_letter_queue) as queue:
            return look_at_letters(queue, Narrowing({}), tell)

    letters = QueueScans(read_dead_letters)
    unstarted = QueueScans(read_unstarted, _FIRST_UNSTARTED)
    counted = Cache(lambda: _counts(stack), COUNTS_SECONDS)

    def after_a_job() -> None:
        letters.scan(after_this=True)
        unstarted.scan(after_this=True)
        counted.expire()

    return Context(
        stack=stack,
        own=own,
        place=place,
        read_only=read_only,
        letters=letters,
        unstarted=unstarted,
        counts=counted,
        status=Cache(lambda: status(stack, datetime.now(UTC), audit), STATUS_SECONDS),
        log=DeliveryLines(stack),
        jobs=Jobs(after_a_job),
        audit=audit,
        render=renderer(
            {
                "place": place,
                "stack_name": stack.called,
                "read_only": read_only,
                "has_rows": stack.ledger_table is not None,
            }
        ),
    )


def _reader(sqs: "SQSClient", queue_url: str) -> QueueReader:
    return QueueReader(sqs, queue_url, wait_for_others=_WAIT_FOR_OTHERS)


def _counts(stack: Stack) -> dict[str, int]:
    queues = {
        "requests": stack.requests_queue,
        "unstarted": stack.unstarted_queue,
        "dead_letters": stack.dead_letter_queue,
    }
    return {name: sum(counts(stack.sqs, url)) for name, url in queues.items()}
