"""What the commands of dead letters and of unstarted deliveries have in common.

To list a queue, and to show, ask, act and tell: on what was shown, and on nothing that came later.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from actonce.cli import tables
from actonce.cli.options import (
    All,
    Before,
    DryRun,
    Each,
    Json,
    Limit,
    Rate,
    Yes,
    gathered,
)
from actonce.messages.filters import Narrowing, age, grouped, read_moment
from actonce.operate.bulk import Bulk, Ended, Entry, Listing, counted
from actonce.queues.scan import QueueReader, held_by_another
from actonce.stack.endpoint import Chosen
from actonce.terminal import output as console
from actonce.terminal.error_names import in_words, name_of
from actonce.terminal.errors import Failed, Interrupted, WrongUse

GROUPED_FROM = 50
"""As many entries are listed one by one; more by their groups."""

MOST_GROUPS = 25
"""As many groups are shown; the others are counted."""

_SHORT = 60  # characters of what others wrote, in a table; ids are whole
_BAR_FROM = 100  # entries; fewer are read and done before a bar is seen

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True)
class Kind(Generic[E]):
    """What the commands of one queue call what lies in it.

    Attributes:
        queue: where it lies.
        name: of a list of them, in JSON.
        one: a person's words for one of them.
        several: for more.
        reasons: those that there are.
        headers: of a table of them.
        row: one of them in it.
        as_json: one of them for machines.
    """

    queue: str
    name: str
    one: str
    several: str
    reasons: Sequence[str]
    headers: Sequence[str]
    row: Callable[[E], Sequence[str]]
    as_json: Callable[[E], Mapping[str, Any]]

    def check_reason(self, how: "Many") -> None:
        """Whether there is the reason that was asked for.

        Raises:
            WrongUse: there is not.
        """
        reason = how.narrowing.kind.get("reason")
        if reason is not None and reason not in self.reasons:
            raise WrongUse(f"There is no reason {reason!r}; there are {', '.join(self.reasons)}.")


@dataclass(frozen=True, slots=True)
class Many:
    """How a command acts on many; see the options of the same names.

    Attributes:
        narrowing: which of all entries are meant.
        is_narrowed: something was said that is for many only.
    """

    narrowing: Narrowing
    is_narrowed: bool = False
    every: bool = False
    rate: float | None = None
    dry_run: bool = False
    yes: bool = False
    each: bool = False
    json: bool = False

    def allowing(self, at: Chosen) -> Chosen:
        """Where it acts, with --yes if that was said.

        What acts on all asks by itself, with what it would act on; nobody is asked twice.
        """
        return replace(at, yes=self.yes)

    def check(self, what: object) -> None:
        """Whether one thing is asked for.

        Args:
            what: that was named; empty for nothing.

        Raises:
            WrongUse: neither, or both; or what is only for many was said of a named one; or
                somebody has to be asked, and there is nobody.
        """
        if bool(what) == self.every:
            raise WrongUse("Name one, as list shows them, or say --all (and not both).")
        if not self.every and self.is_narrowed:
            raise WrongUse(
                "What chooses among many (such as --reason, --before, --match, --limit), --rate "
                "and --dry-run go with --all only: leave them out, or name none."
            )
        if not self.every or self.yes or self.dry_run:
            return
        if self.json or not console.can_ask():
            raise WrongUse("Nobody can be asked here: say --yes, or --dry-run to look first.")


def asked_how(
    kinds: Mapping[str, Any], match: Any, *, acts: bool = False, paced: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that choose among many, and how it goes about them.

    The command gets them as its argument `how`, a `Many`, and says at that place of its own
    arguments where its help names them.

    Args:
        kinds: the options for what entries are grouped by, by the names of `Waiting.kind`.
        match: the option --match, which says what is looked at.
        acts: it does something to them.
        paced: at a rate that can be asked for.
    """
    options: dict[str, Any] = {**kinds, "before": Before, "match": match, "limit": Limit}
    if acts:
        options |= {"every": All} | ({"rate": Rate} if paced else {})
        options |= {"dry_run": DryRun, "yes": Yes}
    options |= {"each": Each, "json": Json}

    def asked_for(before: str | None, limit: int | None, match: str | None, **said: Any) -> Many:
        told = {name: said.pop(name) for name in kinds}
        kind = {name: value for name, value in told.items() if value is not None}
        if "error" in kind:
            kind["error"] = name_of(kind["error"])  # as the list shows it, or as it is
        at = read_moment(before, datetime.now(UTC)) if before else None
        narrowed = (before, limit, match, said.get("rate"), said.get("dry_run") or None)
        is_narrowed = bool(kind) or any(one is not None for one in narrowed)
        return Many(Narrowing(kind, at, match, limit), is_narrowed, **said)

    return gathered("how", options, asked_for)


def read(
    queue: QueueReader, name: str, look: Callable[[Callable[[int], None]], Listing[E]]
) -> Listing[E]:
    """Read a queue, with a bar where it takes long; what `look` found."""
    with console.progress(f"Reading {name}", quiet_until=_BAR_FROM) as bar:
        listing = look(lambda number: bar.update(number, max(number, queue.expected)))
    if listing.held_elsewhere:
        console.err.print(
            f"Another reader holds {listing.held_elsewhere:,} more at this moment; they are not "
            "among these."
        )
    return listing


def print_list(kind: Kind[E], listing: Listing[E], how: Many) -> None:
    """Print what was listed: each, or where there are many how many of which kind."""
    entries = listing.entries
    if how.json:
        console.print_json(_told(kind, listing))
    elif not entries and not listing.held_elsewhere:
        console.out.print(f"There is no {kind.one}{' as asked for' if how.is_narrowed else ''}.")
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
    make: Callable[[], Bulk[E]],
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
    if not _agreed(kind, verb, listing, how, warning):
        _check_all_seen(how, listing)
        return
    entries = listing.entries
    work = make()
    early = _run(verb, work, len(entries)) if entries else None
    ended = work.ended
    failed = [one for one in ended if not one.happened]
    if how.json:
        told = {"action": verb, "dry_run": False, "counts": counted(ended), "left": work.left}
        told |= {"ends": [one.as_json() for one in ended], "missing": missing}
        told["file"] = str(work.kept_in) if work.kept_in is not None else None
        console.print_json(told | {"held_elsewhere": listing.held_elsewhere})
    else:
        _print_ends(ended if how.each else failed, ended)
        if how.every and not entries and not listing.held_elsewhere:
            console.out.print(f"There is no {kind.one} as asked for.")
    for note in work.notes:
        console.say(note)
    if early is not None:
        raise early
    if missing:
        held = listing.held_elsewhere
        why = f"; {held_by_another(held)}; look again" if held else ""
        raise Failed(f"Not {'seen ' if held else ''}in {kind.queue}: {', '.join(missing)}{why}.")
    if failed:
        raise Failed(f"{len(failed):,} of {len(entries):,} were not seen to: see each.")
    _check_all_seen(how, listing)


def _agreed(kind: Kind[E], verb: str, listing: Listing[E], how: Many, warning: str | None) -> bool:
    """Show what would be acted on, and ask; False where that was all that was asked for.

    Raises:
        Failed: the answer was no.
    """
    entries = listing.entries
    if not how.every:
        return True
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


def _run(verb: str, work: Bulk[E], total: int) -> BaseException | None:
    """Act, with a bar; what ended it early, for that is told of after the rest."""
    with console.progress(verb.capitalize(), total, quiet_until=_BAR_FROM) as bar:
        try:
            work.run(lambda done: bar.update(done, total))
        except KeyboardInterrupt:
            return Interrupted(
                f"Interrupted: {total - work.left:,} of {total:,} were seen to, the other "
                f"{work.left:,} wait as before. The same command goes on with them."
            )
        except Exception as error:  # noqa: BLE001 - what was done is told first, then this raised
            return error
    return None


def _print_ends(lines: Sequence[Ended[E]], ended: Sequence[Ended[E]]) -> None:
    for one in lines:
        (console.out if one.happened else console.err).print(f"{one.entry.called}: {one.said}")
    for end, number in sorted(counted(ended).items()):
        console.out.print(f"{end.replace('_', ' ').capitalize()}: {number:,}")


def _told(kind: Kind[E], listing: Listing[E]) -> dict[str, Any]:
    """What was listed, for machines."""
    return {
        kind.name: [kind.as_json(one) for one in listing.entries],
        "groups": [group.as_json() for group in grouped(listing.entries)],
        "held_elsewhere": listing.held_elsewhere,
    }


def _check_all_seen(how: Many, listing: Listing[E]) -> None:
    """Whether all that was asked for was seen, or as much of it as was asked for.

    Raises:
        Failed: it was not; so who acts on all has not acted on all.
    """
    limit, seen = how.narrowing.limit, len(listing.entries)
    if how.every and listing.held_elsewhere and (limit is None or seen < limit):
        what = "Not all was seen" if seen else "Nothing was seen and nothing done"
        raise Failed(f"{what}: {held_by_another(listing.held_elsewhere)}; say the same again.")


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
        console.out.print(f"and {sum(group.count for group in rest):,} of {len(rest):,} more kinds")


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
