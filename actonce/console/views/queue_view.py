"""The views of a queue: a page of its entries, the page that asks about those chosen, and acting.

A form names the snapshot that was shown, and only entries of that snapshot are acted on, none that
came later.
"""

import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from starlette.responses import Response

from actonce.console.answers import Refused, ViewRequest, elsewhere, page
from actonce.console.context import Context, QueueName
from actonce.console.queue_scans import KEPT, ScanState, Snapshot
from actonce.console.templating import action_name, address
from actonce.messages.filters import E, Listing
from actonce.messages.message_summary import Advice, advice_on, in_utc
from actonce.operate.bulk import Bulk
from actonce_core.records import timestamp
from pipeline.visible import visible

PAGE = 50
"""Entries of a page."""

LONGEST_NOTE = 1000
"""Characters."""

_GONE = (
    f"This console no longer has that list: it keeps the last {KEPT} that a page asked about. "
    "Nothing was done. Open the list again, and choose again."
)

_UNKNOWN = (
    "Nothing was done: this console no longer knows what the page showed. Somebody decided on it, "
    "or the message has another dead letter since. Open the page again."
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The entries of a page, its number from 1, and how many pages there are."""

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
        kind: the values that an entry's kind must have.
        entries: the ids of those that were ticked.
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


@dataclass(frozen=True, slots=True)
class QueueView(Generic[E]):
    """Views of a queue.

    Attributes:
        noun: an entry's name, in the singular and the plural.
        kinds: the names of the values of an entry's kind.
        reasons: those that a command line can name.
        actions: what can be done with entries, and what it means; all but the first want a note.
        command: the command lines that do the same with the entries that were ticked, given action
            and note.
        task: what does it.
        why_not: why an action cannot be done with an entry, in sentences; None: it can.
    """

    queue: QueueName
    noun: tuple[str, str]
    kinds: Sequence[str]
    reasons: Sequence[str]
    actions: Mapping[str, str]
    command: Callable[[Context, Sequence[E], str, str], str]
    task: Callable[[Context, Listing[E], str, str], Bulk[E]]
    why_not: Callable[[Context, E, str], str | None] = lambda *_: None

    @property
    def path(self) -> str:
        """The address of the list."""
        return "/" + self.queue.replace("_", "-")

    def list_(self, context: Context, request: ViewRequest) -> Response:
        """The entries of a kind, or all: of the snapshot in the address, or of the newest."""
        scope = self._scope(request)
        if not scope.snapshot:
            context.scan_if_changed(self.queue)
        state = context.scans(self.queue).state()
        snapshot = state.latest
        if scope.snapshot:
            snapshot = context.scans(self.queue).snapshot(scope.snapshot)
        chosen = scope.of_kind(() if snapshot is None else snapshot.entries)
        count = context.count(self.queue)
        number = snapshot and snapshot.number
        advice = self._advice(context, scope, chosen)
        is_newest = snapshot is not None and snapshot is state.latest
        return page(
            context,
            "queue.html.j2",
            path=self.path,
            scope=scope,
            snapshot=snapshot,
            state=state,
            count=count,
            is_newest=is_newest,
            is_sure=is_newest and state.is_sure(count),
            chosen=chosen,
            advice=advice.said,
            page=page_of(chosen, request.number("page")),
            page_link=lambda to: address(self.path, snapshot=number, page=to, **scope.kind),
            actions=self.offered(context, chosen, advice),
        )

    def confirm(self, context: Context, request: ViewRequest) -> Response:
        """Ask: what would be done with which entries, how many, and by which command."""
        action, scope = self._action(request), self._scope(request)
        snapshot, chosen = self._chosen(context, scope)
        if snapshot is None:
            raise Refused(_GONE, 410, self.path)
        self._check(context, chosen, action)
        context.scans(self.queue).pin(snapshot)
        wants_note = self.wants_note(action)
        note = "WHY" if wants_note else ""
        return page(
            context,
            "confirm.html.j2",
            path=self.path,
            action=action,
            meaning=self.actions[action],
            wants_note=wants_note,
            counted=self._counted(chosen),
            chosen=chosen,
            advice=self._advice(context, scope, chosen).said,
            snapshot=snapshot,
            kind=scope.kind,
            fields=scope.query(),
            key=secrets.token_urlsafe(16),
            page=page_of(chosen, request.number("page")),
            page_link=lambda to: address(
                f"{self.path}/decide", action=action, page=to, **scope.query()
            ),
            command=self._command(context, scope, snapshot, chosen, action, note),
        )

    def act(self, context: Context, request: ViewRequest) -> Response:
        """Do it with the entries that were shown. A second click finds the first one's job."""
        key, action, note = request.one("key"), self._action(request), request.one("note").strip()
        if not key:
            raise Refused("This form has no key. Open the page again.")
        # First: its snapshot may be forgotten by now, and something was done all the same.
        if begun := context.jobs.begun_with(key):
            return elsewhere(request, f"/jobs/{begun.number}")
        if self.wants_note(action) and not note:
            raise Refused("Say why: whoever reads the history later needs a note.")
        if len(note) > LONGEST_NOTE:
            raise Refused(f"Say why in {LONGEST_NOTE:,} characters at most: {len(note):,} came.")
        scope = self._scope(request)
        snapshot, chosen = self._chosen(context, scope)
        self._check(context, chosen, action)
        job = context.jobs.begin(
            key,
            f"{action_name(action)} {self._counted(chosen)}",
            self._command(context, scope, snapshot, chosen, action, note),
            len(chosen),
            self.task(context, Listing(chosen, held_elsewhere=0), action, note),
        )
        return elsewhere(request, f"/jobs/{job.number}")

    def offered(self, context: Context, chosen: Sequence[E], advice: Advice) -> dict[str, str]:
        """What can be done with at least one entry, and what it means; the advised action first."""
        names = [
            name
            for name in self.actions
            if any(self.why_not(context, one, name) is None for one in chosen)
        ]
        return {n: self.actions[n] for n in sorted(names, key=lambda n: n != advice.action)}

    def _check(self, context: Context, chosen: Sequence[E], action: str) -> None:
        """Refuse what can be done with none of them; for some of them the job does."""
        refusals = [self.why_not(context, one, action) for one in chosen]
        if all(refusals):
            raise Refused(str(refusals[0]))

    def _advice(self, context: Context, scope: Scope, chosen: Sequence[E]) -> Advice:
        """The advice on the first of a kind; different kinds need different things."""
        if not chosen or not scope.kind:
            return Advice(None)
        return advice_on(context.stack, chosen[0], context.own, differs_beside=True)

    def wants_note(self, action: str) -> bool:
        """Whether the action needs a note."""
        return action != next(iter(self.actions))

    def _command(  # noqa: PLR0913 - what was chosen, and of what
        self,
        context: Context,
        scope: Scope,
        snapshot: Snapshot[E] | None,
        chosen: Sequence[E],
        action: str,
        note: str,
    ) -> str | None:
        """The command lines that do the same; None: there are none."""
        if not scope.all:
            return self.command(context, chosen, action, note)
        reason = scope.kind.get("reason")
        if (
            snapshot is None
            or snapshot.held_elsewhere
            or (reason is not None and reason not in self.reasons)
            or any(visible(told) != told for told in scope.kind.values())
        ):
            return None
        kind = "".join(f" --{name} {shlex.quote(value)}" for name, value in scope.kind.items())
        # Nothing that came later: SQS tells milliseconds, and only what is older is acted on.
        before = max(one.since for one in chosen) + timedelta(milliseconds=1)
        told = f" --note {shlex.quote(note)}" if note else ""
        return (
            f"actonce {self.path[1:]} {action} --all{kind} --before {timestamp(before)}{told}"
            f"{context.stack.options}"
        )

    def _counted(self, chosen: Sequence[E]) -> str:
        return f"{len(chosen):,} {self.noun[len(chosen) != 1]}"

    def _action(self, request: ViewRequest) -> str:
        action = request.one("action")
        if action not in self.actions:
            raise Refused(f"Choose what to do: {', '.join(self.actions)}.")
        return action

    def _scope(self, request: ViewRequest) -> Scope:
        """The scope in an address or a form."""
        return Scope(
            snapshot=request.number("snapshot"),
            kind={name: request.one(name) for name in self.kinds if name in request.fields},
            entries=frozenset(request.fields.get("entry", [])),
            all=request.one("scope") == "all",
        )

    def _chosen(self, context: Context, scope: Scope) -> tuple[Snapshot[E] | None, list[E]]:
        """The entries that are meant, at least one, of the snapshot that was shown.

        A message's page names an entry, and no snapshot: SQS's id is that entry's alone.
        """
        scans = context.scans(self.queue)
        if not scope.snapshot:
            found = scans.find(lambda one: one.entry in scope.entries)
            if scope.all or len(scope.entries) != 1 or found is None:
                raise Refused(_UNKNOWN, 410, self.path)
            return None, [found]
        snapshot = scans.snapshot(scope.snapshot)
        if snapshot is None:
            raise Refused(_GONE, 410, self.path)
        of_kind = scope.of_kind(snapshot.entries)
        chosen = [one for one in of_kind if scope.all or one.entry in scope.entries]
        if not chosen:
            raise Refused("Nothing is ticked. Tick some, or choose all.", 422, self.path)
        return snapshot, chosen


def how_far_read(queue: str, state: ScanState[Any]) -> str:
    """Sentences on how far a queue was read in which something was not found.

    Args:
        queue: its name.
        state: of its scans.
    """
    latest = state.latest
    if latest is None:
        told = f"{queue} has not been read yet."
    else:
        told = f"{queue} was read at {in_utc(latest.at)}."
        if latest.held_elsewhere:
            told += f" Another reader held {latest.held_elsewhere:,} more of its messages."
    if state.reading is not None:
        told += " It is being read now."
    if state.error is not None:
        told += f" The last attempt to read it failed: {state.error}"
    return told
