"""docs/conformance-mutants.md: how many mutants the walk noticed, and which not, and why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actonce.conformance.mutants.explained import EXPLAINED, Explanation
from actonce.conformance.mutants.judging import NOT_TRIED, Judged
from actonce.embedded.paths import PROJECT

PAGE = PROJECT / "docs" / "conformance-mutants.md"

_INTRODUCTION = """\
# How strong the suite is

<!-- Written by `python -m actonce.conformance.mutants --write`. -->

What ships is changed in one decision at a time, and the walk alone judges the mutant
([decision 32](decisions/0032-mutants-are-judged-by-the-walk-alone.md)). It is noticed if in some
schedule of some hazard, held against what ships with the same things gone wrong, it

- ends worse (twice, lost, parked, out of order),
- breaks, never ends, or writes down what did not happen,
- takes longer, or
- leaves behind what no schedule of what ships does: other effects, rows, refusals or dead letters
  ([decision 33](decisions/0033-a-mutant-is-held-against-what-ships-key-by-key.md)).

Changed are conditions (negated, each operand of `and` and `or` left out), boundaries, sums and
products, early returns and raises, calls that only act, the order of two neighbouring calls, each
clause of a DynamoDB condition (always, and never), each number of a module; and in the state
machine's definition each Retry and its errors, each Catch, each way, choice and condition, each
field of Arguments and Output.
"""

_KINDS = {
    "takes longer": "takes longer",
    "takes longer undisturbed": "takes longer",
    "leaves something else behind": "leaves something else behind",
    "never ends": "never ends",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the tool.

    Attributes:
        date: ISO 8601.
        made: mutants that there are; fewer may have been judged.
        judged: those that were, and what came of them.
        minutes: of a processor, that it took; None: not said.
    """

    date: str
    made: int
    judged: Sequence[Judged]
    minutes: int | None = None


def render(run: Run) -> str:
    """The page."""
    survivors = [one for one in run.judged if not one.is_noticed]
    lines = [
        _INTRODUCTION,
        _summary(run),
        "",
        "| file | judged | noticed | | equivalent | without these |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(_row(name, run.judged) for name in sorted({one.file for one in run.judged})),
        "",
        _how(run.judged),
        "",
        "Again, all of them:",
        "",
        "```sh",
        "python -m actonce.conformance.mutants --write",
        "```",
        "",
        _limits(run),
        "",
        "## Not noticed",
        "",
        "| mutant | | why |",
        "| --- | --- | --- |",
        *(_survivor(one) for one in survivors),
        "",
        "## Not tried, or not by the walk",
        "",
        *(f"- `{name}`: {why}" for name, why in NOT_TRIED.items()),
    ]
    return "\n".join(lines).strip() + "\n"


def _limits(run: Run) -> str:
    took = f" It took {run.minutes} minutes of a processor." if run.minutes is not None else ""
    cut = sum(one.is_cut for one in run.judged)
    cut_short = (
        f" Of {cut} survivors not every cell was walked: the time that each is given (`--seconds`) "
        "was over."
        if cut
        else ""
    )
    return (
        "A mutant is walked in every cell in which what ships runs what was changed, with every "
        "schedule, until it is noticed. `any-two` is left out: it takes longer than all else "
        f"together.{cut_short}{took}"
    )


def _summary(run: Run) -> str:
    noticed = sum(one.is_noticed for one in run.judged)
    equivalent = _equivalent(run.judged)
    total = len(run.judged)
    rest = total - noticed - equivalent
    tried = "all" if total == run.made else f"{total}, drawn by lot,"
    return (
        f"**{run.date}: of {run.made} mutants {tried} were judged, and {noticed} noticed: "
        f"{_share(noticed, total)} of all, and {_share(noticed, total - equivalent)} of those that "
        f"are not equivalent.** {equivalent} are equivalent: nothing that anybody could notice or "
        f"was promised depends on the decision, as the table below says of each. {rest} would need "
        "a hazard, or a look, that the suite has not. The aim is 95 % of those that are not "
        "equivalent."
    )


def _how(judged: Sequence[Judged]) -> str:
    hows = Counter(_kind(one.how) for one in judged if one.is_noticed)
    told = ", ".join(f"{how} {number}" for how, number in hows.most_common())
    return f"What each was noticed by first: {told}."


def _kind(how: str) -> str:
    return _KINDS.get(how, "breaks" if how.startswith("breaks") else "ends worse")


def _equivalent(judged: Iterable[Judged]) -> int:
    return sum(_explanation(one).is_equivalent for one in judged if not one.is_noticed)


def unexplained(judged: Iterable[Judged]) -> list[str]:
    """Survivors that nobody has said anything of, whatever was walked of them."""
    return [one.name for one in judged if not one.is_noticed and one.name not in EXPLAINED]


def needless(judged: Iterable[Judged]) -> list[str]:
    """Explanations of mutants that were noticed."""
    return [one.name for one in judged if one.is_noticed and one.name in EXPLAINED]


def stale(names: Iterable[str]) -> list[str]:
    """Explanations of what is no mutant any more: what they explain was changed, or is gone."""
    return sorted(EXPLAINED.keys() - set(names))


def _explanation(one: Judged) -> Explanation:
    why = "Not every cell that runs it was walked." if one.is_cut else "not looked into"
    return EXPLAINED.get(one.name, Explanation(why, is_equivalent=False))


def _share(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %" if of else "none"


def _row(file: str, judged: Sequence[Judged]) -> str:
    own = [one for one in judged if one.file == file]
    noticed, equivalent = sum(one.is_noticed for one in own), _equivalent(own)
    without = _share(noticed, len(own) - equivalent)
    share = _share(noticed, len(own))
    return f"| `{file}` | {len(own)} | {noticed} | {share} | {equivalent or ''} | {without} |"


def _survivor(one: Judged) -> str:
    explanation = _explanation(one)
    where = f"`{one.file.rpartition('/')[2]}` {one.where}".replace("|", "\\|")
    change = one.change.replace("|", "\\|")
    kind = "equivalent" if explanation.is_equivalent else "open"
    return f"| {where}: {change} | {kind} | {explanation.why} |"
