"""What the views of the two queues have in common: a page of what was seen, and what is chosen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import Form, as_json, number
from actonce.console.snapshots import Reader, Snapshot, Standing
from actonce.messages.filters import Waiting
from actonce_core.records import timestamp

PAGE = 50
"""Entries of a page."""


class Named(Waiting, Protocol):
    """What lies in a queue, by the id of its entry."""

    @property
    def entry(self) -> str:
        """SQS's id of the entry."""


E = TypeVar("E", bound=Named)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which entries of a snapshot are meant.

    Attributes:
        snapshot: its number; 0: the newest.
        kind: values that an entry's kind must have.
        entries: ids of those that were ticked; none: all of the kind.
        all: all of the kind, whatever is ticked.
    """

    snapshot: int
    kind: dict[str, str]
    entries: frozenset[str]
    all: bool

    def query(self) -> dict[str, Any]:
        """The same for an address or a form."""
        told: dict[str, Any] = {"snapshot": self.snapshot, **self.kind}
        if self.all:
            return told | {"scope": "all"}
        return told | {"scope": "ticked", "entry": sorted(self.entries)}

    def of(self, entries: Iterable[E]) -> list[E]:
        """The entries that are meant, in their order."""
        return [
            one
            for one in entries
            if all(one.kind.get(name) == value for name, value in self.kind.items())
            and (self.all or one.entry in self.entries)
        ]


def scope_of(said: Form, kinds: Sequence[str]) -> Scope:
    """What an address or a form means."""

    def first(name: str) -> str:
        return said.get(name, [""])[0]

    return Scope(
        snapshot=number(first("snapshot")),
        kind={name: first(name) for name in kinds if name in said},
        entries=frozenset(said.get("entry", [])),
        all=first("scope") == "all",
    )


def asked(request: Request) -> Form:
    """The address's query, in a form's shape."""
    names = request.query_params.keys()
    return {name: request.query_params.getlist(name) for name in names}


@dataclass(frozen=True, slots=True)
class Seen(Generic[E]):
    """A page of a snapshot.

    Attributes:
        snapshot: None: it is kept no more, or nothing was read yet.
        is_lost: it is kept no more.
        is_newest: nothing was read since.
        count: how many messages the queue has; None: it could not be counted.
        reading: see `Standing`.
        error: see `Standing`.
        chosen: all entries of the kind.
        shown: those of this page.
        page: its number, from 1.
        pages: how many there are.
    """

    snapshot: Snapshot[E] | None
    is_lost: bool
    is_newest: bool
    count: int | None
    reading: int | None
    error: str | None
    chosen: Sequence[E]
    shown: Sequence[E]
    page: int
    pages: int

    @property
    def has_changed(self) -> bool:
        """Whether the queue has another number of messages than were found."""
        if self.snapshot is None or self.count is None:
            return False
        return self.count != self.snapshot.messages

    @property
    def is_sure(self) -> bool:
        """Whether all that lies there is known, as far as can be told."""
        return (
            self.is_newest
            and self.snapshot is not None
            and not self.snapshot.held_elsewhere
            and self.reading is None
            and self.error is None
            and self.count == self.snapshot.messages
        )


@dataclass(frozen=True, slots=True)
class Choice(Generic[E]):
    """What somebody chose of a snapshot.

    Attributes:
        snapshot: None: it is kept no more.
        chosen: its entries that are meant.
        refusal: why nothing can be done, and the status that goes with it; None: it can.
    """

    snapshot: Snapshot[E] | None
    chosen: list[E]
    refusal: tuple[str, int] | None


def choice(reader: Reader[E], scope: Scope) -> Choice[E]:
    """What is meant of what was seen; of nothing that came later."""
    snapshot = reader.kept(scope.snapshot)
    if snapshot is None:
        return Choice(None, [], (_GONE, 410))
    chosen = scope.of(snapshot.entries)
    return Choice(snapshot, chosen, None if chosen else (_NOTHING_TICKED, 422))


_GONE = (
    "What you saw is no longer kept, because the queue has been read several times since: look at "
    "the list again, and choose again. Nothing was done or decided."
)
_NOTHING_TICKED = "Nothing is ticked: tick some, or take all of the kind."


def seen(reader: Reader[E], scope: Scope, page: int, count: int | None) -> Seen[E]:
    """A page of what was read, of the snapshot that is asked for or of the newest.

    Args:
        count: see `Seen`.
    """
    standing = reader.standing()
    snapshot = reader.kept(scope.snapshot) if scope.snapshot else standing.latest
    entries = () if snapshot is None else snapshot.entries
    chosen = [
        one for one in entries if all(one.kind.get(name) == scope.kind[name] for name in scope.kind)
    ]
    pages = max(1, -(-len(chosen) // PAGE))
    here = min(max(1, page), pages)
    return Seen(
        snapshot,
        bool(scope.snapshot) and snapshot is None,
        snapshot is not None and snapshot is standing.latest,
        count,
        standing.reading,
        standing.error,
        chosen,
        chosen[(here - 1) * PAGE : here * PAGE],
        here,
        pages,
    )


def how_far_read(queue: str, standing: Standing[Any]) -> str:
    """How far a queue is known in which something was not found; in sentences.

    Args:
        queue: its name.
    """
    latest = standing.latest
    if latest is None:
        told = f"{queue} has not been read yet, so nothing is known of what lies there."
    else:
        told = f"{queue} is known as it was read at {timestamp(latest.at)}."
        if latest.held_elsewhere:
            told += f" Another reader held {latest.held_elsewhere:,} more, which are not known."
    if standing.reading is not None:
        told += " It is being read just now."
    if standing.error is not None:
        told += f" When it was read last, that failed: {standing.error}"
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
            "reading": found.reading,
            "error": found.error,
        }
    )
