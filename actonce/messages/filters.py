"""Entries of a queue: choosing many at once, grouping them, and times as a person writes them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from actonce.queues.scan import Queued
from actonce.terminal.errors import UsageError
from actonce_core.records import timestamp

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Entry(ABC):
    """An entry of a queue: what it is, since when it waits, and how it is named."""

    queued: Queued

    @property
    @abstractmethod
    def kind(self) -> Mapping[str, str]:
        """Names and values that it is grouped by; all entries of a queue have the same names."""

    @property
    @abstractmethod
    def ids(self) -> Mapping[str, str | None]:
        """Its ids, for machines; the first is never None, and is what a person calls it."""

    @abstractmethod
    def is_named(self, name: str) -> bool:
        """Whether it has that name."""

    @property
    def display_name(self) -> str:
        """An id of it, for a person."""
        return str(next(iter(self.ids.values())))

    @property
    def since(self) -> datetime:
        """When SQS took it (UTC)."""
        return self.queued.sent_at

    @property
    def entry(self) -> str:
        """Its SQS id."""
        return self.queued.sqs_message_id

    @property
    def entries(self) -> Sequence[str]:
        """The SQS ids of the messages that belong to it, its own first."""
        return [self.entry]


def reason_label(reason: str) -> str:
    """A reason for a person; `rejected` alone could be taken for a person's decision."""
    return "refused by the function" if reason == "rejected" else reason.replace("_", " ")


E = TypeVar("E", bound=Entry)
Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Listed]):
    """What was read of a queue.

    Attributes:
        entries: most without their messages, the longest waiting first.
        in_flight_elsewhere: how many messages another reader held, so that these lack them.
        not_listed: how many messages are no `entries`: older letters, those of what has ended, and
            what somebody else has put there.
        ended: how many letters were left out, because their executions ended undecided, by state.
    """

    entries: Sequence[Listed]
    in_flight_elsewhere: int
    not_listed: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries to choose.

    Attributes:
        kind: values that an entry's kind must have.
        before: those that SQS took before (UTC).
        match: those with this text; each kind of entry says in which of its texts.
        limit: at most so many, the longest waiting.
    """

    kind: Mapping[str, str]
    before: datetime | None = None
    match: str | None = None
    limit: int | None = None

    def matches(self, texts: Iterable[str]) -> bool:
        """Whether one of an entry's texts contains `match`."""
        return self.match is None or any(self.match in text for text in texts)

    def of(self, entries: Iterable[E]) -> list[E]:
        """Choose among entries that match; the longest waiting first."""
        chosen = [
            entry
            for entry in entries
            if all(entry.kind[name] == value for name, value in self.kind.items())
            and (self.before is None or entry.since < self.before)
        ]
        return sorted(chosen, key=lambda entry: entry.since)[: self.limit]


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one kind; `example` is the longest waiting one's message id, or SQS's."""

    kind: Mapping[str, str]
    count: int
    oldest: datetime
    newest: datetime
    example: str

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            **self.kind,
            "count": self.count,
            "oldest": timestamp(self.oldest),
            "newest": timestamp(self.newest),
            "example": self.example,
        }


def group_entries(entries: Iterable[Entry]) -> list[Group]:
    """The groups of entries, the largest first."""
    kinds: dict[tuple[str, ...], list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.since):
        kinds.setdefault(tuple(entry.kind.values()), []).append(entry)
    groups = [
        Group(
            first.kind,
            len(members),
            first.since,
            members[-1].since,
            first.ids["message_id"] or first.display_name,
        )
        for members in kinds.values()
        for first in members[:1]
    ]
    return sorted(groups, key=lambda group: (-group.count, tuple(group.kind.values())))


_EXCERPT = 160
"""Characters of a body that a list shows."""


def excerpt(body: str) -> str:
    r"""A body in one line, cut, for lists.

    >>> excerpt('{\n  "id": 7\n}')
    '{ "id": 7 }'
    >>> len(excerpt("x" * 9_999))
    160
    """
    line = " ".join(body[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def age(since: datetime, now: datetime) -> str:
    """How long ago, for a person: `40 s`, `12 min`, `5 h`, `3 d`.

    >>> age(datetime(2026, 1, 31, 9, tzinfo=UTC), datetime(2026, 1, 31, 9, 12, 40, tzinfo=UTC))
    '12 min'
    """
    return lasted(int((now - since).total_seconds()))


def lasted(seconds: int) -> str:
    """A number of seconds, for a person."""
    seconds = max(0, seconds)
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def read_moment(text: str, now: datetime) -> datetime:
    """A time (ISO 8601; UTC if it names no zone), or an age: `90s`, `30m`, `2h`, `3d`.

    Raises:
        UsageError: it is neither.
    """
    aged = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    try:
        if aged:
            return now - timedelta(seconds=int(aged[1]) * _UNITS[aged[2]])
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no time: say 2026-01-31T09:30, or how long ago: 90s, 30m, 2h, 3d."
        ) from None
