"""The views of a queue: a page of its entries, the page that asks about those chosen, and acting.

The page that asks has a form with a key. What it shows is kept by that key, and is acted on:
nothing that came later, and nothing else.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from starlette.responses import Response

from actonce.console.answers import Refused, ViewRequest, elsewhere, page
from actonce.console.context import REPLACED, Context, QueueName
from actonce.console.queue_cache import QueueState, Shown
from actonce.console.templating import action_name, address
from actonce.messages.filters import E, Listing
from actonce.messages.message_summary import Advice, advice_on, in_utc
from actonce.operate.bulk import Bulk
from actonce.terminal.visible import visible
from actonce_core.records import timestamp

PAGE = 50
"""Entries of a page."""

LONGEST_NOTE = 1000
"""Characters."""

_GONE = (
    "Nothing was done: this console no longer has what that page showed. Open it again, and decide "
    "on what it shows then."
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


def of_kind(kind: Mapping[str, str], entries: Iterable[E]) -> list[E]:
    """The entries whose kind has these values, in their order."""
    return [one for one in entries if all(one.kind.get(name) == kind[name] for name in kind)]


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
        """The entries of a kind, or all, as the queue was read last."""
        kind, state = self._kind(request), context.refresh(self.queue)
        listing, count = state.latest, context.count(self.queue)
        chosen = of_kind(kind, () if listing is None else listing.entries)
        advice = self._advice(context, kind, chosen)
        return page(
            context,
            "queue.html.j2",
            path=self.path,
            kind=kind,
            listing=listing,
            state=state,
            count=count,
            counts=context.counts.get(),
            is_sure=state.is_sure(count) and not context.is_replaced.get().value,
            chosen=chosen,
            advice=advice.said,
            page=page_of(chosen, request.number("page")),
            page_link=lambda to: address(self.path, page=to, **kind),
            actions=self.offered(context, chosen, advice),
        )

    def confirm(self, context: Context, request: ViewRequest) -> Response:
        """Ask: what would be done with which entries, how many, and by which command."""
        action, kind, key = self._action(request), self._kind(request), request.one("key")
        ticked = (
            frozenset(request.fields.getlist("entry")) if request.one("scope") != "all" else None
        )
        queue = context.queue(self.queue)
        shown = queue.forms.get(key) if key else self._chosen(context, kind, ticked)
        if shown is None:
            raise Refused(_GONE, 410, self.path)
        self._check(context, shown.entries, action)
        key = key or queue.open_form(shown)
        wants_note = self.wants_note(action)
        gone = 0 if ticked is None else len(ticked) - len(shown.entries)
        return page(
            context,
            "confirm.html.j2",
            path=self.path,
            action=action,
            meaning=self.actions[action],
            wants_note=wants_note,
            counted=self._counted(shown.entries),
            chosen=shown.entries,
            gone=max(0, gone),
            advice=self._advice(context, kind, shown.entries).said,
            at=shown.at,
            kind=kind,
            key=key,
            page=page_of(shown.entries, request.number("page")),
            page_link=lambda to: address(
                f"{self.path}/decide", action=action, key=key, page=to, **kind
            ),
            command=self._command(context, shown, action, "WHY" if wants_note else ""),
        )

    def act(self, context: Context, request: ViewRequest) -> Response:
        """Do it with the entries that were shown. A second click finds the first one's job."""
        key, action, note = request.one("key"), self._action(request), request.one("note").strip()
        forms = context.queue(self.queue).forms
        shown = forms.get(key)  # first: a form is closed once its job is begun
        if begun := context.jobs.begun_with(key):
            return elsewhere(request, f"/jobs/{begun.number}")
        if shown is None:
            raise Refused(_GONE, 410, self.path)
        if context.is_replaced.get().value:
            raise Refused("Nothing was done: " + REPLACED, 410, "/")
        if self.wants_note(action) and not note:
            raise Refused("Say why: whoever reads the history later needs a note.")
        if len(note) > LONGEST_NOTE:
            raise Refused(f"Say why in {LONGEST_NOTE:,} characters at most: {len(note):,} came.")
        self._check(context, shown.entries, action)
        job = context.jobs.begin(
            key,
            f"{action_name(action)} {self._counted(shown.entries)}",
            self._command(context, shown, action, note),
            len(shown.entries),
            self.task(context, Listing(shown.entries, held_elsewhere=0), action, note),
        )
        forms.pop(key, None)
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

    def _advice(self, context: Context, kind: Mapping[str, str], chosen: Sequence[E]) -> Advice:
        """The advice on the first of a kind; different kinds need different things."""
        if not chosen or not kind:
            return Advice(None)
        return advice_on(context.stack, chosen[0], context.own, differs_beside=True)

    def wants_note(self, action: str) -> bool:
        """Whether the action needs a note."""
        return action != next(iter(self.actions))

    def _command(self, context: Context, shown: Shown, action: str, note: str) -> str | None:
        """The command lines that do the same; None: there are none."""
        if shown.kind is None:
            return self.command(context, shown.entries, action, note)
        reason = shown.kind.get("reason", self.reasons[0])
        if reason not in self.reasons or any(visible(v) != v for v in shown.kind.values()):
            return None
        kind = "".join(f" --{name} {shlex.quote(value)}" for name, value in shown.kind.items())
        # Nothing that came later: SQS tells milliseconds, and only what is older is acted on.
        before = max(one.since for one in shown.entries) + timedelta(milliseconds=1)
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

    def _kind(self, request: ViewRequest) -> dict[str, str]:
        """The values of a kind in an address or a form."""
        return {name: request.one(name) for name in self.kinds if name in request.fields}

    def _chosen(
        self, context: Context, kind: Mapping[str, str], ticked: Collection[str] | None
    ) -> Shown:
        """What the queue has of a kind, one entry at least; of that what is ticked, None: all."""
        if ticked is not None and not ticked:
            raise Refused("Nothing is ticked. Tick some, or choose all.", 422, self.path)
        listing = context.refresh(self.queue).latest
        found = of_kind(kind, () if listing is None else listing.entries)
        chosen = [
            replace(one, queued=replace(one.queued, body=""))
            for one in found
            if ticked is None or one.entry in ticked
        ]
        if listing is None or not chosen:
            raise Refused(
                "Nothing was done: what you chose is not in the queue now, or another reader holds "
                "it. Open the list again, and choose again.",
                410,
                self.path,
            )
        is_whole = ticked is None and not listing.held_elsewhere
        return Shown(chosen, listing.at, kind if is_whole else None)


def how_far_read(queue: str, state: QueueState[Any]) -> str:
    """Sentences on how far a queue was read in which something was not found.

    Args:
        queue: its name.
        state: what is known of it.
    """
    told = f"{queue} has not been read yet."
    if state.latest is not None:
        told = f"{queue} was read at {in_utc(state.latest.at)}."
        if state.latest.held_elsewhere:
            told += f" Another reader held {state.latest.held_elsewhere:,} more of its messages."
    if state.reading is not None:
        told += " It is being read now."
    if state.error is not None:
        told += f" The last attempt to read it failed: {state.error}"
    return told
