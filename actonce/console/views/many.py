"""What the views of both queues have in common: a page of a snapshot, and what is chosen of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from starlette.responses import Response

from actonce.console.answers import Asked, Refused, as_json
from actonce.console.queue_scans import QueueScans, ScanState, Snapshot
from actonce.messages.filters import Waiting
from actonce_core.records import timestamp

PAGE = 50
"""Entries of a page."""

T = TypeVar("T")


class Named(Waiting, Protocol):
    """What lies in a queue, by the id of its entry."""

    @property
    def entry(self) -> str:
        """SQS's id of the entry."""


E = TypeVar("E", bound=Named)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of many: those of this page, its number from 1, and how many pages there are."""

    shown: Sequence[T]
    number: int
    pages: int


def page_of(all_: Sequence[T], number: int) -> Page[T]:
    """A page; the nearest one where there is none of that number."""
    pages = max(1, -(-len(all_) // PAGE))
    here = min(max(1, number), pages)
    return Page(all_[(here - 1) * PAGE : here * PAGE], here, pages)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which entries of a snapshot are meant.

    Attributes:
        snapshot: its number; 0: the newest.
        kind: values that an entry's kind must have.
        entries: ids of those that were ticked.
        all: all of the kind, whatever is ticked.
    """

    snapshot: int
    kind: Mapping[str, str]
    entries: frozenset[str]
    all: bool

    def query(self) -> dict[str, Any]:
        """The same for a form."""
        told: dict[str, Any] = {"snapshot": self.snapshot, **self.kind}
        if self.all:
            return told | {"scope": "all"}
        return told | {"scope": "ticked", "entry": sorted(self.entries)}

    def of_kind(self, entries: Iterable[E]) -> list[E]:
        """The entries of the kind, in their order."""
        kind = self.kind.items()
        return [one for one in entries if all(one.kind.get(name) == told for name, told in kind)]


def scope_of(asked: Asked, kinds: Sequence[str]) -> Scope:
    """What an address or a form means."""
    return Scope(
        snapshot=asked.number("snapshot"),
        kind={name: asked.one(name) for name in kinds if name in asked.fields},
        entries=frozenset(asked.fields.get("entry", [])),
        all=asked.one("scope") == "all",
    )


@dataclass(frozen=True, slots=True)
class Seen(Generic[E]):
    """A page of a snapshot.

    Attributes:
        snapshot: None: it is kept no more, or nothing was read yet.
        is_lost: it is kept no more.
        is_newest: nothing was read since.
        count: how many messages the queue has; None: it could not be counted.
        state: of the queue's scans.
        chosen: all entries of the kind.
        page: those of this page.
    """

    snapshot: Snapshot[E] | None
    is_lost: bool
    is_newest: bool
    count: int | None
    state: ScanState[E]
    chosen: Sequence[E]
    page: Page[E]

    @property
    def has_changed(self) -> bool:
        """Whether the queue has another number of messages than were found."""
        if self.snapshot is None or self.count is None:
            return False
        return self.count != self.snapshot.messages

    @property
    def is_sure(self) -> bool:
        """Whether all that lies there is known, as far as can be told."""
        return self.is_newest and self.state.is_sure(self.count)


def seen(scans: QueueScans[E], scope: Scope, number: int, count: int | None) -> Seen[E]:
    """A page of what was read, of the snapshot that is asked for or of the newest.

    Args:
        number: of the page.
        count: see `Seen`.
    """
    state = scans.state()
    snapshot = scans.snapshot(scope.snapshot) if scope.snapshot else state.latest
    chosen = scope.of_kind(() if snapshot is None else snapshot.entries)
    return Seen(
        snapshot,
        is_lost=bool(scope.snapshot) and snapshot is None,
        is_newest=snapshot is not None and snapshot is state.latest,
        count=count,
        state=state,
        chosen=chosen,
        page=page_of(chosen, number),
    )


_GONE = (
    "What you saw is no longer kept, because the queue has been read several times since: look at "
    "the list again, and choose again. Nothing was done or decided."
)


def chosen_of(scans: QueueScans[E], scope: Scope, back: str) -> tuple[Snapshot[E], list[E]]:
    """What is meant of what was seen, and nothing that came later; at least one.

    Raises:
        Refused: what was seen is kept no more, or nothing of it is meant; `back` is the list.
    """
    snapshot = scans.snapshot(scope.snapshot)
    if snapshot is None:
        raise Refused(_GONE, 410, back)
    of_kind = scope.of_kind(snapshot.entries)
    chosen = [one for one in of_kind if scope.all or one.entry in scope.entries]
    if not chosen:
        raise Refused("Nothing is ticked: tick some, or take all of the kind.", 422, back)
    return snapshot, chosen


def how_far_read(queue: str, state: ScanState[Any]) -> str:
    """How far a queue is known in which something was not found; in sentences.

    Args:
        queue: its name.
        state: of its scans.
    """
    latest = state.latest
    if latest is None:
        told = f"{queue} has not been read yet, so nothing is known of what lies there."
    else:
        told = f"{queue} is known as it was read at {timestamp(latest.at)}."
        if latest.held_elsewhere:
            told += f" Another reader held {latest.held_elsewhere:,} more, which are not known."
    if state.reading is not None:
        told += " It is being read just now."
    if state.error is not None:
        told += f" When it was read last, that failed: {state.error}"
    return told


def exported(found: Seen[E], name: str, entry: Callable[[E], Mapping[str, Any]]) -> Response:
    """What was seen, for machines: no list where nothing has been read, and never an empty one."""
    if found.is_lost:
        return as_json({"error": _GONE}, 410)
    snapshot = found.snapshot
    return as_json(
        {
            name: None if snapshot is None else [entry(one) for one in found.chosen],
            "at": None if snapshot is None else snapshot.at.isoformat(),
            "held_elsewhere": None if snapshot is None else snapshot.held_elsewhere,
            "count": found.count,
            "reading": found.state.reading,
            "error": found.state.error,
        }
    )
