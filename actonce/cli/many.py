"""What the commands that act on many entries have in common: look, show, ask, act, tell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

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
from actonce.messages.filters import Group, Narrowing, Waiting, age, grouped, read_moment
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

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Many:
    """How a command acts on many; see the options of the same names."""

    narrowing: Narrowing
    is_narrowed: bool
    every: bool
    rate: float | None
    dry_run: bool
    yes: bool
    each: bool
    json: bool

    @classmethod
    def asked_for(
        cls,
        kind: Mapping[str, str | None],
        *,
        before: str | None,
        match: str | None,
        limit: int | None,
        every: bool = False,
        rate: float | None = None,
        dry_run: bool = False,
        yes: bool = False,
        each: bool = False,
        json: bool = False,
    ) -> "Many":
        """Read the options.

        Raises:
            WrongUse: `before` is no time.
        """
        narrowed = {name: value for name, value in kind.items() if value is not None}
        if "error" in narrowed:
            narrowed["error"] = name_of(narrowed["error"])  # as the list shows it, or as it is
        at = read_moment(before, datetime.now(UTC)) if before else None
        return cls(
            narrowing=Narrowing(narrowed, at, match, limit),
            is_narrowed=bool(narrowed or before or match is not None or limit or rate or dry_run),
            every=every,
            rate=rate,
            dry_run=dry_run,
            yes=yes,
            each=each,
            json=json,
        )

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

    def asked_for(**said: Any) -> Many:
        kind = {name: said.pop(name) for name in kinds}
        return Many.asked_for(kind, **said)

    return gathered("how", options, asked_for)


def check_reason(reason: str | None, known: Sequence[str]) -> None:
    """Whether there is such a reason.

    Raises:
        WrongUse: there is not.
    """
    if reason is not None and reason not in known:
        raise WrongUse(f"There is no reason {reason!r}; there are {', '.join(known)}.")


def reading(queue: QueueReader, name: str, read: Callable[[Callable[[int], None]], T]) -> T:
    """Read a queue, with a bar where it takes long; what `read` read."""
    with console.progress(f"Reading {name}", quiet_until=_BAR_FROM) as bar:

        def tell(number: int) -> None:
            bar.update(number, max(number, queue.expected))

        found = read(tell)
    if queue.held_elsewhere:
        console.err.print(
            f"Another reader holds {queue.held_elsewhere:,} more at this moment; they are not "
            "among these."
        )
    return found


def check_all_seen(how: Many, seen: int, held_elsewhere: int) -> None:
    """Whether what was asked for was seen whole, or as much of it as was asked for.

    Args:
        how: what was asked for.
        seen: how many were found of it.
        held_elsewhere: how many another reader held, some of them meant perhaps.

    Raises:
        Failed: it was not; so who acts on all has not acted on all.
    """
    limit = how.narrowing.limit
    if held_elsewhere and (limit is None or seen < limit):
        what = "Not all was seen" if seen else "Nothing was seen and nothing done"
        raise Failed(f"{what}: {held_by_another(held_elsewhere)}; say the same again.")


def print_groups(entries: Sequence[Waiting]) -> None:
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
    kinds = [name.capitalize() for name in groups[0].kind] if groups else []
    tables.print_rows(("Number", *kinds, "Oldest", "Newest", "For example"), rows)
    if len(groups) > MOST_GROUPS:
        rest = groups[MOST_GROUPS:]
        console.out.print(f"and {sum(group.count for group in rest):,} of {len(rest):,} more kinds")


def groups_as_json(entries: Sequence[Waiting]) -> list[dict[str, Any]]:
    """The same for machines, all of them."""
    groups: list[Group] = grouped(entries)
    return [group.as_json() for group in groups]


def ask(question: str, many: Many) -> None:
    """Ask, unless told not to.

    Raises:
        Failed: the answer was not yes.
    """
    if not many.yes and not console.ask(question):
        raise Failed("Nothing was done.")


@contextmanager
def acting(
    text: str, total: int, left: Callable[[], int]
) -> Iterator[tuple[Callable[[int], None], list[BaseException]]]:
    """Act on many, with a bar. What ends it early is caught and kept, to be told of afterwards.

    Args:
        text: what is being done.
        total: on how many.
        left: how many it has not come to.
    """
    early: list[BaseException] = []
    with console.progress(text, total, quiet_until=_BAR_FROM) as bar:
        try:
            yield lambda done: bar.update(done, total), early
        except KeyboardInterrupt:
            early.append(
                Interrupted(
                    f"Interrupted: {total - left():,} of {total:,} were seen to, the other "
                    f"{left():,} wait as before. The same command goes on with them."
                )
            )
        except Exception as error:  # noqa: BLE001 - what was done is told first, then this raised
            early.append(error)


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
