"""What the commands of a queue are asked: which of all that waits there, and how to go about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic

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
from actonce.messages.filters import E, Narrowing, read_moment
from actonce.stack.endpoint import Chosen
from actonce.terminal import output as console
from actonce.terminal.error_names import name_of
from actonce.terminal.errors import WrongUse


@dataclass(frozen=True, slots=True)
class Kind(Generic[E]):
    """What the commands of one queue call what lies in it.

    Attributes:
        queue: where it lies.
        name: of a list of them, in JSON.
        one: a person's words for one of them.
        several: for more.
        headers: of a table of them.
        row: one of them in it.
        as_json: one of them for machines.
    """

    queue: str
    name: str
    one: str
    several: str
    headers: Sequence[str]
    row: Callable[[E], Sequence[str]]
    as_json: Callable[[E], Mapping[str, Any]]


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
            raise WrongUse("Name an ID, as list shows it, or say --all; not both.")
        if not self.every and self.is_narrowed:
            raise WrongUse(
                "--rate, --dry-run and what narrows --all (such as --reason, --before, --match and "
                "--limit) go with --all only: leave them out, or name no ID."
            )
        if not self.every or self.yes or self.dry_run:
            return
        if self.json or not console.can_ask():
            raise WrongUse("There is no terminal to ask at: say --yes, or --dry-run to look first.")


def asked_how(
    kinds: Mapping[str, Any],
    match: Any,
    reasons: Sequence[str],
    *,
    acts: bool = False,
    paced: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that choose among many, and how it goes about them.

    The command gets them as its argument `how`, a `Many`, and says at that place of its own
    arguments where its help names them. A reason that there is not is wrong use.

    Args:
        kinds: the options for what entries are grouped by, by the names of `Entry.kind`.
        match: the option --match, which says what is looked at.
        reasons: those that there are.
        acts: it does something to them.
        paced: at a rate that can be asked for.
    """
    options: dict[str, Any] = {**kinds, "before": Before, "match": match, "limit": Limit}
    if acts:
        options |= {"every": All} | ({"rate": Rate} if paced else {})
        options |= {"dry_run": DryRun, "yes": Yes}
    options |= {"each": Each, "json": Json}

    def asked_for(before: str | None, limit: int | None, match: str | None, **said: Any) -> Many:
        if match == "":
            raise WrongUse(
                "An empty --match leaves nothing out: is a variable of your shell unset?"
            )
        told = {name: said.pop(name) for name in kinds}
        kind = {name: value for name, value in told.items() if value is not None}
        if kind.get("reason", reasons[0]) not in reasons:
            raise WrongUse(
                f"There is no reason {kind['reason']!r}; there are {', '.join(reasons)}."
            )
        if "error" in kind:
            kind["error"] = name_of(kind["error"])  # as the list shows it, or as it is
        at = None if before is None else read_moment(before, datetime.now(UTC))
        narrowed = (before, limit, match, said.get("rate"), said.get("dry_run") or None)
        is_narrowed = bool(kind) or any(one is not None for one in narrowed)
        return Many(Narrowing(kind, at, match, limit), is_narrowed, **said)

    return gathered("how", options, asked_for)
