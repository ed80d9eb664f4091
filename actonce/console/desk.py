"""What all views of the console share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from actonce.console.audits import Audits
from actonce.console.calls import Calls
from actonce.console.letters import Letter, read_letters
from actonce.console.rates import rates
from actonce.console.snapshots import A_MOMENT, Found, Reader
from actonce.console.stories import Stories
from actonce.console.watching import COUNTS_EVERY, STATUS_EVERY, Seldom, Watched
from actonce.console.works import Works
from actonce.messages.filters import Narrowing
from actonce.messages.own_effects import OwnEffects
from actonce.messages.unstarted import Unstarted
from actonce.operate import discarding as clearing
from actonce.operate.status import status
from actonce.queues.scan import QueueReader, counts
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_ALL = Narrowing({})
_WAIT_FOR_OTHERS = 2.0
"""Seconds for which what another reader holds is waited for: it is counted, and told."""

QueueName = Literal["dead_letters", "unstarted"]
"""A queue that is read, by its name among the counts."""

_FIRST_UNSTARTED = 1_000_001
"""So that no number of one queue's snapshots is one of the other's."""


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
class Desk:
    """What all views share; see the fields of the same names."""

    stack: Stack
    own: OwnEffects | None
    place: Place
    read_only: bool
    calls: Calls
    letters: Reader[Letter]
    unstarted: Reader[Unstarted]
    watched: Watched
    stories: Stories
    works: Works
    audits: Audits
    render: Callable[[str, Mapping[str, Any]], str]

    @property
    def has_rows(self) -> bool:
        """Whether a ledger or a lease stands in the state machine's place."""
        return self.stack.ledger_table is not None

    def reader(self, queue: QueueName) -> Reader[Any]:
        """The one reader of the queue."""
        return self.letters if queue == "dead_letters" else self.unstarted

    def number_in(self, queue: QueueName | Literal["requests"]) -> int | None:
        """How many messages the queue has; None: it could not be counted just now."""
        counts = self.watched.counts.seen()
        return None if counts.value is None or counts.error else counts.value[queue]

    def look_if_changed(self, queue: QueueName, *, is_missed: bool = False) -> None:
        """Read the queue where it was not read yet, or its count says that it has changed.

        It is waited for a moment: a short queue is there at once.

        Args:
            queue: which.
            is_missed: see `Reader.look_if_changed`.
        """
        reader, counts = self.reader(queue), self.watched.counts.seen()
        if counts.value is not None and counts.error is None:
            reader.look_if_changed(counts.value[queue], counts.at, is_missed=is_missed)
        elif reader.latest is None:
            reader.look()
        reader.wait(A_MOMENT)


def desk(  # noqa: PLR0913 - what the person who started it has said
    stack: Stack,
    place: Place,
    render: Callable[[str, Mapping[str, Any]], str],
    *,
    own: OwnEffects | None = None,
    read_only: bool = False,
    audit: Path | None = None,
) -> Desk:
    """Everything for a stack. Nothing is read yet but how the stack is to be reached.

    Args:
        stack: to look at.
        place: where.
        render: draws a template of that name.
        own: where a team's own effects are.
        read_only: whether changes are refused.
        audit: the folder of an audit's results that are of this stack.
    """
    calls = Calls(stack.aws, read_only=read_only)
    sqs = stack.sqs

    def letters(tell: Callable[[int], None]) -> Found[Letter]:
        with _reader(sqs, stack.dead_letter_queue) as queue:
            return read_letters(queue, tell)

    def unstarted(tell: Callable[[int], None]) -> Found[Unstarted]:
        with _reader(sqs, stack.unstarted_queue) as queue:
            shown = clearing.look(queue, message_reader(stack), _ALL, tell, whole=True)
            return Found(shown.entries, 0, shown.held_elsewhere)

    of_letters: Reader[Letter] = Reader(letters)
    of_unstarted: Reader[Unstarted] = Reader(unstarted, _FIRST_UNSTARTED)
    watched = Watched(
        counts=Seldom(lambda: _counts(stack), COUNTS_EVERY),
        status=Seldom(lambda: status(stack, datetime.now(UTC), audit), STATUS_EVERY),
        rates=Seldom(lambda: rates(stack, datetime.now(UTC)), STATUS_EVERY),
    )

    def entries() -> list[Unstarted]:
        latest = of_unstarted.latest
        return [] if latest is None else list(latest.entries)

    def after_a_work() -> None:
        of_letters.look(after_this=True)
        of_unstarted.look(after_this=True)
        watched.counts.forget()

    return Desk(
        stack=stack,
        own=own,
        place=place,
        read_only=read_only,
        calls=calls,
        letters=of_letters,
        unstarted=of_unstarted,
        watched=watched,
        stories=Stories(stack, own, entries),
        works=Works(after_a_work),
        audits=Audits(stack, audit),
        render=render,
    )


def _reader(sqs: "SQSClient", queue_url: str) -> QueueReader:
    return QueueReader(sqs, queue_url, wait_for_others=_WAIT_FOR_OTHERS)


def _counts(stack: Stack) -> dict[str, int]:
    """Messages of each queue, in flight or not."""
    queues = {
        "requests": stack.requests_queue,
        "unstarted": stack.unstarted_queue,
        "dead_letters": stack.dead_letter_queue,
    }
    return {name: sum(counts(stack.sqs, url)) for name, url in queues.items()}
