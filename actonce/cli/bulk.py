"""Listing a queue's entries and acting on many: for dead letters and unstarted deliveries.

A command shows what it would act on, asks, acts on exactly that, and reports.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Generic

import typer

from actonce.cli import tables
from actonce.cli.options import Decorator, Json, Yes, group_options
from actonce.messages.filters import (
    E,
    Entry,
    EntryFilter,
    Listing,
    age,
    group_entries,
    read_moment,
    reason_label,
)
from actonce.operate.bulk import Bulk
from actonce.queues.scan import QueueReader, held_by_another
from actonce.stack.clients import Stack
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.error_names import error_label, name_of
from actonce.terminal.errors import Failed, Interrupted, UsageError
from actonce.terminal.visible import visible_whole
from actonce.terminal.words import pluralize

GROUPED_FROM = 50
"""Up to so many entries are listed one by one, or those of --limit; more are grouped."""

MOST_GROUPS = 25
"""So many groups are shown; the others are counted."""

_SHORT = 60  # characters of what others wrote, in a table; ids are whole

_ERROR = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only with this error, as list shows it.")
]
_BEFORE = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Only what was in the queue before 2026-01-31T09:30 (UTC), or for longer than 90s, "
        "30m, 2h, 3d.",
    ),
]
_LIMIT = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="At most N, the longest waiting first.")
]
_ALL = Annotated[
    bool, typer.Option("--all", help="All that wait now, and match the other options.")
]
_RATE = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        min=0.1,
        max=10_000,
        help="At most N a second, to spare what your function calls.",
    ),
]
_LETTER = Annotated[
    str | None,
    typer.Option(
        metavar="LETTER",
        help="The dead letter of the ID that you decide on, as list and show print it. Only "
        "retry goes without, where none is in the queue, or its execution has ended.",
    ),
]
_DRY_RUN = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")
]


@dataclass(frozen=True, slots=True)
class EntryFormat(Generic[E]):
    """How commands name and print the entries of one queue.

    Attributes:
        queue: its name.
        name: of a list of entries, in JSON.
        one: a person's words for an entry.
        several: for more than one.
        headers: of a table of entries.
        row: an entry's row in it.
        as_json: an entry for machines.
    """

    queue: str
    name: str
    one: str
    several: str
    headers: Sequence[str]
    row: Callable[[E], Sequence[str]]
    as_json: Callable[[E], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """The options of a command that acts on many entries, by their names.

    Attributes:
        entry_filter: which entries to act on.
        is_narrowed: an option was given that chooses among the entries, or --rate.
    """

    entry_filter: EntryFilter
    is_narrowed: bool = False
    every: bool = False
    rate: float | None = None
    dry_run: bool = False
    yes: bool = False
    json: bool = False
    letter: str | None = None

    def stack(self, at: TargetOptions, ids: object) -> Stack:
        """The stack to act on.

        A command with --all asks when it has shown what it would act on, and not here as well.

        Args:
            at: where it is.
            ids: the entries that the command line names; empty for none.

        Raises:
            UsageError: entries and --all are given, or neither; or an option for --all with a named
                entry; or --json and a question, before which nothing would be shown.
        """
        if bool(ids) == self.every:
            raise UsageError("Name an ID, as list shows it, or say --all; not both.")
        if ids and (self.is_narrowed or self.dry_run):
            raise UsageError(
                "--dry-run, --rate, and what narrows --all, such as --reason and --limit, go with "
                "--all only: leave them out, or name no ID."
            )
        if self.letter is not None and self.every:
            raise UsageError("--letter names the dead letter of one ID, without --all.")
        if self.every and self.json and not (self.yes or self.dry_run):
            raise UsageError("--json shows nothing before it acts: say --yes, or --dry-run.")
        return find_stack(replace(at, yes=self.yes), changes=not self.every)


def bulk_options(
    reasons: Sequence[str],
    texts: str,
    *,
    errors: bool = False,
    acts: bool = False,
    paced: bool = False,
) -> Decorator:
    """Give a command the options of `BulkOptions`, as its argument `how`.

    Args:
        reasons: what --reason takes.
        texts: what --match looks at, for its help.
        errors: the command has --error; if it acts, also --letter.
        acts: the command changes entries: it has --all, --dry-run and --yes.
        paced: it has --rate.
    """
    reason = typer.Option(metavar="REASON", help=f"Only of this reason: {', '.join(reasons)}.")
    kinds: dict[str, Any] = {"reason": Annotated[str | None, reason]}
    kinds |= {"error": _ERROR} if errors else {}
    match = typer.Option(metavar="TEXT", help=f"Only with TEXT in {texts}.")
    options = {**kinds, "before": _BEFORE, "match": Annotated[str | None, match], "limit": _LIMIT}
    if acts:
        options |= {"every": _ALL} | ({"rate": _RATE} if paced else {})
        options |= {"letter": _LETTER} if errors else {}
        options |= {"dry_run": _DRY_RUN, "yes": Yes}
    options |= {"json": Json}

    def options_given(
        before: str | None, limit: int | None, match: str | None, **given: Any
    ) -> BulkOptions:
        if match == "":
            raise UsageError(
                "An empty --match leaves nothing out: is a variable of your shell unset?"
            )
        by_kind = {name: given.pop(name) for name in kinds}
        kind = {name: value for name, value in by_kind.items() if value is not None}
        if kind.get("reason", reasons[0]) not in reasons:
            raise UsageError(
                f"There is no reason {kind['reason']!r}; there are {', '.join(reasons)}."
            )
        if "error" in kind:
            kind["error"] = name_of(kind["error"])  # as the list shows it, or as it is
        at = None if before is None else read_moment(before, datetime.now(UTC))
        narrowed = (*kind.values(), before, limit, match, given.get("rate"))
        is_narrowed = any(one is not None for one in narrowed)
        return BulkOptions(EntryFilter(kind, at, match, limit), is_narrowed, **given)

    return group_options("how", options, options_given)


def read(
    queue: QueueReader,
    name: str,
    look: Callable[[Callable[[int], None]], Listing[E]],
    ids: Sequence[str] = (),
) -> Listing[E]:
    """Read a queue by `look`, with a bar where it takes long; keep only those of `ids`."""
    with queue, console.progress(f"Reading {name}") as bar:
        listing = look(lambda number: bar.update(number, max(number, queue.expected)))
    if listing.in_flight_elsewhere:
        console.err.print(
            f"Another reader holds {listing.in_flight_elsewhere:,} more at this moment. They are "
            "not listed here."
        )
    if not ids:
        return listing
    chosen = [one for one in listing.entries if any(map(one.is_named, ids))]
    return replace(listing, entries=chosen)


def print_list(kind: EntryFormat[E], listing: Listing[E], how: BulkOptions) -> None:
    """Print each entry; or of many, how many there are of which kind."""
    entries = listing.entries
    if how.json:
        console.print_json(_listed(kind, listing))
    elif not entries and not listing.in_flight_elsewhere:
        console.out.print(f"There is no {kind.one}{' that matches' if how.is_narrowed else ''}.")
    elif len(entries) > GROUPED_FROM and how.entry_filter.limit is None:
        console.out.print(f"{len(entries):,} {kind.several}:")
        _print_groups(entries)
    elif entries:
        tables.print_rows(kind.headers, [kind.row(one) for one in entries])


def act(
    kind: EntryFormat[E],
    verb: str,
    work: Bulk[E],
    how: BulkOptions,
    ids: Sequence[str] = (),
    *,
    warning: str | None = None,
) -> None:
    """Act on the entries that were listed, and report; with --all show them and ask first.

    Args:
        kind: of the entries.
        verb: the command's name.
        work: acts on the listed entries.
        how: the command's options.
        ids: the entries that the command line names, found or not.
        warning: printed before the question.

    Raises:
        Failed: the answer was no; or not every entry was read and acted on.
        Interrupted: Ctrl-C stopped it.
    """
    listing = work.listing
    entries, held = listing.entries, listing.in_flight_elsewhere
    missing = [name for name in dict.fromkeys(ids) if not any(e.is_named(name) for e in entries)]
    if not how.every or _is_confirmed(kind, verb, listing, how, warning):
        try:
            if entries:
                _run(verb, work, len(entries))
        finally:
            _print_results(kind, verb, how, work, missing)
    failed = [one for one in work.ended if not one.happened]
    if missing:
        why = f", of which {held_by_another(held)}: look again" if held else ""
        names = ", ".join(map(visible_whole, missing))
        raise Failed(f"Not found in {kind.queue}: {names}{why}.")
    if failed:
        raise Failed(f"{len(failed):,} of {len(entries):,} were not done. Each says why.")
    limit = how.entry_filter.limit
    if how.every and held and (limit is None or len(entries) < limit):
        what = "Not all could be read" if entries else "Nothing could be read, and nothing was done"
        raise Failed(f"{what}: {held_by_another(held)}. Give the same command again.")


def _is_confirmed(
    kind: EntryFormat[E], verb: str, listing: Listing[E], how: BulkOptions, warning: str | None
) -> bool:
    """Show what would be acted on, and ask; False for a dry run.

    Raises:
        UsageError: there is no terminal to ask at.
        Failed: the answer was no.
    """
    entries = listing.entries
    if entries and not how.json:
        console.out.print(
            f"To {verb.replace('-', ' ')}: {pluralize(len(entries), kind.one, kind.several)}"
        )
        _print_groups(entries)
    if how.dry_run:
        if how.json:
            console.print_json({"action": verb, "dry_run": True, **_listed(kind, listing)})
        return False
    if entries and not how.yes:
        if warning is not None:
            console.say(warning)
        console.agree(
            f"{verb.replace('-', ' ').capitalize()} these {len(entries):,}?",
            "There is no terminal to ask at: say --yes, or --dry-run to look first.",
        )
    return True


def _run(verb: str, work: Bulk[E], total: int) -> None:
    """Act, with a bar."""
    with console.progress(verb.replace("-", " ").capitalize(), total) as bar:
        try:
            work.run(lambda done: bar.update(done, total))
        except KeyboardInterrupt as error:
            raise Interrupted(
                f"Interrupted: {total - work.left:,} of {total:,} are done, the other "
                f"{work.left:,} are as before. The same command continues with them."
            ) from error


def _print_results(
    kind: EntryFormat[E], verb: str, how: BulkOptions, work: Bulk[E], missing: Sequence[str]
) -> None:
    """Print how many ended how, and why each of those that failed did."""
    held = work.listing.in_flight_elsewhere
    if how.json:
        results = {
            "action": verb,
            "dry_run": False,
            "counts": work.results_by_end,
            "left": work.left,
        }
        results |= {"ends": [one.as_json() for one in work.ended], "missing": missing}
        results |= {"file": work.kept_in and str(work.kept_in), "left_behind": work.left_behind}
        console.print_json(results | {"in_flight_elsewhere": held})
    elif how.every and not work.listing.entries and not held:
        console.out.print(f"There is no {kind.one} that matches.")
    else:
        for one in work.ended:
            if not one.happened:
                console.err.print(f"{visible_whole(one.entry.display_name)}: {one.text}")
        for word, number in sorted((work.word(end), n) for end, n in work.results_by_end.items()):
            console.out.print(f"{word.capitalize()}: {number:,}")
        if work.left:
            console.out.print(f"Left as it was: {work.left:,}")
    for note in work.notes:
        console.say(note)


def _listed(kind: EntryFormat[E], listing: Listing[E]) -> dict[str, Any]:
    """The listed entries, for machines."""
    return {
        kind.name: [kind.as_json(one) for one in listing.entries],
        "groups": [group.as_json() for group in group_entries(listing.entries)],
        "in_flight_elsewhere": listing.in_flight_elsewhere,
        **({"ended": dict(listing.ended)} if listing.ended else {}),
    }


def _print_groups(entries: Sequence[Entry]) -> None:
    """Print how many entries there are of each kind, and for how long they have waited."""
    groups = group_entries(entries)
    now = datetime.now(UTC)
    rows = [
        (
            str(group.count),
            *(
                _short(reason_label(value) if name == "reason" else error_label(value))
                for name, value in group.kind.items()
            ),
            age(group.oldest, now),
            age(group.newest, now),
            group.example,
        )
        for group in groups[:MOST_GROUPS]
    ]
    kinds = [name.capitalize() for name in groups[0].kind]
    tables.print_rows(("Number", *kinds, "Oldest", "Newest", "For example"), rows)
    if len(groups) > MOST_GROUPS:
        rest = groups[MOST_GROUPS:]
        console.out.print(
            f"and {sum(group.count for group in rest):,} more, of {len(rest):,} other kinds"
        )


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
