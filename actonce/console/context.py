"""What all views of the console share."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from actonce.console.cache import Cache
from actonce.console.jobs import Jobs
from actonce.console.queue_cache import QueueCache
from actonce.console.templating import environment
from actonce.messages.dead_letters import DeadLetter, list_dead_letters
from actonce.messages.effect_store import DynamoDbEffects
from actonce.messages.filters import EntryFilter, Listing
from actonce.messages.newest import Newest
from actonce.messages.recent import EndedMessages
from actonce.messages.unstarted import Unstarted, list_unstarted
from actonce.operate.bulk import Bulk
from actonce.operate.status import status
from actonce.queues.scan import QueueReader, counts
from actonce.stack.clients import Stack
from actonce.stack.message_ids import message_reader

if TYPE_CHECKING:
    from actonce.messages.story import Story

COUNTS_SECONDS: Final = 15.0
"""For which the queues' counts are kept, and whether the stack was replaced: four calls."""

STATUS_SECONDS: Final = 60.0
"""For which the stack's status is kept. About a dozen calls; and one, once, for each execution that
has failed."""

LONGEST_READING: Final = 600.0
"""Seconds for which a job waits for a queue to be read."""

LOGS_KEPT: Final = 64
"""Messages whose deliveries, which are slow to read from the log, are kept."""

QueueName = Literal["dead-letters", "unstarted"]
"""A queue that the console reads, as its address calls it."""

REPLACED: Final = (
    "the stack that this console was started for was deleted or replaced. Start actonce console "
    "again."
)
"""What to say where `Context.is_replaced`; no decision is taken then."""

_EVERYTHING: Final = EntryFilter({})


class Context:
    """What all views share; making it reads nothing.

    Args:
        stack: to look at.
        discarded: the folder for files of what is discarded.
        effect_store: where a team's own effects are.
        read_only: whether there are no addresses that change anything.
        audit: the folder of an audit's results that are of this stack; None: what its daily audit
            left counts.
        scan_waits: seconds for which reading a queue waits for messages that another reader holds;
            those that do not come are counted, and the pages say so.
        job_waits: the same for a job.

    Attributes:
        letters: what lies in DeadLetterQueue, and its forms.
        unstarted: what lies in UnstartedQueue.
        queues: both.
        is_replaced: whether the stack was deleted or replaced since.
        counts: messages of each queue, in flight or not.
        with_log: the stories whose deliveries were read from the log, and when, by their ids.
        templates: what pages are drawn by.
    """

    def __init__(  # noqa: PLR0913 - who works where, and how long it waits
        self,
        stack: Stack,
        discarded: Path,
        *,
        effect_store: DynamoDbEffects | None = None,
        read_only: bool = False,
        audit: Path | None = None,
        scan_waits: float = 2.0,
        job_waits: float = 15.0,
    ) -> None:
        self.stack, self.discarded, self.effect_store = stack, discarded, effect_store
        self.read_only = read_only
        self.audit = audit
        self.job_waits = job_waits
        self._scan_waits = scan_waits
        self.jobs = Jobs(self._before_a_job, self._after_a_job)
        self.letters = QueueCache(self._read_letters, self.jobs.is_busy)
        self.unstarted = QueueCache(self._read_unstarted, self.jobs.is_busy)
        self.queues: Mapping[QueueName, QueueCache[Any]] = {
            "dead-letters": self.letters,
            "unstarted": self.unstarted,
        }
        self.counts = Cache(self._count, COUNTS_SECONDS)
        self.ended = EndedMessages()
        self.status = Cache(
            lambda: status(stack, datetime.now(UTC), audit, self.ended), STATUS_SECONDS
        )
        self.is_replaced = Cache(stack.is_replaced, COUNTS_SECONDS)
        self.with_log: Newest[str, tuple[datetime, Story]] = Newest(LOGS_KEPT)
        self.templates = environment({"stack": stack, "read_only": read_only})

    def count(self, queue: QueueName) -> int | None:
        """How many messages the queue has; None: it could not be counted just now."""
        cached = self.counts.get()
        return None if cached.value is None or cached.error else cached.value[queue]

    def look_at(self, name: QueueName, seconds: float) -> dict[str, Any]:
        """What pages show of a queue; `seconds`: see `QueueCache.refresh`."""
        state, count = self.queues[name].refresh(seconds), self.count(name)
        is_sure = state.is_sure(count) and not self.is_replaced.get().value
        return {"path": f"/{name}", "state": state, "count": count, "is_sure": is_sure}

    def _queue_of(self, task: Bulk[Any]) -> QueueCache[Any]:
        is_unstarted = task.queue_url == self.stack.unstarted_queue
        return self.unstarted if is_unstarted else self.letters

    def _before_a_job(self, task: Bulk[Any]) -> None:
        """What a reading holds, a job would wait for, and not for long enough."""
        self._queue_of(task).wait(LONGEST_READING)

    def _after_a_job(self, task: Bulk[Any]) -> None:
        self._queue_of(task).scan(after_this=True)
        self.counts.expire()
        self.status.expire()

    def _reader(self, queue_url: str) -> QueueReader:
        return QueueReader(self.stack.sqs, queue_url, wait_for_others=self._scan_waits)

    def _read_letters(self, tell: Callable[[int], None]) -> Listing[DeadLetter]:
        with self._reader(self.stack.dead_letter_queue) as queue:
            return list_dead_letters(self.stack, queue, _EVERYTHING, tell)

    def _read_unstarted(self, tell: Callable[[int], None]) -> Listing[Unstarted]:
        with self._reader(self.stack.unstarted_queue) as queue:
            return list_unstarted(queue, message_reader(self.stack), _EVERYTHING, tell, whole=True)

    def _count(self) -> Mapping[QueueName, int]:
        sqs = self.stack.sqs
        return {
            "dead-letters": sum(counts(sqs, self.stack.dead_letter_queue)),
            "unstarted": sum(counts(sqs, self.stack.unstarted_queue)),
        }
