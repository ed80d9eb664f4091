"""The views of a queue: a page of its entries, the page that asks about those chosen, and acting.

The page that asks has a form with a key. What it shows is kept by that key, and is acted on:
nothing that came later, and nothing else.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Generic, TypeVar

from starlette.responses import Response

from actonce.console.context import REPLACED, Context, QueueName
from actonce.console.queue_cache import Shown
from actonce.console.responses import Refused, ViewRequest, page, redirect
from actonce.console.templating import action_name, address
from actonce.messages.advice import Advice
from actonce.messages.filters import E, EntryFilter, Listing
from actonce.messages.summary import advice_on
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
        return f"/{self.queue}"

    def list_(self, context: Context, request: ViewRequest) -> Response:
        """The entries of a kind, or all, as the queue was read last."""
        kind, queue = self._kind(request), context.look_at(self.queue, request.patience)
        chosen = EntryFilter(kind).of(queue["state"].listing.entries)
        advice = self._advice(context, kind, chosen)
        return page(
            context,
            "queue.html.j2",
            **queue,
            kind=kind,
            counts=context.counts.get(),
            chosen=chosen,
            advice=advice.text,
            page=page_of(chosen, request.number("page")),
            page_link=lambda to: address(self.path, page=to, **kind),
            actions=self.offered(context, chosen, advice),
        )

    def confirm(self, context: Context, request: ViewRequest) -> Response:
        """Ask: what would be done with which entries, how many, and by which command."""
        action, kind, key = self._action(request), self._kind(request), request.value("key")
        queue, gone = context.queues[self.queue], 0
        if key:
            shown = queue.forms.get(key)
        else:
            shown, gone = self._chosen(context, request)
        if shown is None:
            raise Refused(_GONE, 410, self.path)
        self._check(context, shown.entries, action)
        key = key or queue.open_form(shown)
        wants_note = self.wants_note(action)
        return page(
            context,
            "confirm.html.j2",
            path=self.path,
            action=action,
            meaning=self.actions[action],
            wants_note=wants_note,
            counted=self._counted(shown.entries),
            chosen=shown.entries,
            gone=gone,
            advice=self._advice(context, kind, shown.entries).text,
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
        key, action, note = (
            request.value("key"),
            self._action(request),
            request.value("note").strip(),
        )
        forms = context.queues[self.queue].forms
        shown = forms.get(key)  # first: a form is closed once its job is begun
        if begun := context.jobs.begun_with(key):
            return redirect(request, f"/jobs/{begun.number}")
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
            self.task(context, Listing(shown.entries, in_flight_elsewhere=0), action, note),
        )
        forms.pop(key, None)
        return redirect(request, f"/jobs/{job.number}")

    def offered(self, context: Context, chosen: Sequence[E], advice: Advice) -> dict[str, str]:
        """What can be done with at least one entry, and what it means; the advised action first."""
        names = [
            name
            for name in self.actions
            if any(self.why_not(context, entry, name) is None for entry in chosen)
        ]
        return {n: self.actions[n] for n in sorted(names, key=lambda n: n != advice.action)}

    def _check(self, context: Context, chosen: Sequence[E], action: str) -> None:
        """Refuse what can be done with none of them; for some of them the job does."""
        refusals = [self.why_not(context, entry, action) for entry in chosen]
        if all(refusals):
            raise Refused(str(refusals[0]))

    def _advice(self, context: Context, kind: Mapping[str, str], chosen: Sequence[E]) -> Advice:
        """The advice on the first of a kind; different kinds need different things."""
        if not chosen or not kind:
            return Advice(None)
        return advice_on(context.stack, chosen[0], context.effect_store, differs_beside=True)

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
        before = max(entry.since for entry in shown.entries) + timedelta(milliseconds=1)
        option = f" --note {shlex.quote(note)}" if note else ""
        return (
            f"actonce {self.path[1:]} {action} --all{kind} --before {timestamp(before)}{option}"
            f"{context.stack.options}"
        )

    def _counted(self, chosen: Sequence[E]) -> str:
        return f"{len(chosen):,} {self.noun[len(chosen) != 1]}"

    def _action(self, request: ViewRequest) -> str:
        action = request.value("action")
        if action not in self.actions:
            raise Refused(f"Choose what to do: {', '.join(self.actions)}.")
        return action

    def _kind(self, request: ViewRequest) -> dict[str, str]:
        """The values of a kind in an address or a form."""
        return {name: request.value(name) for name in self.kinds if name in request.fields}

    def _chosen(self, context: Context, request: ViewRequest) -> tuple[Shown, int]:
        """What the queue has of a kind, or of that what is ticked; and how much of that is gone.

        Raises:
            Refused: that is nothing.
        """
        kind, is_all = self._kind(request), request.value("scope") == "all"
        ticked = frozenset(request.fields.getlist("entry"))
        if not is_all and not ticked:
            raise Refused("Nothing is ticked. Tick some, or choose all.", 422, self.path)
        state = context.queues[self.queue].refresh(request.patience)
        chosen = [
            replace(entry, queued=replace(entry.queued, body=""))
            for entry in EntryFilter(kind).of(state.listing.entries)
            if is_all or entry.entry in ticked
        ]
        if state.at is None or not chosen:
            sentence = (
                "Nothing was done: what you chose is not in the queue now, or another reader holds "
                "it. Open the list again, and choose again."
            )
            raise Refused(sentence, 410, self.path)
        is_whole = is_all and not state.listing.in_flight_elsewhere
        gone = 0 if is_all else len(ticked) - len(chosen)
        return Shown(chosen, state.at, kind if is_whole else None), gone
