"""What the commands of dead letters and of unstarted deliveries do with many.

To list a queue, and to show, ask, act and tell: on what was shown, and on nothing that came later.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from actonce.cli import tables
from actonce.cli.choosing import Kind, Many
from actonce.messages.filters import E, Entry, Listing, age, grouped
from actonce.queues.scan import QueueReader, held_by_another
from actonce.terminal import output as console
from actonce.terminal.error_names import in_words
from actonce.terminal.errors import Failed, Interrupted
from pipeline.visible import visible_whole

if TYPE_CHECKING:
    from actonce.operate.bulk import Bulk

GROUPED_FROM = 50
"""As many entries are listed one by one; more by their groups."""

MOST_GROUPS = 25
"""As many groups are shown; the others are counted."""

_SHORT = 60  # characters of what others wrote, in a table; ids are whole
_BAR_FROM = 100  # entries; fewer are read and done before a bar is seen


def read(
    queue: QueueReader, name: str, look: Callable[[Callable[[int], None]], Listing[E]]
) -> Listing[E]:
    """Read a queue, with a bar where it takes long; what `look` found."""
    with console.progress(f"Reading {name}", quiet_until=_BAR_FROM) as bar:
        listing = look(lambda number: bar.update(number, max(number, queue.expected)))
    if listing.held_elsewhere:
        console.err.print(
            f"Another reader holds {listing.held_elsewhere:,} more at this moment. They are not "
            "listed here."
        )
    return listing


def print_list(kind: Kind[E], listing: Listing[E], how: Many) -> None:
    """Print what was listed: each, or where there are many how many of which kind."""
    entries = listing.entries
    if how.json:
        console.print_json(_told(kind, listing))
    elif not entries and not listing.held_elsewhere:
        console.out.print(f"There is no {kind.one}{' that matches' if how.is_narrowed else ''}.")
    elif len(entries) > GROUPED_FROM and not how.each:
        console.out.print(f"{len(entries):,} {kind.several}:")
        _print_groups(entries)
    elif entries:
        tables.print_rows(kind.headers, [kind.row(one) for one in entries])


def act(
    kind: Kind[E],
    verb: str,
    listing: Listing[E],
    how: Many,
    make: Callable[[], "Bulk[E]"],
    *,
    missing: Sequence[str] = (),
    warning: str | None = None,
) -> None:
    """Act on what was listed, and tell what became of each.

    Of --all it is shown first and asked about; what was named is meant.

    Args:
        kind: see there.
        verb: what is done, as the command is called.
        listing: on what.
        how: see there.
        make: what does it; called once that is asked for.
        missing: what was named and not found.
        warning: what to say before it is asked.

    Raises:
        Failed: the answer was no, or not all that was asked for was seen and done.
        Interrupted: a person ended it in the middle.
    """
    entries, held = listing.entries, listing.held_elsewhere
    if not how.every or _agreed(kind, verb, listing, how, warning):
        work = make()
        early = _run(verb, work, len(entries)) if entries else None
        failed = [one for one in work.ended if not one.happened]
        _print_ends(kind, verb, listing, how, work, missing)
        if early is not None:
            raise early
        if missing:
            why = f", of which {held_by_another(held)}: look again" if held else ""
            names = ", ".join(map(visible_whole, missing))
            raise Failed(f"Not found in {kind.queue}: {names}{why}.")
        if failed:
            raise Failed(f"{len(failed):,} of {len(entries):,} were not done. Each says why.")
    limit = how.narrowing.limit
    if how.every and held and (limit is None or len(entries) < limit):
        what = "Not all could be read" if entries else "Nothing could be read, and nothing was done"
        raise Failed(f"{what}: {held_by_another(held)}. Give the same command again.")


def _agreed(kind: Kind[E], verb: str, listing: Listing[E], how: Many, warning: str | None) -> bool:
    """Show what would be acted on, and ask; False where that was all that was asked for.

    Raises:
        Failed: the answer was no.
    """
    entries = listing.entries
    if entries and not how.json:
        console.out.print(f"To {verb}: {console.counted(len(entries), kind.one, kind.several)}")
        _print_groups(entries)
    if how.dry_run:
        if how.json:
            console.print_json({"action": verb, "dry_run": True, **_told(kind, listing)})
        return False
    if entries and not how.yes:
        if warning is not None:
            console.say(warning)
        if not console.ask(f"{verb.capitalize()} these {len(entries):,}?"):
            raise Failed("Nothing was done.")
    return True


def _run(verb: str, work: "Bulk[E]", total: int) -> BaseException | None:
    """Act, with a bar; what ended it early, for that is told of after the rest."""
    with console.progress(verb.capitalize(), total, quiet_until=_BAR_FROM) as bar:
        try:
            work.run(lambda done: bar.update(done, total))
        except KeyboardInterrupt:
            return Interrupted(
                f"Interrupted: {total - work.left:,} of {total:,} are done, the other "
                f"{work.left:,} are as before. The same command continues with them."
            )
        except Exception as error:  # noqa: BLE001 - what was done is told first, then this raised
            return error
    return None


def _print_ends(
    kind: Kind[E],
    verb: str,
    listing: Listing[E],
    how: Many,
    work: "Bulk[E]",
    missing: Sequence[str],
) -> None:
    """Print what became of how many; of each where that was asked for, or it did not happen."""
    if how.json:
        told = {"action": verb, "dry_run": False, "counts": work.counted, "left": work.left}
        told |= {"ends": [one.as_json() for one in work.ended], "missing": missing}
        told |= {"file": work.kept_in and str(work.kept_in), "left_behind": work.left_behind}
        console.print_json(told | {"held_elsewhere": listing.held_elsewhere})
    elif how.every and not listing.entries and not listing.held_elsewhere:
        console.out.print(f"There is no {kind.one} that matches.")
    else:
        for one in work.ended:
            if how.each or not one.happened:
                stream = console.out if one.happened else console.err
                stream.print(f"{visible_whole(one.entry.called)}: {one.said}")
        for end, number in sorted(work.counted.items()):
            console.out.print(f"{end.replace('_', ' ').capitalize()}: {number:,}")
        if work.left:
            console.out.print(f"Left as it was: {work.left:,}")
    for note in work.notes:
        console.say(note)


def _told(kind: Kind[E], listing: Listing[E]) -> dict[str, Any]:
    """What was listed, for machines."""
    return {
        kind.name: [kind.as_json(one) for one in listing.entries],
        "groups": [group.as_json() for group in grouped(listing.entries)],
        "held_elsewhere": listing.held_elsewhere,
    }


def _print_groups(entries: Sequence[Entry]) -> None:
    """Print how many there are of which kind, and for how long they wait."""
    groups = grouped(entries)
    now = datetime.now(UTC)
    rows = [
        (
            str(group.count),
            *(_short(in_words(value)) for value in group.kind.values()),
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
